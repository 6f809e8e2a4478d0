#!/usr/bin/env python3
"""bridge_session.py BINDIR - record what two bridges say to each other about a
stream of a few bytes, and print it as docs/protocol.md shows it.

The bridges are real; between them stands a relay at port 7000.  Lines of the
sender begin with ">", of the receiver with "<"; offsets count each side's own
bytes.  It takes the ring names "flights" and "mirror".
"""
import select
import socket
import struct
import subprocess
import sys

PER_LINE = 12
PREAMBLE, HEAD, POSITION, CHECK = 12, 24, 8, 16
NAMES = {"D": "DATA", "E": "END", "P": "PING", "Q": "BYE", "A": "ACK", "R": "READY",
         "O": "OUTCOME", "X": "ERROR"}

# ---- the session ----------------------------------------------------------------


def relay(listener, target):
    """Carry one connection.  Returns what each side sent."""
    sender, _ = listener.accept()
    receiver = socket.create_connection(target)
    said = {sender: b"", receiver: b""}
    other = {sender: receiver, receiver: sender}
    reading = {sender, receiver}
    while reading:
        for side in select.select(list(reading), [], [])[0]:
            piece = side.recv(65536)
            said[side] += piece
            if piece:
                other[side].sendall(piece)
                continue
            reading.discard(side)
            other[side].shutdown(socket.SHUT_WR)
    return said[sender], said[receiver]


def record(bindir):
    """Carry "hello" from one ring to another.  Returns what each bridge said."""
    def start(program, *arguments, **more):
        return subprocess.Popen([f"{bindir}/sluice-{program}", *arguments], **more)

    receiving = start("bridge", "--listen", "127.0.0.1:0", "mirror", stdout=subprocess.PIPE, text=True)
    port = int(receiving.stdout.readline().rsplit(":", 1)[1])
    with socket.create_server(("127.0.0.1", 7000)) as listener:
        running = [
            receiving,
            start("consumer", "mirror", stdout=subprocess.DEVNULL),
            start("bridge", "flights", "--to", "127.0.0.1:7000"),
            start("producer", "--slot-size", "64K", "--slots", "4", "flights", stdin=subprocess.PIPE),
        ]
        running[-1].stdin.write(b"hello")
        running[-1].stdin.close()
        said = relay(listener, ("127.0.0.1", port))
    for program in running:
        if program.wait() != 0:
            sys.exit(f"{program.args} exited with {program.returncode}")
    return said

# ---- CBOR, as much of it as bridges write ------------------------------------------


def item(data, at):
    """The item at `at`, in diagnostic notation, and where it ends."""
    major, small = data[at] >> 5, data[at] & 31
    size = {24: 1, 25: 2, 26: 4, 27: 8}.get(small, 0)
    number = int.from_bytes(data[at + 1:at + 1 + size], "big") if size else small
    at += 1 + size
    if major == 0:
        return str(number), at
    if major == 2:
        return f"h'{data[at:at + number].hex()}'", at + number
    if major == 3:
        return f'"{data[at:at + number].decode()}"', at + number
    if major == 4:
        parts = []
        for _ in range(number):
            part, at = item(data, at)
            parts.append(part)
        return "[" + ", ".join(parts) + "]", at
    return {20: "false", 21: "true"}[number], at


def map_lines(data):
    """The pieces of a map: its head, then each key with its value."""
    yield data[:1], f"a map of {data[0] & 31}"
    at = 1
    while at < len(data):
        key, middle = item(data, at)
        value, end = item(data, middle)
        yield data[at:end], f"{key}: {value}"
        at = end

# ---- showing --------------------------------------------------------------------------


def greeting_lines(data):
    yield data[:8], '"SLUICE" CR LF'
    yield data[8:PREAMBLE], f"a map of {len(data) - PREAMBLE} bytes"
    yield from map_lines(data[PREAMBLE:])


def record_lines(data):
    kind, length = chr(data[0]), len(data) - HEAD
    yield data[:POSITION], f"'{kind}' {NAMES[kind]}, {length} bytes"
    yield data[POSITION:CHECK], "position %d" % struct.unpack(">Q", data[POSITION:CHECK])
    yield data[CHECK:HEAD], "check"
    if kind in "EOX":
        yield from map_lines(data[HEAD:])
    elif length > 0:
        yield data[HEAD:], "the stream"


def pieces(said):
    """Greeting and records of one side: what each is, and its bytes."""
    at = PREAMBLE + struct.unpack_from(">I", said, 8)[0]
    yield "greeting", said[:at]
    while at < len(said):
        end = at + HEAD + struct.unpack_from(">I", said, at + 4)[0]
        yield chr(said[at]), said[at:end]
        at = end


def show(direction, offset, lines):
    for data, what in lines:
        for at in range(0, len(data), PER_LINE):
            text = " ".join(f"{byte:02x}" for byte in data[at:at + PER_LINE])
            text = f"{text:<{3 * PER_LINE - 1}}  {what}" if at == 0 else text
            print(f"{direction} {offset:04x} {text}")
            offset += len(data[at:at + PER_LINE])
    return offset


# In the order of the document; which of two sides was first cannot be told from
# what each said.
ORDER = ["> greeting", "< greeting", "< A", "< R", "> D", "> E", "< A", "< O", "> Q"]


def main():
    sides = dict(zip("><", record(sys.argv[1])))
    queues = {side: list(pieces(said)) for side, said in sides.items()}
    said = {side: " ".join(kind for kind, _ in queue) for side, queue in queues.items()}
    for side in "><":
        if said[side] != " ".join(step[2:] for step in ORDER if step[0] == side):
            sys.exit(f"{side} said {said[side]}, which is not the document's order: try again")
    offsets = {">": 0, "<": 0}
    for step in ORDER:
        side, (kind, data) = step[0], queues[step[0]].pop(0)
        lines = greeting_lines(data) if kind == "greeting" else record_lines(data)
        offsets[side] = show(side, offsets[side], lines)


main()
