#!/bin/bash
# shellcheck source=tests/bridge.bash
. "${0%/*}/../bridge.bash"

numbers 400000 >"$dir/input"

# Within this time everybody must be gone, from the signal on.
begin() {
	begun=${EPOCHREALTIME/./}
}

within_two_seconds() {
	local took=$((${EPOCHREALTIME/./} - begun))

	# A busy machine may have one more.
	[ "$took" -lt 3000000 ] || fail "$1: it took $took us"
}

# play WHO SIGNAL CODE WHEN : idle: data is awaited; full: the consumer's output is
# not read, and the rings are full.
play() {
	local who=$1 code=$3 when=$4

	feed_begin
	listen r "$ring.m"
	if [ "$when" = full ]; then
		unread_begin
		to=$dir/unread consume c "$ring.m"
	else
		consume c "$ring.m"
	fi
	send s --to "$address"
	produce p "${small[@]}" "$ring" "$dir/feed"
	if [ "$when" = full ]; then
		to=$dir/feed start feeder seq 1000000000
		wait_until sleeps_in feeder pipe_
		wait_until mirror_has "$ring.m" $((4 * 65536))
		wait_until sleeps_in feeder pipe_
	else
		cat "$dir/input" >&"$feed"
		wait_until mirror_has "$ring.m" 400000
	fi
	begin
	signal "$who" "$2"
	expect "$who" "$code"
	fatal "$who" "stopped by signal"
	# Each is the last that the next waits for.
	case $who in
	s) all_expect 1 r c p ;;
	r) all_expect 1 s c p ;;
	p) all_expect 1 s r c ;;
	esac
	within_two_seconds "$*"
	for name in s r c p; do
		fatal "$name" .
	done
	feed_end
	if [ "$when" = full ]; then
		exec {unread}>&-
		rm "$dir/unread"
		ended_with feeder
	fi
	rm "$dir/feed"
	no_ring
	no_ring_named "$ring.m"
}

play s TERM 143 idle
play r TERM 143 idle
play p TERM 143 idle
play s INT 130 idle
play r INT 130 idle
play s TERM 143 full
play r TERM 143 full
play p TERM 143 full
