"""Well-formed CBOR passes unchanged, item by item and as sequences."""

import json

from pipeline import Run, conclude, names, parse_cbors, read

CBOR = ["cbor"]


def items_of(folder, suffix):
    return [(f"{folder}/{name}", read(*CBOR, folder, name))
            for name in names(*CBOR, folder) if name.endswith(suffix)]


def vectors(file, good):
    return [(entry["hex"], bytes.fromhex(entry["hex"]))
            for entry in json.loads(read(*CBOR, file)) if good(entry)]


# Simple value 24 in two bytes is not well-formed any more.
appendix_a = vectors("appendix_a.json", lambda entry: entry["hex"] != "f818")
items = (appendix_a +
         vectors("rfc8746_examples.json", lambda entry: True) +
         items_of("codec-fixtures", ".dag-cbor") +
         items_of("fuzz-seeds", ".cbor") +
         items_of("libcbor-examples", ".cbor"))
sequences = items_of("sequences", ".cborseq")


def pass_unchanged(item):
    name, data = item
    run = Run("cbor", data, "cbor")
    if name.endswith("cut1.cborseq"):
        # All but the last item, and then a fault.
        if not run.refused() or len(list(parse_cbors(run.out))) != 80:
            return f"{run.exits}: {len(list(parse_cbors(run.out)))} items: {run.said}"
        return None if data.startswith(run.out) else "changed"
    if not run.complete():
        return f"{run.exits}: {run.said}"
    return None if run.out == data else f"changed: {run.out[:40].hex()}"


class Named(tuple):
    def __str__(self):
        return self[0]


assert len(appendix_a) == 81
together = ("all together", b"".join(data for name, data in items))
conclude(pass_unchanged, [Named(item) for item in items + sequences + [together]])
