#!/bin/bash
# shellcheck source=tests/lib.sh
. "${0%/*}/../lib.sh"

numbers 3000000 >"$dir/input"
for want in TERM/143 INT/130; do
	feed_begin
	consume c1 "$ring"
	produce p --slots 2 --slot-size 64K "$ring" "$dir/feed" "$dir/input"
	echo something >&"$feed"
	wait_until size_is_at_least "$dir/c1.out" 10
	stop c1
	feed_end
	rm "$dir/feed"
	# It has 128 KiB of room, and then waits for the consumer.
	wait_until sleeps_in p futex
	signal p "${want%/*}"
	expect p "${want#*/}"
	fatal p "stopped by signal"
	no_ring
	signal c1 CONT
	expect c1 1
	fatal c1 "the producer aborted at message 1, byte [0-9]+ \(exit code ${want#*/},"
done
