#!/usr/bin/env python3
"""A reader made from docs/protocol.md alone: attach to RING, copy the byte
strings of its messages to stdout, store a good result."""
import ctypes, fcntl, mmap, os, struct, sys, time

libc = ctypes.CDLL(None, use_errno=True)
xxh = ctypes.CDLL("libxxhash.so.0")
xxh.XXH3_64bits.restype = ctypes.c_uint64
F_OFD_GETLK, F_OFD_SETLK = 36, 37

def flock(kind, byte):
    return struct.pack("hhqqi4x", kind, 0, byte, 1, 0)

def locked(fd, byte):
    return struct.unpack("hhqqi4x", fcntl.fcntl(fd, F_OFD_GETLK, flock(fcntl.F_WRLCK, byte)))[0] != fcntl.F_UNLCK

name = "/dev/shm/sluice." + sys.argv[1]
deadline = time.monotonic() + 20
while True:
    try:
        fd = os.open(name, os.O_RDWR | os.O_CLOEXEC)
        break
    except FileNotFoundError:
        assert time.monotonic() < deadline
        time.sleep(0.01)
head = os.pread(fd, 256, 0)
magic, abi, order, csize, ssize, slot_size, count, shared_at, payload_at, size = struct.unpack_from("=8sIIIIIIQQQ", head)
assert (magic, abi, order, csize, ssize) == (b"SLUICE\r\n", 2, 0x01020304, 1280, 49536)
assert os.fstat(fd).st_size == size == payload_at + slot_size * count
assert locked(fd, 0)
control = mmap.mmap(fd, shared_at, prot=mmap.PROT_READ)
shared = mmap.mmap(fd, payload_at - shared_at, offset=shared_at)
payload = mmap.mmap(fd, slot_size * count, prot=mmap.PROT_READ, offset=payload_at)
shared_address = ctypes.addressof(ctypes.c_char.from_buffer(shared))
u64 = lambda m, at: struct.unpack_from("=Q", m, at)[0]
used = lambda slot: struct.unpack_from("=I", control, 1280 + 4 * (slot % count))[0]
put64 = lambda at, v: ctypes.c_uint64.from_address(shared_address + at).__setattr__("value", v)
post = lambda at: libc.sem_post(ctypes.c_void_p(shared_address + at))

for entry in range(64):
    base = 384 + 768 * entry
    if u64(shared, base) & 0xff:
        continue
    try:
        fcntl.fcntl(fd, F_OFD_SETLK, flock(fcntl.F_WRLCK, 1 + entry))
    except OSError:
        continue
    if u64(shared, base) & 0xff == 0:
        break
word = ((u64(shared, base) >> 8) + 1) << 8 | 1
put64(base + 256, 0)
for at in range(640, 688, 8):
    put64(base + at, 0)
struct.pack_into("=iIQ64s", shared, base + 512, os.getpid(), 0, 0, b"second implementation")
put64(base + 128, u64(control, 256))
put64(base, word)
assert u64(control, 384) == 0
position = u64(control, 256) // slot_size * slot_size
assert position == 0, "too late"
put64(base + 128, position)
put64(base + 640, position)
post(256)

def pieces():
    """What is published, slot by slot."""
    global position
    while True:
        ended = u64(control, 384)
        at = u64(control, 256)
        if at == position:
            if ended:
                assert ended & 0xff == 1, "aborted"
                return
            assert locked(fd, 0), "the writer died"
            time.sleep(0.001)
            continue
        slot, offset = divmod(position, slot_size)
        end = used(slot) if at >= (slot + 1) * slot_size else at - slot * slot_size
        if end > offset:
            start = slot % count * slot_size
            yield payload[start + offset:start + end]
        position = (slot + 1) * slot_size if at >= (slot + 1) * slot_size else slot * slot_size + end
        assert u64(shared, base) == word, "evicted"
        put64(base + 128, position)
        wish = u64(shared, 128)
        if wish & 0xff == entry + 1 and position // slot_size >= wish >> 8:
            put64(128, 0)
            post(256)

def strings(data):
    """The bytes of byte-string tokens."""
    at = 0
    while at < len(data):
        byte = data[at]
        if byte in (0x5f, 0xff):
            at += 1
            continue
        assert byte >> 5 == 2
        info = byte & 31
        extra = {24: 1, 25: 2, 26: 4, 27: 8}.get(info, 0)
        length = int.from_bytes(data[at + 1:at + 1 + extra], "big") if extra else info
        at += 1 + extra
        yield data[at:at + length]
        at += length
        assert at <= len(data)

state, body, whole = None, None, False
for piece in pieces():
    at = 0
    while at < len(piece):
        kind = chr(piece[at])
        if kind in "WC":
            assert state is None
            state, body = kind, []
            at += 1
            continue
        length = int.from_bytes(piece[at + 1:at + 5], "big")
        data = piece[at + 5:at + 5 + length]
        assert len(data) == length
        at += 5 + length
        if kind == "P":
            continue
        assert state is not None
        if kind == "H":
            assert data[0] >> 5 == 5
        elif kind == "D":
            body.append(data)
            for string in strings(data):
                sys.stdout.buffer.write(string)
            if state == "W":
                state = None
        elif kind == "E":
            assert state in "CU" and length == (16 if state == "C" else 8)
            joined = b"".join(body)
            assert int.from_bytes(data[:8], "big") == len(joined)
            if length == 16:
                assert int.from_bytes(data[8:], "big") == xxh.XXH3_64bits(joined, len(joined)), "digest"
            state = None
        else:
            raise SystemExit(f"unknown frame {kind!r}")
assert state is None
sys.stdout.buffer.flush()
put64(base + 256, 256 + 0)
post(256)
