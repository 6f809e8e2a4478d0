"""CSV as people have it: every file gives what its manifest says.

Good files come back as the same rows, in every format and order of columns; bad
ones are refused, or lose their bad rows and no others.  Python's csv module says
which rows there are, python3-cbor2 and json what came of them, and Miller, where
it is there and can, that its JSON is ours.
"""

import csv
import io
import json
import os
import shutil
import subprocess

from pipeline import CORPORA, Number, Run, conclude, from_cbor, parse_cbors, read

csv.field_size_limit(1 << 30)

BAD = ("NUL byte", "quote in unquoted field", "junk after closing quote", "unterminated quote")
# What is wrong with it is that it has no such columns as one wanted: that is
# nothing that a reader of CSV can know.
NOT_OUR_AFFAIR = {"csv/csv-test-data/csv/bad-header-wrong-header.csv"}


def manifest():
    with open(os.path.join(CORPORA, "MANIFEST.tsv"), encoding="utf-8") as file:
        for line in file:
            path, _, _, _, expect = line.rstrip("\n").split("\t")
            if path.startswith("csv/") and path.endswith(".csv"):
                # In one collection the name is a part of the verdict.
                expect = expect.replace("bad-*: reject; others: rows = json/<name>.json; ", "")
                yield path, expect


def is_good(path, expect, data):
    if path in NOT_OUR_AFFAIR:
        return True
    if os.path.basename(path).startswith("bad-") or "utf8=False" in expect:
        return False
    kind = expect.split(";")[0]
    if kind in BAD or kind == "ragged rows":
        return False
    if kind == "bare CR":           # a line end like others; what is between them may be bad
        return strictly_quoted(data) and len({len(row) for row in rows_of(data)}) == 1
    return True


def strictly_quoted(data):
    """Every quote begins or ends a field, or is doubled in one."""
    begins = True
    text = data.decode("utf-8-sig")
    at = 0
    while at < len(text):
        if begins and text[at] == '"':
            at += 1
            while True:
                end = text.find('"', at)
                if end < 0:
                    return False
                at = end + 1
                if text[at:at + 1] != '"':
                    break
                at += 1
            if text[at:at + 1] not in ("", ",", "\r", "\n"):
                return False
            begins = False
            continue
        if text[at] == '"' or text[at] == "\0":
            return False
        begins = text[at] in ",\r\n"
        at += 1
    return True


def rows_of(data):
    # An empty line is a row of one empty field.
    return [row or [""] for row in
            csv.reader(io.StringIO(data.decode("utf-8-sig"), newline=""), strict=True)]


def wrong_rows(what, rows, expected):
    if rows == expected:
        return None
    for number, (row, wanted) in enumerate(zip(rows, expected)):
        if row != wanted:
            return f"{what}: row {number} is {row!r}, not {wanted!r}"
    return f"{what}: {len(rows)} rows, not {len(expected)}"


def is_what_it_denotes(value, text):
    if isinstance(value, str):
        return value == text
    if value is None:
        return text == ""
    if isinstance(value, bool):
        return text == str(value).lower()
    return from_cbor(value) == Number(text)


def check_inferred(data, rows):
    """With every digit."""
    run = Run("csv", data, "cbor", "--csv-header", "no", "--infer")
    if not run.complete():
        return f"inferred: {run.exits}: {run.said}"
    found = list(parse_cbors(run.out))
    if len(found) != len(rows):
        return f"inferred: {len(found)} rows, not {len(rows)}"
    for values, texts in zip(found, rows):
        if len(values) != len(texts) or not all(map(is_what_it_denotes, values, texts)):
            return f"inferred: {values!r} of {texts!r}"
    return None


