#!/bin/bash
# shellcheck source=tests/lib.sh
. "${0%/*}/../lib.sh"

for want in TERM/143 INT/130; do
	consume c1 "$ring"
	feed_begin
	produce p "$ring" <"$dir/feed"
	echo something >&"$feed"
	wait_until size_is_at_least "$dir/c1.out" 10
	stop c1
	feed_end
	rm "$dir/feed"
	wait_until sleeps_in p futex
	signal p "${want%/*}"
	expect p "${want#*/}"
	fatal p "stopped by signal"
	no_ring
	# All of it was sent, and the consumer has all of it.
	signal c1 CONT
	expect c1 0
	[ "$(cat "$dir/c1.out")" = something ] || fail "wrong output"
done
