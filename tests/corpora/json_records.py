"""NDJSON and other real JSON: every value comes back exactly, as JSON and as CBOR.

A file that an independent parser reads only in part is refused, after the part
before the fault was delivered.
"""

import gzip

from pipeline import Run, conclude, from_cbor, names, parse_cbors, parse_jsons, read

RECORDS = ["ndjson"]


def expected(data, pairs):
    """The values that can be read, and whether that is all of them."""
    values = []
    try:
        for value in parse_jsons(data.decode("utf-8-sig"), pairs):
            values.append(value)
    except ValueError:
        return values, False
    return values, True


def judge(path):
    data = read(*path)
    if path[-1].endswith(".gz"):
        data = gzip.decompress(data)
    values, good = expected(data, tuple)
    run = Run("json", data, "json")
    if not (run.complete() if good else run.refused()):
        return f"{len(values)} values, then {'the end' if good else 'a fault'}: {run.exits}: {run.said}"
    lines = run.out.decode().splitlines(keepends=True)
    if not good:
        # A text at the top that only the fault behind it ends may be held back.
        values = values[:len(lines)] if len(values) - len(lines) <= 1 else values
    if len(lines) != len(values):
        return f"{len(values)} values, {len(lines)} lines"
    for line, value in zip(lines, values):
        if list(parse_jsons(line)) != [value]:
            return f"changed: {line[:200]}"
    if not good:
        return None

    # Once more, with an independent CBOR decoder at the end.
    run = Run("json", data, "cbor")
    if not run.complete():
        return f"to CBOR: {run.exits}: {run.said}"
    if [from_cbor(value) for value in parse_cbors(run.out)] != expected(data, dict)[0]:
        return "changed in CBOR"
    # And back.
    back = Run("cbor", run.out, "json")
    if not back.complete() or back.out != "".join(lines).encode():
        return f"changed on the way back: {back.exits}: {back.said}"
    return None


paths = [["json", "twitter.json"]]
for name in names(*RECORDS):
    if name.startswith(("duckdb", "zeek")):
        paths += [RECORDS + [name, file] for file in names(*RECORDS, name)]
    else:
        paths.append(RECORDS + [name])
conclude(judge, paths)
