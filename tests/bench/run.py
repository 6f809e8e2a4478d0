#!/usr/bin/env python3
"""Measure Sluice side by side with its peers, in one run.

usage: run.py BINDIR [PART...]

Each part runs its contestants in turn, several rounds, and prints medians,
spread and ratios.  Times are of whole commands, processes' starts included,
unless a line says otherwise.  SMOKE=1 makes everything tiny: the numbers then
mean nothing, and only show that the benchmarks still run.
"""
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

SMOKE = os.environ.get("SMOKE") == "1"
ROUNDS = 1 if SMOKE else 5
FILE_BYTES = (64 << 20) if SMOKE else (4 << 30)
BIN = os.path.abspath(sys.argv[1])
PRODUCER = os.path.join(BIN, "sluice-producer")
CONSUMER = os.path.join(BIN, "sluice-consumer")
WORK = None
COUNTER = 0


def ring_name():
    global COUNTER
    COUNTER += 1
    return f"bench-{os.getpid()}-{COUNTER}"


def shell(command):
    """Run a shell pipeline whose every part must succeed; seconds."""
    started = time.monotonic()
    subprocess.run(["bash", "-o", "pipefail", "-c", command], check=True)
    return time.monotonic() - started


def finish(process):
    """Wait for a Popen; its exit must be 0.  Returns its CPU seconds."""
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"bench: {process.args} exited {process.returncode}")
    return usage.ru_utime + usage.ru_stime


def pipeline(path, producer=(), consumer=("-f", "null"), readers=1, stdin=None, stdout=None):
    """One producer and `readers` consumers.  Returns seconds and a summary."""
    name = ring_name()
    summary = os.path.join(WORK, "summary.json")
    started = time.monotonic()
    consumers = [
        subprocess.Popen([CONSUMER, *consumer, name], stdout=stdout, close_fds=True)
        for _ in range(readers)
    ]
    source = subprocess.Popen(
        [PRODUCER, "-n", str(readers), "--summary", summary, *producer, name, path],
        stdin=stdin, close_fds=True)
    producer_cpu = finish(source)
    consumer_cpu = [finish(process) for process in consumers]
    seconds = time.monotonic() - started
    with open(summary, encoding="utf-8") as file:
        account = json.load(file)
    account["producer_cpu"] = producer_cpu
    account["consumer_cpu"] = consumer_cpu
    return seconds, account


def compare(title, contestants, unit_bytes, rounds=None):
    """Time each contestant in turn; print GB/s and the ratio to the first."""
    rounds = rounds or ROUNDS
    print(f"\n## {title}")
    times = {name: [] for name, _ in contestants}
    for _ in range(rounds):
        for name, run in contestants:
            times[name].append(run())
    base = statistics.median(times[contestants[0][0]])
    print(f"{'':34}{'median':>9}{'min':>8}{'max':>8}   GB/s; ratio to the first")
    for name, _ in contestants:
        rates = sorted(unit_bytes / t / 1e9 for t in times[name])
        median = unit_bytes / statistics.median(times[name]) / 1e9
        print(f"{name:34}{median:9.2f}{rates[0]:8.2f}{rates[-1]:8.2f}   x{base / statistics.median(times[name]):.2f}")
    return {name: statistics.median(t) for name, t in times.items()}


def have(program):
    if shutil.which(program):
        return True
    print(f"   ({program} is not installed: left out)")
    return False


def make_file(path, size):
    """Bytes that do not compress, made from one random MiB shifted about."""
    block = os.urandom(1 << 20)
    with open(path, "wb") as file:
        for i in range(size >> 20):
            file.write(block[i % 4096:] + block[:i % 4096])
    with open(path, "rb", buffering=0) as file:      # into the page cache
        buffer = bytearray(1 << 20)
        while file.readinto(buffer):
            pass


# ---- the parts ------------------------------------------------------------------


def part_local(path):
    read_alone = os.path.join(BIN, "bench", "read_alone")
    contestants = [
        ("read(2) alone, 1 MiB buffer", lambda: shell(f"{read_alone} {path}")),
        ("sluice, digest off", lambda: pipeline(path, ["--digest", "no"])[0]),
        ("sluice, digest on", lambda: pipeline(path)[0]),
        ("cat f | cat >/dev/null", lambda: shell(f"cat {path} | cat >/dev/null")),
    ]
    if have("pv"):
        contestants.append(("pv -q f | cat >/dev/null", lambda: shell(f"pv -q {path} | cat >/dev/null")))
    if have("mbuffer"):
        contestants.append(("mbuffer -q -s 1M -m 16M -i f",
                            lambda: shell(f"mbuffer -q -s 1M -m 16M -i {path} 2>/dev/null >/dev/null")))
        contestants.append(("mbuffer ... | cat >/dev/null",
                            lambda: shell(f"mbuffer -q -s 1M -m 16M -i {path} 2>/dev/null | cat >/dev/null")))
    compare(f"a cached file of {FILE_BYTES >> 20} MiB to a reader that discards it", contestants, FILE_BYTES)


