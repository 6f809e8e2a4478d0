#!/usr/bin/env python3
"""Measure Sluice side by side with its peers, in one run.

usage: run.py BINDIR [PART...]

Each part runs its contestants in turn, several rounds, every second one
backwards.  Times are of whole commands, processes' starts included, unless a
line says otherwise.  SMOKE=1 makes everything tiny: the numbers then mean
nothing, and only show that the benchmarks still run.  BUDGET=60 is how many
seconds one table may take, KILLS=50 how many processes are killed of each kind.

A ratio is taken within a round, to the first contestant of that round; what is
printed is the median of the ratios, and the lowest and highest.  On a virtual
machine the processors beneath change from one second to the next, so each run
stands between two probes of how far apart they are:

    twins   two threads of one core (a cache line takes under 35 ns one way)
    near    two cores that share an L3 cache (under 100 ns)
    far     two cores that do not
    mixed   it changed during the run
    busy    other programs, or other machines on the same hardware, took time

Where rounds of more than one kind were seen, each has its own line; busy ones
are left out, and repeated.  Where fewer than three quiet ones were had, all
count, and the line says "disturbed".  "bare" is the limit: the same work by two
processes that check nothing (bare.c).
"""
import json
import os
import resource
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import bridge
import formats
import formats_arrays

SMOKE = os.environ.get("SMOKE") == "1"
ROUNDS = 1 if SMOKE else 11
MOST_SLOW = 1 if SMOKE else 5      # of contestants that take seconds
BUDGET = int(os.environ.get("BUDGET", "60"))
KILLS = int(os.environ.get("KILLS", "50"))
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


def shell(line):
    """Run a shell pipeline whose every part must succeed; seconds."""
    started = time.monotonic()
    subprocess.run(["bash", "-o", "pipefail", "-c", line], check=True)
    return time.monotonic() - started


def command(*words):
    """Run one program, which must succeed; seconds."""
    started = time.monotonic()
    subprocess.run(words, check=True)
    return time.monotonic() - started


def bench_program(name):
    return os.path.join(BIN, "bench", name)


def run_bench(program, *arguments):
    output = subprocess.run([bench_program(program), *map(str, arguments)],
                            check=True, capture_output=True, text=True).stdout
    return [float(word) for word in output.split()]


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


# ---- rounds ---------------------------------------------------------------------


def distance():
    """twins, near or far: how the two processors lie at the moment."""
    one_way = min(run_bench("probe")[0] for _ in range(2))
    return "twins" if one_way < 35 else "near" if one_way < 100 else "far"


def spent():
    """Seconds that all processors were busy, or stolen; and that our children were."""
    with open("/proc/stat", encoding="ascii") as file:
        user, nice, system, _, _, irq, soft, steal = map(int, file.readline().split()[1:9])
    ours = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (user + nice + system + irq + soft + steal) / os.sysconf("SC_CLK_TCK"), ours.ru_utime + ours.ru_stime


def watched(run):
    """Run, and tell whether others were at work as well."""
    started, (all_before, ours_before) = time.monotonic(), spent()
    figure = run()
    seconds, (all_after, ours_after) = time.monotonic() - started, spent()
    others = all_after - all_before - (ours_after - ours_before)
    return figure, others > 0.03 + 0.06 * seconds * os.cpu_count()


def wait_for_quiet(most=5):
    """Until others leave the processors alone, or `most` seconds."""
    give_up = time.monotonic() + most
    while not SMOKE and time.monotonic() < give_up and watched(lambda: time.sleep(0.3))[1]:
        continue


def play(contestants, rounds=None, budget=BUDGET):
    """Run all in turn.  Returns {name: [(figure, kind) for each round]}."""
    results = {name: [] for name, _ in contestants}
    started, quiet, turn = time.monotonic(), 0, 0
    while quiet < (rounds or ROUNDS) and (turn < 3 or time.monotonic() - started < budget):
        wait_for_quiet()
        undisturbed, before = True, distance()
        for name, run in contestants if turn % 2 == 0 else reversed(contestants):
            figure, disturbed = watched(run)
            after = distance()
            results[name].append((figure, "busy" if disturbed else before if before == after else "mixed"))
            undisturbed = undisturbed and not disturbed
            before = after
        quiet += undisturbed or SMOKE
        turn += 1
        if SMOKE:
            break
    return results


def paired(results, base, name, kinds):
    """Of the rounds of those kinds: figures, and ratios to the base's."""
    rounds = [(mine, first) for mine, first in zip(results[name], results[base])
              if mine[1] in kinds and first[1] in kinds]
    return [mine[0] for mine, _ in rounds], [mine[0] / first[0] for mine, first in rounds]


