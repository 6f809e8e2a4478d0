"""The benchmarks of arrays and matrices; run.py calls them.

Side by side in each round with numpy and scipy, where they are, and with the
same bytes as raw.  Inputs are in the page cache, outputs go to /dev/null.  CPU
is that of all processes together: it tells more where others run, too.
"""
import json
import os
import random
import statistics
import struct
import subprocess
import tempfile
import time


class Bench:
    """Where the programs are, and how much to do."""

    def __init__(self, binaries, smoke):
        self.producer = os.path.join(binaries, "sluice-producer")
        self.consumer = os.path.join(binaries, "sluice-consumer")
        self.rounds = 1 if smoke else 5
        self.array_bytes = (8 << 20) if smoke else (1 << 30)
        self.text_bytes = (1 << 20) if smoke else (24 << 20)
        self.entries = 10000 if smoke else 1500000
        self.stream_bytes = (32 << 20) if smoke else (3 << 30)
        self.counter = 0

    def ring(self):
        self.counter += 1
        return f"bench-{os.getpid()}-a{self.counter}"


def check(process):
    """Wait for a process; its CPU seconds."""
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"bench: {process.args} exited {process.returncode}")
    return usage.ru_utime + usage.ru_stime


def pass_on(bench, source, sink, path):
    """One file through a ring: seconds from the producer's start to its exit, and of CPU."""
    ring = bench.ring()
    consumer = subprocess.Popen([bench.consumer, "-f", sink, "-o", "/dev/null", ring])
    started = time.monotonic()
    cpu = check(subprocess.Popen([bench.producer, "-f", source, ring, path]))
    took = time.monotonic() - started
    return took, cpu + check(consumer)


def python_with(module):
    for candidate in ("python3", "/usr/bin/python3"):
        if subprocess.run([candidate, "-c", f"import {module}"], stderr=subprocess.DEVNULL).returncode == 0:
            return candidate
    print(f"(no Python with {module} is installed)")
    return None


def python(interpreter, script, *arguments):
    """The script's seconds and CPU seconds, without the interpreter's start."""
    program = f"import sys, time\n{script}"
    output = subprocess.run([interpreter, "-c", program, *arguments], check=True,
                            stdout=subprocess.PIPE, text=True).stdout
    return tuple(float(word) for word in output.split())


def table(title, contestants, size, rounds):
    """Contestants in turn, round by round: median, spread, and the median of each
    round's ratio to the first."""
    print(f"\n## {title}")
    times = {name: [] for name, _ in contestants}
    for _ in range(rounds):
        for name, action in contestants:
            times[name].append(action())
    first = times[contestants[0][0]]
    print(f"{'':<36}{'MB/s':>7}{'min':>7}{'max':>7}{'MB per CPU s':>14}   ratio to the first, by rounds")
    for name, _ in contestants:
        rates = sorted(size / took / 1e6 for took, _ in times[name])
        cpu = statistics.median(cpu for _, cpu in times[name])
        ratios = sorted(a / b for (a, _), (b, _) in zip(first, times[name]))
        print(f"{name:<36}{statistics.median(rates):7.0f}{rates[0]:7.0f}{rates[-1]:7.0f}{size / cpu / 1e6:14.0f}"
              f"   x{statistics.median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})")


def npy_prefix(descr, shape):
    text = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}".encode()
    text += b" " * (118 - 1 - len(text)) + b"\n"
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(text)) + text


