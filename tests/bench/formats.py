"""The formats' benchmarks; run.py calls them.

Each program reads the same file from the page cache, and what it writes is
discarded.  The file is real CSV, repeated; without the corpora it is made up.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

CORPORA = os.environ.get("SLUICE_CORPORA", os.path.join(os.path.dirname(__file__), "../../../shared/corpora"))


class Bench:
    """What run.py knows: where the programs are, how much to do, and how to compare."""

    def __init__(self, binaries, smoke, compare):
        self.compare = compare
        self.producer = os.path.join(binaries, "sluice-producer")
        self.consumer = os.path.join(binaries, "sluice-consumer")
        self.csv_bytes = (1 << 20) if smoke else (64 << 20)
        self.memory_bytes = (16 << 20) if smoke else (3 << 30)
        self.counter = 0

    def ring(self):
        self.counter += 1
        return f"bench-{os.getpid()}-f{self.counter}"


def check(process):
    if process.wait() != 0:
        raise SystemExit(f"bench: {process.args} exited {process.returncode}")


def command(*words):
    """A program whose output is discarded; seconds."""
    started = time.monotonic()
    subprocess.run(words, stdout=subprocess.DEVNULL, check=True)
    return time.monotonic() - started


def convert(bench, path, sink, *options, stdin=None):
    """A file through a producer and a consumer; seconds of both."""
    ring = bench.ring()
    started = time.monotonic()
    consumer = subprocess.Popen([bench.consumer, "-f", sink, ring], stdout=subprocess.DEVNULL)
    producer = subprocess.Popen([bench.producer, *options, ring, path], stdin=stdin)
    check(producer)
    check(consumer)
    return time.monotonic() - started


# ---- csv ---------------------------------------------------------------------------


def csv_rows():
    """Lines of a table: its first, with the names, and the others."""
    try:
        with open(os.path.join(CORPORA, "csv", "vega", "birdstrikes.csv"), "rb") as file:
            first, rest = file.read().split(b"\n", 1)
            return first + b"\n", rest.rstrip(b"\r\n") + b"\n"
    except FileNotFoundError:
        rest = "".join(f'{i},"Lovelace, Ada {i}",{i * 7 % 1000 / 8},2026-11-30,some words of a field\n'
                       for i in range(10000))
        return b"id,name,value,day,text\n", rest.encode()


def csv_file(path, size):
    first, rest = csv_rows()
    with open(path, "wb") as file:
        file.write(first)
        while file.tell() < size:
            file.write(rest)
    return os.path.getsize(path)


PYTHON_CSV = """
import csv, sys
with open(sys.argv[1], newline="") as file:
    for row in csv.reader(file):
        pass
"""


def part_csv(bench):
    with tempfile.TemporaryDirectory(prefix="sluice-bench-") as folder:
        path = os.path.join(folder, "table.csv")
        size = csv_file(path, bench.csv_bytes)
        contestants = []
        if shutil.which("mlr"):
            contestants.append(("mlr --icsv --ojsonl cat", lambda: command("mlr", "--icsv", "--ojsonl", "cat", path)))
            contestants.append(("mlr --icsv --ocsv cat", lambda: command("mlr", "--icsv", "--ocsv", "cat", path)))
        else:
            print("(mlr is not installed)")
        contestants.append(("python3, csv.reader alone", lambda: command(sys.executable, "-c", PYTHON_CSV, path)))
        contestants += [
            ("sluice, csv -> CBOR", lambda: convert(bench, path, "null", "-f", "csv")),
            ("sluice, csv -> CBOR, --infer", lambda: convert(bench, path, "null", "-f", "csv", "--infer")),
            ("sluice, csv -> csv", lambda: convert(bench, path, "csv", "-f", "csv")),
            ("sluice, csv -> json", lambda: convert(bench, path, "json", "-f", "csv")),
            ("sluice, csv -> cbor", lambda: convert(bench, path, "cbor", "-f", "csv")),
        ]
        bench.compare(f"a table of {size >> 20} MiB; GB of CSV a second", contestants, size)


def part_csv_memory(bench):
    """A table from a pipe, and one field that is as long."""
    _, rest = csv_rows()
    print(f"\n## {bench.memory_bytes >> 20} MiB of CSV from a pipe; KiB")
    with tempfile.TemporaryDirectory(prefix="sluice-bench-") as folder:
        rows = os.path.join(folder, "rows")
        with open(rows, "wb") as file:
            file.write(rest)
        limit = f"head -c {bench.memory_bytes}"
        feeds = {
            "rows": f"while cat {rows}; do :; done 2>/dev/null | {limit}; echo",
            "one field": f"printf '\"'; yes 'a line of a field' | {limit}; echo '\"'",
        }
        for name, feed in feeds.items():
            account, ring = os.path.join(folder, "account"), bench.ring()
            reader = os.path.join(folder, "reader")
            consumer = subprocess.Popen([bench.consumer, "-f", "json", "--summary", reader, ring],
                                        stdout=subprocess.DEVNULL)
            source = subprocess.Popen(["bash", "-c", feed], stdout=subprocess.PIPE)
            # The last row may be cut.
            producer = subprocess.Popen([bench.producer, "-f", "csv", "--csv-header", "no", "--skip-bad",
                                         "--summary", account, ring], stdin=source.stdout,
                                        stderr=subprocess.DEVNULL)
            source.stdout.close()
            if producer.wait() not in (0, 1):
                raise SystemExit(f"bench: {producer.args} exited {producer.returncode}")
            check(consumer)
            check(source)
            with open(account, encoding="utf-8") as file:
                told = json.load(file)
            with open(reader, encoding="utf-8") as file:
                peak = json.load(file)["peak_memory_kib"]
            print(f"{name:12} segment {told['segment_bytes'] >> 10}, producer resident (segment included) "
                  f"{told['peak_memory_kib']}, consumer to json {peak}")
