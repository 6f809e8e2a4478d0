#!/bin/bash
# shellcheck source=tests/bridge.bash
. "${0%/*}/../bridge.bash"

# A stream that waits for more, and has come through as far as it goes.
begin() {
	feed_begin
	listen r "$ring.m" --retry 1500ms
	consume c "$ring.m"
	send s --to "$address" --retry 1500ms
	produce p "$ring" "$dir/feed"
	numbers 200000 >&"$feed"
	wait_until size_is_at_least "$dir/c.out" 200000
	begun=${EPOCHREALTIME/./}
}

within() {
	local took=$((${EPOCHREALTIME/./} - begun))

	# Not before the time is over, and not much later.
	[ "$took" -ge "$1" ] || fail "already after $took us"
	[ "$took" -lt "$2" ] || fail "only after $took us"
}

finish() {
	feed_end
	rm "$dir/feed"
	numbers 200000 | cmp - "$dir/c.out" || fail "not what was sent"
	no_ring
	no_ring_named "$ring.m"
}

# The receiver: its consumers wait for another as long as it said.
begin
signal r KILL
expect r 137
wait_until said c "warning: ring \"$ring\.m\": its bridge was killed; waiting for it to come back$"
expect c 1
within 1400000 10000000
fatal c "killed"
expect s 1
fatal s "destination $address: no connection for 1\.5 s: cannot connect: Connection refused$"
expect p 1
finish

# The sender.
begin
signal s KILL
expect s 137
expect r 1
within 1400000 10000000
fatal r "ring \"$ring\.m\": the sender did not come back within 1\.5 s, at byte [0-9]+$"
expect c 1
fatal c "the producer aborted"
expect p 1
said p "consumer \"$address\" .*(died|killed)" || fail "the producer does not say who died"
finish

# The producer: that is known at once, everywhere.
begin
signal p KILL
expect p 137
all_expect 1 s r c
within 0 1400000
fatal s "the producer was killed"
fatal r "ring \"$ring\.m\": the producer was killed \(exit code 1\)$"
fatal c .
finish
