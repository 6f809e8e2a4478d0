#!/bin/bash
# shellcheck source=tests/bridge.bash
. "${0%/*}/../bridge.bash"

need python3
numbers 100000 >"$dir/input"
both="peer\.py 7.*sluice-bridge [0-9]|sluice-bridge [0-9].*peer\.py 7"

# names_both FILE : both versions are in one line of it.
names_both() {
	grep -Eq "$both" "$dir/$1" || fail "$1 does not name both versions: $(cat "$dir/$1")"
}

# ---- at the listening end -------------------------------------------------------

# One who knows more, and demands nothing.
listen r "$ring.m"
consume c --format diag "$ring.m"
peer x "$address" greet 'colour="blue"' 'more={"deep": [1, {"er": b"x"}]}' 'proto=[1, 9]' \
	'features=["resume", "teleport"]'
all_expect 0 x r c
same "$dir/x.out" <(echo complete)
same "$dir/c.out" <(echo '"hello"')
no_ring_named "$ring.m"

# One who demands what is not known, and one who is too new: both versions are
# named at both ends, and the next is welcome.
listen r "$ring.m"
peer x "$address" greet 'required=["teleport"]'
expect x 0
grep -Eq '^refused 4 .*"teleport".*' "$dir/x.out" || fail "not refused: $(cat "$dir/x.out")"
names_both x.out
names_both r.err
peer x "$address" greet 'proto=[2, 3]' 'stream="means something else by then"'
expect x 0
grep -Eq "^refused 4 .*2.*3" "$dir/x.out" || fail "not refused: $(cat "$dir/x.out")"
names_both x.out
grep "protocol" "$dir/r.err" >"$dir/protocol.err" || fail "the protocol is not named"
names_both protocol.err
consume c --format diag "$ring.m"
peer x "$address" greet
all_expect 0 x r c

# Another stream while one is there: not now.
listen r "$ring.m"
consume c "$ring.m"
send s --to "$address"
feed_begin
produce p "$ring" "$dir/feed"
echo something >&"$feed"
wait_until size_is_at_least "$dir/c.out" 5
peer x "$address" greet
expect x 0
grep -q '^refused 3 busy with another stream' "$dir/x.out" || fail "not refused: $(cat "$dir/x.out")"
feed_end
all_expect 0 p s r c
no_ring

# What it has no ring for cannot be taken up.
listen r "$ring.m"
peer x "$address" greet resume=True
expect x 0
grep -q '^refused 1 the stream is not here any more' "$dir/x.out" || fail "not refused: $(cat "$dir/x.out")"

# A HELLO of this version is kept, so that later ones can be asked for it.
peer x "$address" recorded "$tests/helpers/hello-1.cbor"
expect x 0
expect r 1
fatal r "sender 127\.0\.0\.1:[0-9]+ gave up: enough$"

# ---- at the sending end ------------------------------------------------------------

# says CODE PATTERN WHAT... : a sender comes to such a peer.
says() {
	local code=$1 pattern=$2

	shift 2
	peer x listen "$@"
	address_of x
	send s --to "$address" --retry 300ms
	produce p "$ring" "$dir/input"
	expect s "$code"
	fatal s "destination $address: .*$pattern"
	expect p 1
	expect x 0
	no_ring
}

says 4 "\"teleport\"" welcomes 'required=["teleport"]'
names_both s.err
names_both x.out
says 4 "protocol" welcomes 'proto=2'
names_both s.err
names_both x.out
says 4 "bad WELCOME" welcomes 'head="x"'
says 4 "wants to go on at byte 77, which is not here" welcomes head=77
says 4 "not a bridge but an HTTP server" answers 'HTTP/1.1 400 Bad Request\r\n\r\n'
says 4 "not a bridge but something else" answers '220 mail ESMTP\r\n'
says 4 "greeting of 4294967295 bytes" answers 'SLUICE\r\n\xff\xff\xff\xff'
says 4 "refused: no thank you" refuses 4 "no thank you"
says 1 "refused: no thank you" refuses 143 "no thank you"
# That one passes; the peer is gone by the next attempt.
says 3 "no connection for 0\.3 s" refuses 3 "not now"
said s "refused: not now; trying for up to 0\.3 s$" || fail "the first refusal is not told"
says 4 "acknowledged byte 1152921504606846976, which was not sent" says_after_ready A $((1 << 60))
says 4 "complete before the end" says_after_ready O 0 '{"code": 0, "text": ""}'
says 1 "the dog ate it" says_after_ready O 0 '{"code": 5, "text": "the dog ate it"}'