def part_pipes(path):
    def between(middle):
        return lambda: shell(f"cat {path} | {middle} | cat >/dev/null")

    def sluice():
        name = ring_name()
        return shell(f"(cat {path} | {PRODUCER} {name} & "
                     f"{CONSUMER} {name} | cat >/dev/null; consumer=$?; wait $! && exit $consumer)")

    contestants = [("sluice, pipe to pipe", sluice), ("cat", between("cat"))]
    if have("pv"):
        contestants.append(("pv -q", between("pv -q")))
    if have("mbuffer"):
        contestants.append(("mbuffer -q -s 1M -m 16M", between("mbuffer -q -s 1M -m 16M 2>/dev/null")))
    compare("standard input from a pipe, standard output to a pipe", contestants, FILE_BYTES)


def part_file(path):
    size = FILE_BYTES // 4
    directory = tempfile.mkdtemp(prefix="sluice-bench-", dir="/dev/shm")
    source, target = os.path.join(directory, "source"), os.path.join(directory, "target")
    try:
        make_file(source, size)

        def sluice():
            seconds, _ = pipeline(source, consumer=("-o", target))
            os.unlink(target)
            return seconds

        def copy():
            seconds = shell(f"cp {source} {target}")
            os.unlink(target)
            return seconds

        compare(f"a file of {size >> 20} MiB to a file, both on tmpfs",
                [("cp", copy), ("sluice --output", sluice)], size)
    finally:
        shutil.rmtree(directory)
    _ = path


def part_consumers(path):
    print("\n## one producer, N consumers (null): the producer's CPU, and the rate of each reader")
    rows = {}
    for _ in range(ROUNDS):
        for readers in (1, 2, 4, 8):
            seconds, account = pipeline(path, readers=readers)
            rows.setdefault(readers, []).append((account["producer_cpu"], seconds))
    base = None
    for readers, results in rows.items():
        cpu = statistics.median(cpu for cpu, _ in results) / FILE_BYTES * 1e9
        rate = FILE_BYTES / statistics.median(seconds for _, seconds in results) / 1e9
        base = base or cpu
        print(f"N = {readers}: producer CPU {cpu:.3f} ns/byte (x{cpu / base:.2f}), each reader {rate:.2f} GB/s")

    def tee(readers):
        branches = " ".join(">(cat >/dev/null)" for _ in range(readers - 1))
        return lambda: shell(f"cat {path} | tee {branches} | cat >/dev/null")

    compare("tee to 4 readers, for comparison", [("tee to 4", tee(4))], FILE_BYTES)


def run_bench(program, *arguments):
    output = subprocess.run([os.path.join(BIN, "bench", program), *map(str, arguments)],
                            check=True, capture_output=True, text=True).stdout
    return [float(word) for word in output.split()]