def write_array(path, size):
    """Doubles of a normal distribution, the same block again and again."""
    columns = 64
    block = struct.pack("<8192d", *(random.gauss(0, 1) for _ in range(8192)))
    with open(path, "wb") as file:
        file.write(npy_prefix("<f8", (size // 8 // columns, columns)))
        for _ in range(size // len(block)):
            file.write(block)


def write_matrix(path, entries):
    with open(path, "w", encoding="ascii") as file:
        file.write(f"%%MatrixMarket matrix coordinate real general\n1000000 1000000 {entries}\n")
        for _ in range(entries):
            file.write(f"{random.randrange(1, 1000001)} {random.randrange(1, 1000001)} {random.gauss(0, 1)!r}\n")


NUMPY_COPY = """
import numpy
start, cpu = time.monotonic(), time.process_time()
with open('/dev/null', 'wb') as null:
    numpy.save(null, numpy.load(sys.argv[1]))
print(time.monotonic() - start, time.process_time() - cpu)
"""

NUMPY_JSON = """
import json, numpy
start, cpu = time.monotonic(), time.process_time()
with open('/dev/null', 'w') as null:
    json.dump(numpy.load(sys.argv[1]).tolist(), null)
print(time.monotonic() - start, time.process_time() - cpu)
"""

SCIPY_READ = """
import scipy.io
start, cpu = time.monotonic(), time.process_time()
scipy.io.mmread(sys.argv[1])
print(time.monotonic() - start, time.process_time() - cpu)
"""

SCIPY_COPY = """
import io, scipy.io
start, cpu = time.monotonic(), time.process_time()
scipy.io.mmwrite(io.BytesIO(), scipy.io.mmread(sys.argv[1]))
print(time.monotonic() - start, time.process_time() - cpu)
"""


def part_npy(bench):
    interpreter = python_with("numpy")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "array.npy")
        write_array(path, bench.array_bytes)
        contestants = [
            ("raw to null", lambda: pass_on(bench, "raw", "null", path)),
            ("npy to null", lambda: pass_on(bench, "npy", "null", path)),
            ("raw to raw, /dev/null", lambda: pass_on(bench, "raw", "raw", path)),
            ("npy to npy, /dev/null", lambda: pass_on(bench, "npy", "npy", path)),
        ]
        if interpreter:
            contestants.append(("numpy.save(numpy.load()), /dev/null",
                                lambda: python(interpreter, NUMPY_COPY, path)))
        table("an array of doubles", contestants, os.path.getsize(path), bench.rounds)
        write_array(path, bench.text_bytes)
        contestants = [("npy to json", lambda: pass_on(bench, "npy", "json", path))]
        if interpreter:
            contestants.append(("json.dump(numpy.load().tolist())",
                                lambda: python(interpreter, NUMPY_JSON, path)))
        table("an array of doubles to JSON, /dev/null", contestants, os.path.getsize(path), bench.rounds)


def part_mtx(bench):
    interpreter = python_with("scipy.io")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "matrix.mtx")
        write_matrix(path, bench.entries)
        contestants = [
            ("mtx to null", lambda: pass_on(bench, "mtx", "null", path)),
            ("mtx to mtx, /dev/null", lambda: pass_on(bench, "mtx", "mtx", path)),
            ("mtx to json, /dev/null", lambda: pass_on(bench, "mtx", "json", path)),
        ]
        if interpreter:
            contestants.append(("scipy.io.mmread", lambda: python(interpreter, SCIPY_READ, path)))
            contestants.append(("scipy.io.mmwrite(mmread)", lambda: python(interpreter, SCIPY_COPY, path)))
        table("a sparse matrix of doubles", contestants, os.path.getsize(path), bench.rounds)


def stream(bench, source, sink, beginning, block):
    """So much through a ring from a pipe; seconds, and peak memory of both in MiB."""
    ring = bench.ring()
    with tempfile.TemporaryDirectory() as folder:
        accounts = [os.path.join(folder, name) for name in ("producer", "consumer")]
        consumer = subprocess.Popen([bench.consumer, "-f", sink, "-o", "/dev/null", "--summary", accounts[1], ring])
        started = time.monotonic()
        producer = subprocess.Popen([bench.producer, "-f", source, "--summary", accounts[0], ring],
                                    stdin=subprocess.PIPE)
        producer.stdin.write(beginning)
        for _ in range(bench.stream_bytes // len(block)):
            producer.stdin.write(block)
        producer.stdin.close()
        check(producer)
        took = time.monotonic() - started
        check(consumer)
        peaks = []
        for path in accounts:
            with open(path, encoding="utf-8") as file:
                peaks.append(json.load(file)["peak_memory_kib"] / 1024)
        return took, peaks


def part_array_memory(bench):
    """Resident memory counts the ring, which is shared, in each process."""
    print(f"\n## {bench.stream_bytes >> 20} MiB from a pipe: peak memory of producer and consumer")
    block = struct.pack("<8192d", *(random.gauss(0, 1) for _ in range(8192)))
    count = bench.stream_bytes // len(block)
    line = b"999999 123456 -0.5772156649015329\n"
    lines = line * (65536 // len(line))
    entries = bench.stream_bytes // len(lines) * (len(lines) // len(line))
    runs = [
        ("npy", "npy", npy_prefix("<f8", (count * 8192,)), block),
        ("npy", "json", npy_prefix("<f8", (count, 8192)), block),
        ("mtx", "mtx", b"%%%%MatrixMarket matrix coordinate real general\n1000000 1000000 %d\n" % entries, lines),
        ("mtx", "json", b"%%%%MatrixMarket matrix coordinate real general\n1000000 1000000 %d\n" % entries, lines),
    ]
    for source, sink, beginning, content in runs:
        took, peaks = stream(bench, source, sink, beginning, content)
        print(f"{source} to {sink:<8}{bench.stream_bytes / took / 1e6:8.0f} MB/s"
              f"{peaks[0]:8.1f} MiB{peaks[1]:8.1f} MiB")

