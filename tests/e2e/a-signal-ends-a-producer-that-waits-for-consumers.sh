#!/bin/bash
# shellcheck source=tests/lib.sh
. "${0%/*}/../lib.sh"

for want in TERM/143 INT/130; do
	consume c1 "$ring"
	produce p -n 2 "$ring" "$0"
	wait_until ring_is_there
	wait_until sleeps_in c1 futex
	signal p "${want%/*}"
	expect p "${want#*/}"
	fatal p "stopped by signal"
	expect c1 1
	fatal c1 "the producer aborted at message 0, byte 0 \(exit code ${want#*/}, stopped by signal"
	no_ring
done
