#!/bin/bash
# shellcheck source=tests/bridge.bash
. "${0%/*}/../bridge.bash"

need python3
numbers 200000 >"$dir/input"

# lines_of N : so many warnings of connections so far.
lines_of() {
	[ "$(grep -c '^sluice-bridge: warning: connection from 127\.0\.0\.1:[0-9]*: ' "$dir/r.err")" = "$1" ]
}

# stranger PATTERN WHAT... : is turned away with a line that says PATTERN.
seen=0
stranger() {
	local pattern=$1

	shift
	run 0 x python3 "$tests/helpers/peer.py" "$address" "$@"
	seen=$((seen + ${times:-1}))
	wait_until lines_of "$seen"
	tail -n 1 "$dir/r.err" | grep -Eq "$pattern" || fail "$*: not said: $pattern"
}

listen r "$ring.m"
consume c "$ring.m"
stranger "not a bridge but an HTTP client$" says 'GET / HTTP/1.0\r\nHost: x\r\n\r\n'
stranger "not a bridge but a TLS client$" tls
stranger "not a bridge but something else$" says 'SSH-2.0-OpenSSH_9.2\r\n'
stranger "not a bridge but" random
stranger "not a bridge but" says '\0'
stranger "greeting of 4294967295 bytes" says 'SLUICE\r\n\xff\xff\xff\xff'
stranger "greeting of 4097 bytes" says 'SLUICE\r\n\0\0\x10\x01'
stranger "greeting of 0 bytes" says 'SLUICE\r\n\0\0\0\0'
times=30 stranger "closed before its greeting$" knock 30

# A map that is none is refused in words, which is a line, too.
for bad in 'SLUICE\r\n\0\0\0\x01\x01' 'SLUICE\r\n\0\0\0\x02\xbf\xff' 'SLUICE\r\n\0\0\0\x03\xa1\x61\x78' \
	'SLUICE\r\n\0\0\0\x08\xbb\xff\xff\xff\xff\xff\xff\xff\xff'; do
	run 0 x python3 "$tests/helpers/peer.py" "$address" says "$bad"
	wait_until said r "refused: bad HELLO: "
done

# None of it came to a ring, and the next is a good one.
no_ring_named "$ring.m"
send s --to "$address"
run 0 p "$producer" "$ring" "$dir/input"
all_expect 0 s r c
same "$dir/c.out" "$dir/input"
no_ring
