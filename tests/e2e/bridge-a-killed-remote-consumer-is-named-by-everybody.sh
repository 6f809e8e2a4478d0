#!/bin/bash
# shellcheck source=tests/bridge.bash
. "${0%/*}/../bridge.bash"

# Killed while data flows, and while everybody waits for its result.
for when in early late; do
	listen r "$ring.m"
	consume c --name victim "$ring.m"
	send s --to "$address"
	feed_begin
	produce p "$ring" <"$dir/feed"
	numbers 100000 >&"$feed"
	wait_until mirror_has "$ring.m" 100000
	stop c
	if [ "$when" = late ]; then
		feed_end
		wait_until sleeps_in p futex
	fi
	signal c KILL
	expect c 137
	expect r 1
	fatal r "consumer \"victim\" \(pid [0-9]+\) died"
	expect s 1
	fatal s "destination $address: .*ring \"$ring\.m\": consumer \"victim\" \(pid [0-9]+\) died"
	expect p 1
	fatal p .
	said p "consumer \"$address\" \(pid [0-9]+\) failed with exit code 1" ||
		fail "the producer does not name the destination"
	[ "$when" = late ] || feed_end
	rm "$dir/feed"
	no_ring
done
