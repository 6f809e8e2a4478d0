#!/bin/bash
# shellcheck source=tests/lib.sh
. "${0%/*}/../lib.sh"

feed_begin
for want in TERM/143 INT/130; do
	consume c1 --output "$dir/result" "$ring"
	consume c2 "$ring"
	produce p -n 2 "$ring" <"$dir/feed"
	echo something >&"$feed"
	wait_until size_is_at_least "$dir/c2.out" 10
	wait_until sleeps_in c1 futex
	signal c1 "${want%/*}"
	expect c1 "${want#*/}"
	fatal c1 "stopped by signal"
	no_file "$dir/result"
	signal c2 "${want%/*}"
	expect c2 "${want#*/}"
	# Nobody is left: it does not sleep in read(2) for ever.
	expect p 1
	fatal p "no required consumer is left"
	no_ring
done
