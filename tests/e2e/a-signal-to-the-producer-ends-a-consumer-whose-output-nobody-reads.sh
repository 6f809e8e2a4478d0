#!/bin/bash
# shellcheck source=tests/lib.sh
. "${0%/*}/../lib.sh"

numbers 5000000 >"$dir/input"
unread_begin
for want in TERM/143 INT/130; do
	to=$dir/unread consume c1 "$ring"
	produce p --slots 2 --slot-size 64K "$ring" "$dir/input"
	wait_until sleeps_in c1 pipe_
	wait_until sleeps_in p futex
	signal p "${want%/*}"
	expect p "${want#*/}"
	fatal p "stopped by signal"
	expect c1 1
	fatal c1 "the producer aborted at message 0, byte [0-9]+ \(exit code ${want#*/}, stopped by signal"
	no_ring
done