def check_good(data, rows):
    """Through CSV, CBOR and JSON, and back."""
    named = len(rows) > 0
    for header in ("yes", "no"):
        if header == "yes" and not named:
            continue
        option = ["--csv-header", header]
        run = Run("csv", data, "auto", *option)
        if not run.complete():
            return f"csv: {run.exits}: {run.said}"
        wrong = wrong_rows("csv", rows_of(run.out), rows)
        again = Run("csv", run.out, "csv", *option)
        if wrong or again.out != run.out:
            return wrong or "CSV of CSV is another CSV"
        run = Run("csv", data, "cbor", *option)
        if not run.complete():
            return f"cbor: {run.exits}: {run.said}"
        wrong = wrong_rows("cbor", list(parse_cbors(run.out)), rows)
        back = Run("cbor", run.out, "csv")
        if wrong or back.out != again.out:
            return wrong or "CSV of CBOR is another CSV"
        run = Run("csv", data, "json", *option)
        twins = header == "yes" and len(set(rows[0])) < len(rows[0])
        if twins:
            if run.exits != (1, 4) or "two columns of one name" not in run.said:
                return f"json of two columns of one name: {run.exits}: {run.said}"
            continue
        if not run.complete():
            return f"json: {run.exits}: {run.said}"
        lines = [json.loads(line) for line in run.out.decode().split("\n")[:-1]]
        if header == "yes":
            lines = [list(rows[0])] + [[line[name] for name in rows[0]] if list(line) == rows[0] else line
                                       for line in lines]
        wrong = wrong_rows("json", lines, rows)
        if wrong:
            return wrong
    return None


def check_bad(path, expect, data):
    """Refused; with --skip-bad what is left are good rows of the file."""
    if expect.startswith("empty"):
        run = Run("csv", data, "csv", "--csv-header", "no")
        if not run.complete() or run.out != b"":
            return f"empty, without names: {run.exits}: {run.said}"
    run = Run("csv", data, "csv")
    if not run.refused():
        return f"not refused: {run.exits}: {run.said}"
    if ": line " not in run.said:
        return f"no place: {run.said}"
    run = Run("csv", data, "csv", "--skip-bad")
    if run.exits not in ((1, 0), (1, 1)) or " bad record" not in run.said:
        return f"with --skip-bad: {run.exits}: {run.said}"
    left = rows_of(run.out)
    if len({len(row) for row in left}) > 1:
        return "with --skip-bad: the rows differ in width"
    if expect.startswith("ragged") and "utf8=True" in expect:
        rows = rows_of(data)
        return wrong_rows("with --skip-bad", left, [row for row in rows if len(row) == len(rows[0])])
    return None


def check_json_beside(path, rows):
    """The collection has what an independent reader made of the file."""
    beside = path.replace("/csv/csv-test-data/csv/", "/").replace("csv/csv-test-data/csv/", "")
    beside = os.path.join("csv", "csv-test-data", "json", beside.replace(".csv", ".json"))
    if not os.path.exists(os.path.join(CORPORA, beside)):
        return None
    values = json.loads(read(beside))
    wanted = rows[1:] if values and isinstance(values[0], dict) else rows
    found = [list(map(str, value.values() if isinstance(value, dict) else value)) for value in values]
    return None if not values else wrong_rows("their json", found, wanted)


def check_miller(data, rows):
    if not MILLER or len(rows) < 2 or any("" == name for name in rows[0]) or len(set(rows[0])) < len(rows[0]):
        return None
    if b"\n\n" in data or b"\r" in data.replace(b"\r\n", b"") or any(row == [""] for row in rows):
        return None                 # it drops empty lines, and knows no CR
    theirs = subprocess.run(["mlr", "-S", "--icsv", "--ojsonl", "--no-auto-unflatten", "cat"], input=data, stdout=subprocess.PIPE,
                            stderr=subprocess.DEVNULL, check=False)
    if theirs.returncode != 0:
        return None
    ours = Run("csv", data, "json")
    mine = [json.loads(line) for line in ours.out.decode().split("\n")[:-1]]
    try:
        others = [json.loads(line, parse_int=str, parse_float=str)
                  for line in theirs.stdout.decode().split("\n") if line]
    except ValueError:
        return None                 # it does not escape every control character
    others = [{key: str(value) for key, value in line.items()} for line in others]
    return wrong_rows("Miller's json", mine, others)


def judge(item):
    path, expect = item
    data = read(path)
    if expect.startswith("empty") or not is_good(path, expect, data):
        return check_bad(path, expect, data)
    rows = rows_of(data)
    records = [part for part in expect.split() if part.startswith("records=")]
    if records and expect.startswith("ok") and int(records[0][8:].rstrip(";")) != len(rows):
        return f"{len(rows)} rows, and the manifest says {records[0]}"
    return check_good(data, rows) or check_inferred(data, rows) or check_json_beside(path, rows) or check_miller(data, rows)


MILLER = shutil.which("mlr")
conclude(judge, list(manifest()))
