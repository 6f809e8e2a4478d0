"""Matrix Market: what is sound comes back with every value exactly, as mtx, CBOR
and JSON; scipy, where it reads the file, reads the same from what came back.

Two suites judged these files.  Where they depend on what a reader chooses to
allow: no missing banner, nothing with too many or too few words in a line;
lines may end with CR LF, or CR; comments between entries are left out; values of any size are kept; comments that begin with
%%GraphBLAS are comments.
"""

import csv
import io
import os
import warnings

import numpy
import scipy.io
import scipy.sparse

from pipeline import CORPORA, Number, Run, conclude, from_cbor, parse_cbors, parse_json, read

warnings.simplefilter("ignore")

REFUSED = {"permissive_banner_one_percent_eye3.mtx", "mangled7.mtx", "mangled15.mtx", "mangled16.mtx",
           "full_noheader.mtx"}
TAKEN = {"windows_lineendings_nist_ex1_more_freeformat.mtx", "matrix_uint64.mtx", "mangled_bool.mtx",
         "mangled_int8.mtx", "mangled_uint8.mtx", "mangled_uint32.mtx"}


def word(text):
    """A value, exactly; what is no number as Number's own words."""
    lower = text.lower().lstrip("+")
    if lower.lstrip("-") in ("nan", "inf", "infinity"):
        return float(lower)
    return Number(text)


def parse(data):
    """The file by its plainest reading."""
    lines = data.decode("latin-1").splitlines()
    banner = lines[0].lower().split()
    at = 1
    comments = []
    while not lines[at].strip() or lines[at].lstrip().startswith("%"):
        if lines[at].strip():
            comments.append(lines[at].lstrip()[1:])
        at += 1
    size = [int(item) for item in lines[at].split()]
    rows = [line.split() for line in lines[at + 1:] if line.strip() and not line.lstrip().startswith("%")]
    vector, coordinate = banner[1] == "vector", banner[2] == "coordinate"
    indices = (1 if vector else 2) if coordinate else 0
    data = [[int(item) for item in row[:indices]] + [word(item) for item in row[indices:]] for row in rows]
    if not coordinate and banner[3] != "complex":
        data = [row[0] for row in data]
    return {"object": banner[1], "format": banner[2], "field": banner[3], "symmetry": banner[4],
            "comments": comments, "shape": size[:1 if vector else 2], "data": data}


def plain(value):
    """Of CBOR or JSON: lists, and numbers as `word` has them."""
    if isinstance(value, tuple) and value[0] == "object":
        members = dict(value[1])
        if "$float" in members:
            return float(members["$float"])
        return {key: plain(item) for key, item in members.items()}
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, bytes):
        return value.decode("latin-1")
    if isinstance(value, str) or isinstance(value, Number):
        return value
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return value
    return from_cbor(value)


def differs(a, b, path=""):
    """Where two readings differ, or None.  -0 as an integer is 0."""
    if isinstance(a, dict) and isinstance(b, dict) and list(a) == list(b):
        return next(filter(None, (differs(a[key], b[key], f"{path}.{key}") for key in a)), None)
    if isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        return next(filter(None, (differs(x, y, f"{path}[{i}]") for i, (x, y) in enumerate(zip(a, b)))), None)
    if isinstance(a, (int, float)) and not isinstance(a, bool) and not (a != a):
        a = a if isinstance(a, float) and abs(a) == float("inf") else Number(a)
    if isinstance(b, (int, float)) and not isinstance(b, bool) and not (b != b):
        b = b if isinstance(b, float) and abs(b) == float("inf") else Number(b)
    if a == b or (a != a and b != b):
        return None
    return f"{path}: {a!r:.60} is not {b!r:.60}"


def by_scipy(data):
    try:
        return scipy.io.mmread(io.BytesIO(data))
    except Exception:
        return None


def same_to_scipy(a, b):
    if a is None:
        return True
    if b is None or a.shape != b.shape or a.dtype != b.dtype:
        return False
    if scipy.sparse.issparse(a):
        return (numpy.array_equal(a.row, b.row) and numpy.array_equal(a.col, b.col) and
                numpy.array_equal(a.data, b.data, equal_nan=a.dtype.kind in "fc"))
    return numpy.array_equal(a, b, equal_nan=a.dtype.kind in "fc")


def must_be_taken(path, verdict):
    name = os.path.basename(path)
    if name in TAKEN or name in REFUSED:
        return name in TAKEN
    return verdict.startswith(("suite: accept", "suite: reject or report overflow"))


def judge(row):
    path, verdict = row
    data = read(*path.split("/"))
    run = Run("mtx", data, "auto")
    if not must_be_taken(path, verdict):
        return None if run.refused() else f"not refused: {run.exits}: {run.said}"
    if not run.complete():
        return f"{run.exits}: {run.said}"
    expected = parse(data)
    wrong = differs(parse(run.out), expected)
    if wrong:
        return f"as mtx: {wrong}"
    if not same_to_scipy(by_scipy(data), by_scipy(run.out)):
        return "scipy reads something else"
    again = Run("mtx", run.out, "mtx")
    if again.out != run.out:
        return "changes when it passes once more"
    run = Run("mtx", data, "cbor")
    items = list(parse_cbors(run.out))
    wrong = "several items" if len(items) != 1 else differs(plain(items[0]), expected)
    if not run.complete() or wrong:
        return f"in CBOR: {run.exits}: {wrong}"
    back = Run("cbor", run.out, "mtx")
    if not back.complete() or back.out != again.out:
        return f"on the way back: {back.exits}: {back.said}"
    run = Run("mtx", data, "json")
    wrong = differs(plain(parse_json(run.out.decode())), expected)
    return f"in JSON: {run.exits}: {wrong}" if wrong else None


with open(os.path.join(CORPORA, "MANIFEST.tsv"), encoding="utf-8", newline="") as file:
    rows = [(row["path"], row["expect"]) for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
            if row["path"].endswith(".mtx")]
conclude(judge, rows)
