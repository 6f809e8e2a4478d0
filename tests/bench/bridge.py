"""The bridge's benchmarks; run.py calls them.

Peers get their best settings, and carry the same file between the same
processes: read from the page cache at one end, discarded at the other.
"""
import os
import shutil
import socket
import statistics
import subprocess
import tempfile
import time


class Bench:
    """What run.py knows: where the programs are, how much to do, and how to compare."""

    def __init__(self, binaries, smoke, compare):
        self.compare = compare
        self.bridge = os.path.join(binaries, "sluice-bridge")
        self.producer = os.path.join(binaries, "sluice-producer")
        self.consumer = os.path.join(binaries, "sluice-consumer")
        self.bare = os.path.join(binaries, "bench", "bare")
        self.fan_out = os.path.join(binaries, "bench", "fan_out")
        self.rounds = 1 if smoke else 3
        self.events = 200 if smoke else 20000
        self.fans = (1, 2) if smoke else (1, 2, 5, 10, 20)
        self.counter = 0

    def ring(self):
        self.counter += 1
        return f"bench-{os.getpid()}-b{self.counter}"


def check(process):
    if process.wait() != 0:
        raise SystemExit(f"bench: {process.args} exited {process.returncode}")


def cpu_of(process):
    """Wait for a process; its CPU seconds."""
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"bench: {process.args} exited {process.returncode}")
    return usage.ru_utime + usage.ru_stime


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_listening(port):
    """Until somebody listens there, without connecting."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        for family in ("/proc/net/tcp", "/proc/net/tcp6"):
            with open(family, encoding="ascii") as file:
                for line in file:
                    fields = line.split()
                    if fields[1].endswith(f":{port:04X}") and fields[3] == "0A":
                        return
        time.sleep(0.002)
    raise SystemExit(f"bench: nobody listens on port {port}")


def receivers(bench, count, tls=()):
    """Listening bridges with a null consumer each: processes and addresses."""
    processes, addresses = [], []
    for _ in range(count):
        mirror = bench.ring()
        receiver = subprocess.Popen([bench.bridge, *tls, mirror, "--listen", "127.0.0.1:0"],
                                    stdout=subprocess.PIPE, text=True)
        addresses.append(receiver.stdout.readline().strip())
        processes.append(receiver)
        processes.append(subprocess.Popen([bench.consumer, "-f", "null", mirror]))
    return processes, addresses


def carry(bench, path, destinations, tls=()):
    """One file to some destinations; seconds from the producer's start to its exit."""
    ring = bench.ring()
    others, addresses = receivers(bench, destinations, tls)
    to = [word for address in addresses for word in ("--to", address)]
    started = time.monotonic()
    producer = subprocess.Popen([bench.producer, ring, "-n", str(destinations), path])
    sender = subprocess.Popen([bench.bridge, *tls, ring, *to], stderr=subprocess.DEVNULL)
    check(producer)
    took = time.monotonic() - started
    for process in [sender, *others]:
        check(process)
    return took


