#!/usr/bin/env python3
"""A TCP proxy that does harm: proxy.py HOST:PORT [HARM]...

Prints the address at which it listens, then a line for each harm done.  A harm
is of one connection; the first is of the first, and so on; later ones pass
unharmed.  BYTE counts what the client sent on that connection.

  reset:BYTE    both sides are reset
  close:BYTE    both sides are closed in good order
  flip:BYTE     one bit of that byte changes
  back:BYTE     one bit of that byte of what the server says changes
  stall:BYTE    nothing passes any more, until SIGUSR1
"""
import selectors, signal, socket, struct, sys

host, port = sys.argv[1].rsplit(":", 1)
harms = [(kind, int(at)) for kind, at in (harm.split(":") for harm in sys.argv[2:])]
listener = socket.create_server(("127.0.0.1", 0))
print("127.0.0.1:%d" % listener.getsockname()[1], flush=True)
selector = selectors.DefaultSelector()
selector.register(listener, selectors.EVENT_READ, None)
stalled = []
ways = {}                          # of those that are stalled, by source

class Way:
    """One direction of a connection."""
    def __init__(self, pair, source, target, harm):
        self.pair, self.source, self.target, self.harm = pair, source, target, harm
        self.passed = 0

    def close(self, reset):
        for end in self.pair:
            if reset:
                end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            if end.fileno() >= 0 and end in selector.get_map():
                selector.unregister(end)
            end.close()

    def carry(self):
        try:
            data = self.source.recv(65536)
            if not data:
                self.close(False)
                return
            kind, at = self.harm or (None, 0)
            here = at - self.passed
            if kind and 0 <= here < len(data):
                self.harm = None
                print(kind, flush=True)
                if kind in ("flip", "back"):
                    data = data[:here] + bytes([data[here] ^ 4]) + data[here + 1:]
                else:
                    self.target.sendall(data[:here])
                    if kind == "stall":
                        stalled.append((self, data[here:]))
                        for end in self.pair:
                            ways[end] = selector.unregister(end).data
                    else:
                        self.close(kind == "reset")
                    return
            self.target.sendall(data)
            self.passed += len(data)
        except (ConnectionError, OSError):
            self.close(True)

def mend(*_):
    while stalled:
        way, rest = stalled.pop()
        try:
            way.target.sendall(rest)
            way.passed += len(rest)
            for end in way.pair:
                selector.register(end, selectors.EVENT_READ, ways.pop(end))
        except OSError:
            way.close(True)

signal.signal(signal.SIGUSR1, mend)
while True:
    for key, _ in selector.select():
        if key.data:
            if key.fileobj.fileno() >= 0:
                key.data.carry()
            continue
        client, _ = listener.accept()
        try:
            server = socket.create_connection((host, int(port)))
        except OSError:
            client.close()
            continue
        harm = harms.pop(0) if harms else None
        back = harm if harm and harm[0] == "back" else None
        pair = (client, server)
        selector.register(client, selectors.EVENT_READ, Way(pair, client, server, None if back else harm))
        selector.register(server, selectors.EVENT_READ, Way(pair, server, client, back))
