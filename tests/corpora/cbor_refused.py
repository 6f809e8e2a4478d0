"""CBOR that is not well-formed ends with exit 4, and nothing of it is delivered."""

import json

from pipeline import Run, conclude, names, read

appendix_f = json.loads(read("cbor", "rfc8949_appendix_f.json"))["vectors"]
faults = {f"{entry['group']}: {entry['hex']}": bytes.fromhex(entry["hex"]) for entry in appendix_f}
faults["appendix A, simple value 24"] = bytes.fromhex("f818")
finds = {name: read("cbor", "nlohmann-regression", name)
         for name in names("cbor", "nlohmann-regression")}


def refuse(name):
    run = Run("cbor", faults[name], "cbor")
    if not run.refused() or run.out:
        return f"{run.exits}, {len(run.out)} bytes: {run.said}"
    # After a good item, that one is delivered.
    run = Run("cbor", b"\x01" + faults[name], "diag")
    if not run.refused() or run.out != b"1\n":
        return f"after a good item: {run.exits}, {run.out!r}: {run.said}"
    return None


def refuse_find(name):
    run = Run("cbor", finds[name], "null")
    return None if run.refused() else f"{run.exits}: {run.said}"


def refuse_any(name):
    return refuse_find(name) if name in finds else refuse(name)


conclude(refuse_any, list(faults) + list(finds))