def listener_and_sender(listen, send, port):
    """A listener's command and a sender's; seconds of the sender's whole life,
    and until the listener has it all."""
    sink = subprocess.Popen(["bash", "-c", listen], stdout=subprocess.DEVNULL,
                            stderr=subprocess.DEVNULL)
    wait_listening(port)
    started = time.monotonic()
    check(subprocess.Popen(["bash", "-c", send], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
    sink.wait()
    return time.monotonic() - started


def socat(path):
    port = free_port()
    return listener_and_sender(f"socat -u -b1048576 TCP-LISTEN:{port},reuseaddr - >/dev/null",
                               f"socat -u -b1048576 FILE:{path} TCP:127.0.0.1:{port}", port)


def netcat(path):
    port = free_port()
    return listener_and_sender(f"nc -l 127.0.0.1 {port} >/dev/null",
                               f"nc -N 127.0.0.1 {port} < {path}", port)


def mbuffer(path, destinations):
    ports = [free_port() for _ in range(destinations)]
    sinks = [subprocess.Popen(["bash", "-c", f"mbuffer -q -4 -I {port} -s 1M -m 16M >/dev/null"],
                              stderr=subprocess.DEVNULL) for port in ports]
    for port in ports:
        wait_listening(port)
    outputs = " ".join(f"-O 127.0.0.1:{port}" for port in ports)
    started = time.monotonic()
    check(subprocess.Popen(["bash", "-c", f"mbuffer -q -4 -s 1M -m 16M -i {path} {outputs}"],
                           stderr=subprocess.DEVNULL))
    for sink in sinks:
        sink.wait()
    return time.monotonic() - started


def iperf(size, streams):
    """No file: from memory to nowhere.  The same congestion control as ours: the
    system's own."""
    port = free_port()
    return listener_and_sender(f"iperf3 -s -1 -p {port}",
                               f"iperf3 -c 127.0.0.1 -p {port} -l 1M -n {size * streams} -P {streams}", port)


def bare(bench, path, digest):
    """The same processes with nothing checked but what TCP checks; with digest, hashing
    what Sluice hashes."""
    started = time.monotonic()
    check(subprocess.Popen([bench.bare, "carry", path, "8", str(512 << 10), str(digest)]))
    return time.monotonic() - started


def certificates(folder):
    """An authority and one certificate for both ends; their options."""
    script = (
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=ca"
        " -keyout ca.key -out ca.pem && "
        "openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=bench"
        " -keyout key.pem -out csr.pem && "
        "printf 'subjectAltName=IP:127.0.0.1\\n' > ext && "
        "openssl x509 -req -in csr.pem -CA ca.pem -CAkey ca.key -CAcreateserial -days 2"
        " -extfile ext -out cert.pem")
    subprocess.run(["bash", "-c", script], cwd=folder, check=True, stderr=subprocess.DEVNULL,
                   stdout=subprocess.DEVNULL)
    return ("--tls-cert", f"{folder}/cert.pem", "--tls-key", f"{folder}/key.pem",
            "--tls-ca", f"{folder}/ca.pem")


def openssl_bulk(folder, path):
    """The same file through openssl's own client and server, TLS 1.3."""
    port = free_port()
    server = subprocess.Popen(
        ["openssl", "s_server", "-quiet", "-naccept", "1", "-accept", str(port), "-tls1_3",
         "-cert", f"{folder}/cert.pem", "-key", f"{folder}/key.pem"],
        stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_listening(port)
    started = time.monotonic()
    with open(path, "rb") as file:
        check(subprocess.Popen(["openssl", "s_client", "-nocommands", "-connect", f"127.0.0.1:{port}",
                                "-tls1_3"], stdin=file, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL))
    server.wait()
    server.stdin.close()
    return time.monotonic() - started


def part_bridge(bench, path):
    size = os.path.getsize(path)
    have = {name: shutil.which(name) is not None
            for name in ("iperf3", "socat", "nc", "mbuffer", "openssl")}
    for name, there in have.items():
        if not there:
            print(f"({name} is not installed)")
    one = [("iperf3, no file", lambda: iperf(size, 1))] if have["iperf3"] else []
    one.append(("sluice, 1 destination", lambda: carry(bench, path, 1)))
    one.append(("bare, 4 processes", lambda: bare(bench, path, 0)))
    one.append(("bare, each hashes", lambda: bare(bench, path, 1)))
    if have["socat"]:
        one.append(("socat -b1M", lambda: socat(path)))
    if have["nc"]:
        one.append(("nc", lambda: netcat(path)))
    if have["mbuffer"]:
        one.append(("mbuffer -O", lambda: mbuffer(path, 1)))
    bench.compare("a cached file over TCP on loopback", one, size)

    four = [("iperf3 -P 4, no file (total)", lambda: iperf(size, 4))] if have["iperf3"] else []
    four.append(("sluice, 4 destinations (total)", lambda: carry(bench, path, 4)))
    if have["mbuffer"]:
        four.append(("mbuffer -O, 4 times (total)", lambda: mbuffer(path, 4)))
    bench.compare("the same to four", four, 4 * size)

    if not have["openssl"]:
        return
    with tempfile.TemporaryDirectory() as folder:
        tls = certificates(folder)
        bench.compare("the same with TLS 1.3", [
            ("openssl s_client to s_server", lambda: openssl_bulk(folder, path)),
            ("sluice, TLS", lambda: carry(bench, path, 1, tls)),
        ], size)


def fan_each(bench, count):
    """CPU ns per event: all of it, and encoding alone."""
    sink = subprocess.Popen([bench.fan_out, "sink", str(count)], stdout=subprocess.PIPE, text=True)
    port = sink.stdout.readline().strip()
    output = subprocess.run([bench.fan_out, "each", str(bench.events), *[port] * count],
                            stdout=subprocess.PIPE, text=True, check=True).stdout
    check(sink)
    return [int(word) for word in output.split()]


def fan_once(bench, count):
    """CPU ns per event: of publishing, and of the bridge that sends them."""
    others, addresses = receivers(bench, count)
    publisher = subprocess.Popen([bench.fan_out, "once", str(bench.events), str(count)],
                                 stdout=subprocess.PIPE, text=True)
    ring = publisher.stdout.readline().strip()
    to = [word for address in addresses for word in ("--to", address)]
    sender = subprocess.Popen([bench.bridge, ring, *to], stderr=subprocess.DEVNULL)
    publishing = int(publisher.stdout.readline().split()[0])
    sending = cpu_of(sender) / bench.events * 1e9
    check(publisher)
    for process in others:
        check(process)
    return publishing, sending


def part_fan_out(bench):
    print("\n## an event of 4 KB with 50 header entries, to N destinations: CPU ns for each event")
    print("each: a publisher that encodes for each destination, and sends to it")
    print("once: a publisher that encodes into the ring; the bridge sends")
    print(f"{'N':>4}{'each, encoding':>16}{'with sending':>14}{'once':>8}{'the bridge':>12}"
          "   ratio of: encoding   publishers   all CPU")
    for count in bench.fans:
        each, once = [], []
        for _ in range(bench.rounds):
            each.append(fan_each(bench, count))
            once.append(fan_once(bench, count))
        total, encoding = (statistics.median(column) for column in zip(*each))
        publishing, sending = (statistics.median(column) for column in zip(*once))
        print(f"{count:4d}{encoding:16.0f}{total:14.0f}{publishing:8.0f}{sending:12.0f}"
              f"{'':12}{encoding / publishing:8.1f}{total / publishing:13.1f}"
              f"{total / (publishing + sending):10.2f}")
