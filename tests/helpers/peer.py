#!/usr/bin/env python3
"""Somebody at the other end of a bridge, who may be anybody:

  peer.py HOST:PORT WHAT [ARGUMENT]...     connects
  peer.py listen WHAT [ARGUMENT]...        listens; prints the address

Each WHAT is a function below.  Written from docs/protocol.md, so that it is also
another implementation.  Exit status 1 and a line: it was not as expected.
"""
import ctypes, os, select, socket, struct, sys, time

xxh = ctypes.CDLL("libxxhash.so.0")
xxh.XXH3_64bits.restype = xxh.XXH3_64bits_withSeed.restype = ctypes.c_uint64
xxh.XXH3_64bits_withSeed.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint64]
xxh.XXH3_64bits.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
STREAM = bytes(range(16))

def fail(text):
    sys.exit("peer: " + text)

# ---- CBOR: numbers, texts, bytes, lists, maps, booleans -----------------------

def encode(value):
    def head(major, n):
        for size, code, top in ((0, n, 24), (1, 24, 1 << 8), (2, 25, 1 << 16), (4, 26, 1 << 32), (8, 27, 1 << 64)):
            if n < top:
                return bytes([major << 5 | code]) + (n.to_bytes(size, "big") if size else b"")
    if isinstance(value, bool):
        return b"\xf5" if value else b"\xf4"
    if isinstance(value, int):
        return head(0, value)
    if isinstance(value, str):
        return head(3, len(value.encode())) + value.encode()
    if isinstance(value, bytes):
        return head(2, len(value)) + value
    if isinstance(value, list):
        return head(4, len(value)) + b"".join(map(encode, value))
    return head(5, len(value)) + b"".join(encode(k) + encode(v) for k, v in value.items())

def decode(data, at=0):
    """A value, and where it ends."""
    major, n = data[at] >> 5, data[at] & 31
    at += 1
    if major == 7:
        return n == 21, at
    if n >= 24:
        size = 1 << n - 24
        n, at = int.from_bytes(data[at:at + size], "big"), at + size
    if major == 0:
        return n, at
    if major in (2, 3):
        piece = data[at:at + n]
        return piece if major == 2 else piece.decode(), at + n
    items = []
    for _ in range(n * (2 if major == 5 else 1)):
        item, at = decode(data, at)
        items.append(item)
    return (items if major == 4 else dict(zip(items[::2], items[1::2]))), at

# ---- greetings and records -------------------------------------------------------

def greeting(body):
    body = body if isinstance(body, bytes) else encode(body)
    return b"SLUICE\r\n" + struct.pack(">I", len(body)) + body

def hello(**change):
    return {"proto": [1, 1], "software": "peer.py 7", "features": ["resume"], "required": [],
            "stream": STREAM, "slot_size": 65536, "slots": 4, "start": 0, "resume": False,
            "retry_ms": 1000, **change}

def welcome(**change):
    return {"proto": 1, "software": "peer.py 7", "features": ["resume"], "required": [],
            "head": 0, "ring": "nowhere", **change}

def record(kind, position=0, payload=b"", spoil=0, length=None):
    seeding = kind.encode() + bytes(3) + struct.pack(">IQ", len(payload) if length is None else length, position)
    check = xxh.XXH3_64bits_withSeed(payload, len(payload), xxh.XXH3_64bits(seeding, 16))
    return seeding + struct.pack(">Q", check ^ spoil) + payload

class Gone(Exception):
    pass

def take(s, count):
    data = b""
    while len(data) < count:
        try:
            piece = s.recv(count - len(data))
        except ConnectionError:
            piece = b""
        if not piece:
            raise Gone
        data += piece
    return data

def take_greeting(s):
    preamble = take(s, 12)
    if preamble[:8] != b"SLUICE\r\n":
        fail("not a preamble: %r" % preamble)
    return decode(take(s, struct.unpack(">I", preamble[8:])[0]))[0]

def take_record(s, *kinds):
    """The next record of one of these kinds; ACKs are passed over."""
    while True:
        head = take(s, 24)
        length, position, _ = struct.unpack(">IQQ", head[4:])
        payload = take(s, length)
        if record(head[:1].decode(), position, payload)[:24] != head:
            fail("a record with a bad check")
        kind = head[:1].decode()
        if kind in kinds:
            return kind, position, decode(payload)[0] if payload else None
        if kind != "A":
            fail("a record of kind %s %r instead of %s" % (kind, payload, kinds))

def connect():
    host, port = sys.argv[1].rsplit(":", 1)
    s = socket.create_connection((host, int(port)))
    s.settimeout(20)
    return s

def closed(s):
    """It closes, whatever it says before."""
    try:
        while s.recv(4096):
            pass
    except ConnectionError:
        pass

# One whole message: the text "hello".
MESSAGE = b"WD" + struct.pack(">I", 6) + b"\x65hello"

def complete(s, head):
    """Send what is missing of MESSAGE, and hear the outcome."""
    take_record(s, "R")
    if head < len(MESSAGE):
        s.sendall(record("D", head, MESSAGE[head:]))
    s.sendall(record("E", len(MESSAGE), encode({"end": 1, "code": 0, "text": ""})))
    outcome = take_record(s, "O")[2]
    if outcome["code"] != 0:
        fail("outcome %r" % outcome)
    s.sendall(record("Q"))
    closed(s)

