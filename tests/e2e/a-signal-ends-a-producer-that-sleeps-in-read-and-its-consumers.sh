#!/bin/bash
# shellcheck source=tests/lib.sh
. "${0%/*}/../lib.sh"

feed_begin
for want in TERM/143 INT/130; do
	consume c1 "$ring"
	consume c2 --output "$dir/result" "$ring"
	produce p -n 2 "$ring" <"$dir/feed"
	echo something >&"$feed"
	wait_until size_is_at_least "$dir/c1.out" 10
	wait_until sleeps_in p pipe_
	signal p "${want%/*}"
	expect p "${want#*/}"
	fatal p "ring \"$ring\": stopped by signal [0-9]+ \([A-Z][a-z]+\) at message 0, byte [0-9]+$"
	for i in 1 2; do
		expect "c$i" 1
		fatal "c$i" "the producer aborted at message 0, byte [0-9]+ \(exit code ${want#*/}, stopped by signal [0-9]+\)"
	done
	no_file "$dir/result"
	no_ring
done