def part_messages(_):
    print("\n## small messages through the library, sleeping consumer: million messages per second")
    count = 100000 if SMOKE else 30000000
    for size in (64, 256, 1024):
        rates = sorted(run_bench("messages", size, count // (size // 64))[0] for _ in range(ROUNDS))
        print(f"{size:5} bytes: median {statistics.median(rates):7.2f}, {rates[0]:.2f} to {rates[-1]:.2f}")


def part_latency(_):
    print("\n## one-way latency of 64 bytes, microseconds")
    count = 500 if SMOKE else 10000
    modes = ("semaphore", "sleep", "line", "spin")
    results = {mode: [] for mode in modes}
    for _ in range(ROUNDS):
        for mode in modes:
            results[mode].append(run_bench("latency", mode, count))
    names = {"semaphore": "bare semaphore, sleeping", "sleep": "sluice, sleeping",
             "line": "bare cache line, spinning", "spin": "sluice, spinning"}
    for mode, base in zip(modes, ("semaphore", "semaphore", "line", "line")):
        p50 = statistics.median(r[0] for r in results[mode])
        p99 = statistics.median(r[1] for r in results[mode])
        ratio = p50 / statistics.median(r[0] for r in results[base])
        print(f"{names[mode]:28} p50 {p50 / 1000:8.2f}  p99 {p99 / 1000:8.2f}   x{ratio:.2f} of the bare")


def part_idle(_):
    print("\n## an idle pipeline: CPU of each process")
    seconds = 1 if SMOKE else 10
    name = ring_name()
    read_end, write_end = os.pipe()
    consumer = subprocess.Popen([CONSUMER, "-f", "null", name])
    producer = subprocess.Popen([PRODUCER, name], stdin=read_end)
    os.close(read_end)
    os.write(write_end, b"begin")
    time.sleep(0.5)

    def cpu(process):
        with open(f"/proc/{process.pid}/schedstat", encoding="ascii") as file:
            main = int(file.read().split()[0])
        total = 0
        for task in os.listdir(f"/proc/{process.pid}/task"):
            with open(f"/proc/{process.pid}/task/{task}/schedstat", encoding="ascii") as file:
                total += int(file.read().split()[0])
        return max(total, main)

    before = [cpu(p) for p in (producer, consumer)]
    time.sleep(seconds)
    after = [cpu(p) for p in (producer, consumer)]
    os.close(write_end)
    finish(producer)
    finish(consumer)
    for who, a, b in zip(("producer", "consumer"), before, after):
        print(f"{who}: {(b - a) / seconds / 1e7:.3f} % of a core over {seconds} s")


def part_startup(_):
    print("\n## a trio with nothing to carry: start to end, milliseconds")
    times = sorted(pipeline("/dev/null", readers=1)[0] * 1000 for _ in range(3 if SMOKE else 31))
    print(f"producer and consumer, started together, an empty message: median {statistics.median(times):.1f}, "
          f"{times[0]:.1f} to {times[-1]:.1f}")


def part_death(_):
    print("\n## a killed process, until the others know: milliseconds")
    kills = 5 if SMOKE else 50
    worst = {"producer": [], "consumer": []}
    for victim in worst:
        for _ in range(kills):
            name = ring_name()
            read_end, write_end = os.pipe()
            ready_read, ready_write = os.pipe()
            consumer = subprocess.Popen([CONSUMER, "-f", "null", "--ready-fd", str(ready_write), name],
                                        stderr=subprocess.DEVNULL, pass_fds=[ready_write])
            producer = subprocess.Popen([PRODUCER, name], stdin=read_end, stderr=subprocess.DEVNULL)
            os.close(read_end)
            os.close(ready_write)
            os.read(ready_read, 1)
            os.close(ready_read)
            os.write(write_end, b"x" * 10)
            time.sleep(0.1)
            dies, lives = (producer, consumer) if victim == "producer" else (consumer, producer)
            dies.send_signal(signal.SIGKILL)
            started = time.monotonic()
            lives.wait()
            worst[victim].append((time.monotonic() - started) * 1000)
            dies.wait()
            os.close(write_end)
            if lives.returncode == 0:
                raise SystemExit("bench: a survivor of a kill exited 0")
            try:
                os.unlink(f"/dev/shm/sluice.{name}")
            except FileNotFoundError:
                pass
    for victim, times in worst.items():
        print(f"{victim} killed, blocked in read(2) or asleep: the other left after {statistics.median(times):.0f}, "
              f"at worst {max(times):.0f} ({kills} kills)")


def part_memory(path):
    print("\n## memory, against the payload: peak resident KiB")
    for size in (1 << 20, FILE_BYTES // 16, FILE_BYTES):
        _, account = pipeline(path if size == FILE_BYTES else sparse(size))
        print(f"payload {size >> 20:6} MiB: segment {account['segment_bytes'] >> 10}, "
              f"producer resident (segment included) {account['peak_memory_kib']}")


def sparse(size):
    path = os.path.join(WORK, f"sparse-{size}")
    with open(path, "wb") as file:
        file.truncate(size)
    return path


PARTS = {
    "local": part_local, "pipes": part_pipes, "file": part_file, "consumers": part_consumers,
    "messages": part_messages, "latency": part_latency, "idle": part_idle,
    "startup": part_startup, "death": part_death, "memory": part_memory,
}


def main():
    global WORK
    wanted = sys.argv[2:] or list(PARTS)
    for part in wanted:
        if part not in PARTS:
            raise SystemExit(f"bench: no part {part}; there are {' '.join(PARTS)}")
    WORK = tempfile.mkdtemp(prefix="sluice-bench-")
    try:
        path = os.path.join(WORK, "file")
        needs_file = {"local", "pipes", "consumers", "memory"} & set(wanted)
        if needs_file:
            if shutil.disk_usage(WORK).free < FILE_BYTES * 3 // 2:
                raise SystemExit(f"bench: {WORK} has not {FILE_BYTES * 3 // 2 >> 20} MiB free; set TMPDIR")
            make_file(path, FILE_BYTES)
        print(f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}, {ROUNDS} round(s) each")
        for part in wanted:
            PARTS[part](path)
    finally:
        shutil.rmtree(WORK)


main()