# ---- who connects ------------------------------------------------------------------

def says(*pieces):
    """Bytes as they are, with \\escapes; then waits to be turned away."""
    s = connect()
    for piece in pieces:
        s.sendall(piece.encode().decode("unicode_escape").encode("latin-1"))
    closed(s)

def random():
    s = connect()
    try:
        s.sendall(os.urandom(100000))
    except ConnectionError:
        pass
    closed(s)

def tls():
    import ssl
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    try:
        context.wrap_socket(connect())
    except (ssl.SSLError, OSError):
        return
    fail("TLS works")

def knock(count):
    for _ in range(int(count)):
        connect().close()

def hold(count, *said):
    """Stay, and say no more than that; tell when all were turned away."""
    held = [connect() for _ in range(int(count))]
    for s in held:
        s.sendall("".join(said).encode().decode("unicode_escape").encode("latin-1"))
    print("held", flush=True)
    for s in held:
        closed(s)

def drip():
    """A byte of a good greeting at a time, for ever."""
    s = connect()
    print("held", flush=True)
    try:
        for byte in greeting(hello()):
            s.sendall(bytes([byte]))
            if select.select([s], [], [], 0.5)[0]:
                break
    except ConnectionError:
        pass
    closed(s)

def greet(*changes):
    """A HELLO with these changes (KEY=PYTHON), and the stream, if it is welcome.
    Otherwise prints code and text of the refusal."""
    s = connect()
    s.sendall(greeting(hello(**{k: eval(v) for k, v in (c.split("=", 1) for c in changes)})))
    answer = take_greeting(s)
    if "refuse" in answer:
        print("refused %d %s" % (answer["refuse"]["code"], answer["refuse"]["text"]))
        closed(s)
    else:
        complete(s, answer["head"])
        print("complete")

def recorded(path):
    """A HELLO that was recorded."""
    s = connect()
    s.sendall(greeting(open(path, "rb").read()))
    answer = take_greeting(s)
    if "refuse" in answer:
        fail("refused: %r" % answer)
    s.sendall(record("X", 0, encode({"code": 1, "text": "enough"})))
    closed(s)

def evil():
    """Of a good stream, every record that a bridge would not send; each costs a
    connection, and nothing else."""
    size = 65536
    evils = [
        record("D", 0, b"", length=size + 1),
        record("D", 0, b"", length=0xffffffff),
        record("D", 0, b""),
        record("D", 0, MESSAGE, spoil=1),
        record("D", 5, MESSAGE),
        record("D", 1 << 63, MESSAGE),
        record("D", 2 * size, MESSAGE),
        record("D", size - 1, MESSAGE),
        record("E", 1, encode({"end": 1, "code": 0})),
        record("E", 1 << 60, encode({"end": 1, "code": 0})),
        record("E", 0, encode({"end": 3, "code": 0})),
        record("E", 0, b"\xff" * 100),
        record("E", 0, b"x" * 1025),
        record("A", 0), record("R", 0), record("O", 0, encode({"code": 0})), record("Q", 0),
        record("z", 0), b"\0" * 24, b"D\1\0\0" + bytes(20),
        record("P", 0, b"x"),
        os.urandom(4096),
    ]
    for n, bad in enumerate(evils):
        s = connect()
        s.sendall(greeting(hello(resume=n > 0)))
        answer = take_greeting(s)
        if answer.get("head") != 0:
            fail("before %r: %r" % (evils[n - 1][:30], answer))
        take_record(s, "R")
        s.sendall(bad)
        closed(s)
    s = connect()
    s.sendall(greeting(hello(resume=True)))
    complete(s, take_greeting(s)["head"])
    print(len(evils))

# ---- who listens ------------------------------------------------------------------------

def accepted():
    listener = socket.create_server(("127.0.0.1", 0))
    print("127.0.0.1:%d" % listener.getsockname()[1], flush=True)
    s, _ = listener.accept()
    s.settimeout(20)
    return s

def record_hello(path):
    """Keep the HELLO that comes."""
    s = accepted()
    preamble = take(s, 12)
    with open(path, "wb") as f:
        f.write(take(s, struct.unpack(">I", preamble[8:])[0]))

def answers(*pieces):
    """Bytes instead of a WELCOME."""
    s = accepted()
    for piece in pieces:
        s.sendall(piece.encode().decode("unicode_escape").encode("latin-1"))
    closed(s)

def welcomes(*changes):
    """A WELCOME with these changes; prints what the other side says to it."""
    s = accepted()
    take_greeting(s)
    s.sendall(greeting(welcome(**{k: eval(v) for k, v in (c.split("=", 1) for c in changes)})))
    try:
        answer = take_record(s, "X")[2]
        print("refused %d %s" % (answer["code"], answer["text"]))
    except Gone:
        print("closed")

def refuses(code, text):
    s = accepted()
    take_greeting(s)
    s.sendall(greeting({"proto": [1, 1], "software": "peer.py 7",
                        "refuse": {"code": int(code), "text": text}}))
    closed(s)

def says_after_ready(kind, position, *report):
    """READY, and then a record that is not true."""
    s = accepted()
    take_greeting(s)
    s.sendall(greeting(welcome()) + record("R", 0))
    s.sendall(record(kind, int(position), encode(eval(report[0])) if report else b""))
    closed(s)

globals()[sys.argv[2]](*sys.argv[3:])
