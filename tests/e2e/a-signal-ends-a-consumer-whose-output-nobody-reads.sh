#!/bin/bash
# shellcheck source=tests/lib.sh
. "${0%/*}/../lib.sh"

numbers 5000000 >"$dir/input"
unread_begin
for want in TERM/143 INT/130; do
	to=$dir/unread consume c1 "$ring"
	consume c2 "$ring"
	produce p -n 2 --slots 2 --slot-size 64K "$ring" "$dir/input"
	wait_until sleeps_in c1 pipe_
	wait_until sleeps_in p futex
	signal c1 "${want%/*}"
	expect c1 "${want#*/}"
	fatal c1 "ring \"$ring\": stopped by signal [0-9]+ \([A-Z][a-z]+\) at message 0, byte [0-9]+$"
	expect p 1
	said p "warning: .*failed with exit code ${want#*/}$" || fail "the producer did not name it"
	fatal p "not every required consumer completed it"
	expect c2 0
	same "$dir/c2.out" "$dir/input"
	no_ring
done