def print_row(label, figures, ratios, decimals=2):
    print(f"{label:34}{len(figures):4}{statistics.median(figures):10.{decimals}f}"
          f"{min(figures):9.{decimals}f}{max(figures):9.{decimals}f}"
          f"   x{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})")


def print_rounds(results, unit, bases=None, decimals=2):
    """A table of figures.  Ratios are to the first, or to what `bases` says."""
    first = next(iter(results))
    print(f"{'':34}{'n':>4}{'median':>10}{'min':>9}{'max':>9}   {unit}; ratio in the same round")
    for name in results:
        base = (bases or {}).get(name, first)
        quiet = paired(results, base, name, ("twins", "near", "far", "mixed"))
        disturbed = len(quiet[0]) < 3 and not SMOKE
        if disturbed or SMOKE:
            quiet = paired(results, base, name, ("twins", "near", "far", "mixed", "busy"))
        print_row(name + (" (disturbed)" if disturbed else ""), *quiet, decimals)
        for kind in ("twins", "near", "far"):
            these = paired(results, base, name, (kind,))
            if 0 < len(these[0]) < len(quiet[0]):
                print_row(f"    {kind}", *these, decimals)


def compare(title, contestants, unit_bytes, rounds=None, budget=BUDGET):
    """Time each contestant; print GB/s and the ratios to the first."""
    print(f"\n## {title}")

    def rate(run):
        return lambda: unit_bytes / run() / 1e9

    print_rounds(play([(name, rate(run)) for name, run in contestants], rounds, budget), "GB/s")


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


def sluice(path, *producer):
    return lambda: pipeline(path, producer)[0]


def part_local(path):
    def bare(slots, size, digest):
        return lambda: command(bench_program("bare"), "stream", path, str(slots), str(size), str(digest))

    compare(f"a cached file of {FILE_BYTES >> 20} MiB to a reader that discards it", [
        ("read(2) alone, 1 MiB buffer", lambda: command(bench_program("read_alone"), path)),
        ("sluice, digest off", sluice(path, "--digest", "no")),
        ("bare, 8 x 512 KiB", bare(8, 512 << 10, 0)),
        ("bare, 4 x 1 MiB", bare(4, 1 << 20, 0)),
        ("sluice, digest on", sluice(path)),
        ("bare, both hash, 8 x 512 KiB", bare(8, 512 << 10, 1)),
        ("bare, both hash, 4 x 1 MiB", bare(4, 1 << 20, 1)),
    ], FILE_BYTES)
    contestants = [
        ("sluice, digest off", sluice(path, "--digest", "no")),
        ("sluice, digest on", sluice(path)),
        ("cat f | cat >/dev/null", lambda: shell(f"cat {path} | cat >/dev/null")),
    ]
    if have("pv"):
        contestants.append(("pv -q f | cat >/dev/null", lambda: shell(f"pv -q {path} | cat >/dev/null")))
    if have("mbuffer"):
        contestants.append(("mbuffer -q -s 1M -m 16M -i f",
                            lambda: shell(f"mbuffer -q -s 1M -m 16M -i {path} 2>/dev/null >/dev/null")))
        contestants.append(("mbuffer ... | cat >/dev/null",
                            lambda: shell(f"mbuffer -q -s 1M -m 16M -i {path} 2>/dev/null | cat >/dev/null")))
    compare("the same, beside programs that do it by pipes", contestants, FILE_BYTES, rounds=MOST_SLOW)


def part_geometry(path):
    for digest in ("no", "yes"):
        compare(f"geometries, digest {digest}", [
            (f"{slots} x {size}", sluice(path, "--digest", digest, "--slots", str(slots), "--slot-size", size))
            for slots, size in ((8, "512K"), (4, "1M"), (16, "256K"), (8, "1M"), (16, "1M"))
        ], FILE_BYTES)


def part_pipes(path):
    def between(middle):
        return lambda: shell(f"cat {path} | {middle} | cat >/dev/null")

    def through_ring():
        name = ring_name()
        return shell(f"(cat {path} | {PRODUCER} {name} & "
                     f"{CONSUMER} {name} | cat >/dev/null; consumer=$?; wait $! && exit $consumer)")

    contestants = [("sluice, pipe to pipe", through_ring), ("cat", between("cat"))]
    if have("pv"):
        contestants.append(("pv -q", between("pv -q")))
    if have("mbuffer"):
        contestants.append(("mbuffer -q -s 1M -m 16M", between("mbuffer -q -s 1M -m 16M 2>/dev/null")))
    compare("standard input from a pipe, standard output to a pipe", contestants, FILE_BYTES,
            rounds=MOST_SLOW)


