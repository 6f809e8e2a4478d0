"""NumPy arrays: what numpy reads comes back byte for byte; what an independent
CBOR decoder reads is what numpy reads; what numpy refuses is refused.

numpy accepts bytes after an array, and drops them; that is refused here, for
exit 0 means that all of the input was taken.
"""

import ast
import io
import json
import os
import warnings

import cbor2
import numpy

from pipeline import CORPORA, Run, conclude, names, parse_cbors, read

warnings.simplefilter("ignore")

TYPED = {64: "u1", 65: ">u2", 66: ">u4", 67: ">u8", 69: "<u2", 70: "<u4", 71: "<u8",
         72: "i1", 73: ">i2", 74: ">i4", 75: ">i8", 77: "<i2", 78: "<i4", 79: "<i8",
         80: ">f2", 81: ">f4", 82: ">f8", 84: "<f2", 85: "<f4", 86: "<f8"}
DROPPED = {"trailing_bytes.npy"}


def load(data):
    """What numpy reads, or None."""
    file = io.BytesIO(data)
    try:
        array = numpy.load(file, allow_pickle=False)
    except Exception:
        # numpy limits a header's length unless it is told that it is trusted.
        try:
            file.seek(0)
            array = numpy.lib.format.read_array(file, allow_pickle=False, max_header_size=1 << 20)
        except Exception:
            return None
    return array


def from_cbor(item):
    """docs/protocol.md, 3.4, by way of cbor2."""
    if isinstance(item, dict):
        dtype = item["dtype"]
        dtype = numpy.lib.format.descr_to_dtype(ast.literal_eval(dtype) if dtype[0] in "[(" else dtype)
        return numpy.frombuffer(item["data"], dtype).reshape(item["shape"], order=item["order"])
    order = {40: "C", 1040: "F"}[item.tag]
    shape, typed = item.value
    assert all(shape), "RFC 8746 has no dimension of zero"
    return numpy.frombuffer(typed.value, TYPED[typed.tag]).reshape(shape, order=order)


def same(a, b):
    return (a.dtype == b.dtype and a.shape == b.shape and
            a.tobytes(order="A") == b.tobytes(order="A") and a.flags.fnc == b.flags.fnc)


def number(value):
    if isinstance(value, dict):
        return float(value["$float"].replace("Infinity", "inf"))
    return value


def from_json(value, array):
    """The same array, from JSON's form of it; None where it is bytes."""
    kind, shape, order = array.dtype.kind, array.shape, "C"
    if isinstance(value, dict) and "$float" not in value:
        if "dtype" in value:
            return None
        shape, order, value = value["shape"], value["order"], value["data"]
    flat = []

    def walk(item, depth):
        if depth == 0:
            flat.append(complex(*map(number, item)) if kind == "c" else number(item))
            return
        for inner in item:
            walk(inner, depth - 1)

    walk(value, len(shape) if order == "C" else 1)
    return numpy.array(flat, array.dtype).reshape(shape, order=order)


def judge_json(data, array):
    run = Run("npy", data, "json")
    if not run.complete():
        return f"to JSON: {run.exits}: {run.said}"
    again = from_json(json.loads(run.out), array)
    if again is None:
        return None if array.dtype.kind not in "biufc" or array.dtype.itemsize > 16 or \
            array.dtype == numpy.longdouble else "bytes in JSON"
    if array.dtype.kind == "c":
        good = numpy.array_equal(again.real, array.real, equal_nan=True) and \
            numpy.array_equal(again.imag, array.imag, equal_nan=True)
    else:
        good = numpy.array_equal(again, array, equal_nan=array.dtype.kind == "f")
    return None if good and again.shape == array.shape else f"changed in JSON: {run.out[:300]}"


def judge(path):
    data = read(*path)
    array = load(data)
    if array is None or path[-1] in DROPPED:
        run = Run("npy", data, "npy")
        return None if run.refused() else f"not refused: {run.exits}: {run.said}"
    run = Run("npy", data, "auto")
    if not run.complete() or run.out != data:
        return f"{run.exits}: {run.said}"
    run = Run("npy", data, "cbor")
    if not run.complete():
        return f"to CBOR: {run.exits}: {run.said}"
    items = list(parse_cbors(run.out))
    if len(items) != 1 or not same(from_cbor(items[0]), array):
        return f"changed in CBOR: {items!r:.300}"
    back = Run("cbor", run.out, "npy")
    if not back.complete() or not same(load(back.out), array):
        return f"changed on the way back: {back.exits}: {back.said}"
    return judge_json(data, array)


paths = [["npy", *folder, name]
         for folder in (["debian-numpy", "good"], ["debian-numpy", "bad"], ["npyio"], ["real"])
         for name in names("npy", *folder) if name.endswith(".npy")]
assert all(os.path.exists(os.path.join(CORPORA, *path)) for path in paths)
conclude(judge, paths)
