"""A value given both in CBOR and in JSON is the same, whichever way it is read."""

import base64

from pipeline import Number, Run, conclude, from_cbor, names, parse_cbors, parse_json, parse_jsons, read

PAIRS = ["cbor", "json-cbor-pairs"]
FIXTURES = ["cbor", "codec-fixtures"]


def transform(value, leaf):
    """leaf(value) where that is not None, all the way down."""
    changed = leaf(value)
    if changed is not None:
        return changed
    if isinstance(value, list):
        return [transform(member, leaf) for member in value]
    if isinstance(value, tuple) and not isinstance(value, Number):
        return ("object", {key: transform(member, leaf) for key, member in value[1].items()})
    return value


def unsigned_zero(value):
    """Who made the pairs took -0 for 0."""
    return Number(0) if isinstance(value, Number) and value[0] == 0 else None


def judge_pair(name):
    text = read(*PAIRS, name)
    value = parse_json(text.decode(), dict)
    run = Run("json", text, "cbor")
    if not run.complete() or [from_cbor(item) for item in parse_cbors(run.out)] != [value]:
        return f"JSON to CBOR: {run.exits}: {run.out[:200].hex()} {run.said}"
    run = Run("cbor", read(*PAIRS, name + ".cbor"), "json")
    if not run.complete() or (transform(parse_json(run.out.decode(), dict), unsigned_zero) !=
                              transform(value, unsigned_zero)):
        return f"CBOR to JSON: {run.exits}: {run.out[:200]!r} {run.said}"
    return None


def dag_bytes(value):
    """DAG-JSON has {"/": {"bytes": base64}} for what is base64url text here."""
    if isinstance(value, Number) or not isinstance(value, tuple) or set(value[1]) != {"/"}:
        return None
    data = base64.b64decode(value[1]["/"][1]["bytes"] + "==")
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def judge_fixture(name):
    text = read(*FIXTURES, name).decode()
    run = Run("cbor", read(*FIXTURES, name.replace(".dag-json", ".dag-cbor")), "json")
    if not run.complete():
        return f"{run.exits}: {run.said}"
    if '{"/":"' in text:
        # A link, which is a tag in CBOR.
        return None if b'{"$tag":42,"value":"' in run.out else f"no tag 42: {run.out!r}"
    if parse_json(run.out.decode(), dict) != transform(parse_json(text, dict), dag_bytes):
        return f"{run.out!r} is not {text}"
    return None


def judge_appendix_a(name):
    """All vectors in one sequence, against their decoded and diagnostic forms."""
    vectors = [vector for kind, vector in parse_json(read("cbor", name).decode(), dict)
               if vector["hex"] != "f818"]
    data = b"".join(bytes.fromhex(vector["hex"]) for vector in vectors)
    as_json, as_diag = Run("cbor", data, "json"), Run("cbor", data, "diag")
    if not as_json.complete() or not as_diag.complete():
        return as_json.said + as_diag.said
    values = list(parse_jsons(as_json.out.decode(), dict))
    texts = as_diag.out.decode().splitlines()
    if not len(values) == len(texts) == len(vectors):
        return f"{len(values)} JSON lines, {len(texts)} diagnostic lines"
    wrong = []
    for vector, value, text in zip(vectors, values, texts):
        if value != vector.get("decoded", value):
            wrong.append(f"{vector['hex']} is {value!r} in JSON")
        if text != vector.get("diagnostic", text):
            wrong.append(f"{vector['hex']} is {text} in diagnostic notation")
    return "\n".join(wrong)


def judge(item):
    function, name = item
    return function(name)


conclude(judge,
         [(judge_pair, name) for name in names(*PAIRS) if name.endswith(".json")] +
         [(judge_fixture, name) for name in names(*FIXTURES) if name.endswith(".dag-json")] +
         [(judge_appendix_a, "appendix_a.json")])