def part_file(path):
    size = FILE_BYTES // 4
    directory = tempfile.mkdtemp(prefix="sluice-bench-", dir="/dev/shm")
    source, target = os.path.join(directory, "source"), os.path.join(directory, "target")
    try:
        make_file(source, size)

        def through_ring():
            seconds, _ = pipeline(source, consumer=("-o", target))
            os.unlink(target)
            return seconds

        def copy():
            seconds = command("cp", source, target)
            os.unlink(target)
            return seconds

        compare(f"a file of {size >> 20} MiB to a file, both on tmpfs",
                [("cp", copy), ("sluice --output", through_ring)], size)
    finally:
        shutil.rmtree(directory)
    _ = path


def part_consumers(path):
    print("\n## one producer, N consumers (null): the producer's CPU, and the rate of each reader")
    rates = {}

    def cpu(readers):
        def run():
            seconds, account = pipeline(path, readers=readers)
            rates.setdefault(readers, []).append(FILE_BYTES / seconds / 1e9)
            return account["producer_cpu"] / FILE_BYTES * 1e9
        return run

    print_rounds(play([(f"N = {n}", cpu(n)) for n in (1, 2, 4, 8)]), "ns/byte", decimals=3)
    for readers, all_rates in rates.items():
        print(f"N = {readers}: each reader {statistics.median(all_rates):.2f} GB/s")

    def tee():
        names = " ".join(os.path.join(WORK, f"branch-{i}") for i in range(3))
        return shell(f"mkfifo {names}; for f in {names}; do cat $f >/dev/null & done; "
                     f"cat {path} | tee {names} | cat >/dev/null; wait; rm {names}")

    compare("4 readers, and tee to 4", [("tee to 4", tee), ("sluice, N = 4", lambda: pipeline(path, readers=4)[0])],
            FILE_BYTES, rounds=MOST_SLOW)


def part_messages(_):
    count = 100000 if SMOKE else 48000000
    for size in (64, 256, 1024):
        print(f"\n## messages of {size} bytes through the library, sleeping consumer")

        def rate(program, *arguments, before=()):
            return lambda: run_bench(program, *before, size, count // (size // 64), *arguments)[0]

        print_rounds(play([
            ("sluice", rate("messages")),
            ("bare, 8 x 512 KiB", rate("bare", 8, 512 << 10, before=("messages",))),
            ("bare, 16 x 16 KiB", rate("bare", 16, 16 << 10, before=("messages",))),
        ]), "million a second")


def part_latency(_):
    print("\n## one-way latency of 64 bytes")
    count = 500 if SMOKE else 5000
    names = {"semaphore": "bare semaphore, sleeping", "timed": "the same, 100 ms at most", "sleep": "sluice, sleeping",
             "line": "bare cache line, spinning", "spin": "sluice, spinning"}
    tails = {mode: [] for mode in names}

    def p50(mode):
        def run():
            median, tail = run_bench("latency", mode, count)
            tails[mode].append(tail / median)
            return median / 1000
        return run

    results = play([(names[mode], p50(mode)) for mode in names])
    print_rounds(results, "microseconds, p50", bases={names["spin"]: names["line"], names["line"]: names["line"]},
                 decimals=3)
    for mode, ratios in tails.items():
        print(f"{names[mode]:34} p99 is {statistics.median(ratios):.1f} times p50 "
              f"({min(ratios):.1f} to {max(ratios):.1f})")


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
    kills = 5 if SMOKE else KILLS
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


BRIDGE = bridge.Bench(BIN, SMOKE, compare)
TABLES = formats.Bench(BIN, SMOKE, compare)
ARRAYS = formats_arrays.Bench(BIN, SMOKE)

PARTS = {
    "local": part_local, "geometry": part_geometry, "pipes": part_pipes, "file": part_file,
    "consumers": part_consumers,
    "messages": part_messages, "latency": part_latency, "idle": part_idle,
    "startup": part_startup, "death": part_death, "memory": part_memory,
    "bridge": lambda path: bridge.part_bridge(BRIDGE, path),
    "fan_out": lambda _: bridge.part_fan_out(BRIDGE),
    "csv": lambda _: formats.part_csv(TABLES),
    "csv_memory": lambda _: formats.part_csv_memory(TABLES),
    "npy": lambda _: formats_arrays.part_npy(ARRAYS),
    "mtx": lambda _: formats_arrays.part_mtx(ARRAYS),
    "array_memory": lambda _: formats_arrays.part_array_memory(ARRAYS),
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
        needs_file = {"local", "geometry", "pipes", "consumers", "memory", "bridge"} & set(wanted)
        if needs_file:
            if shutil.disk_usage(WORK).free < FILE_BYTES * 3 // 2:
                raise SystemExit(f"bench: {WORK} has not {FILE_BYTES * 3 // 2 >> 20} MiB free; set TMPDIR")
            make_file(path, FILE_BYTES)
        print(f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}, up to {ROUNDS} round(s) each")
        for part in wanted:
            PARTS[part](path)
    finally:
        shutil.rmtree(WORK)


main()
