#!/bin/bash
# shellcheck source=tests/lib.sh
. "${0%/*}/../lib.sh"

for want in TERM/143 INT/130; do
	consume c1 "$ring"
	wait_until sleeps_in c1 poll
	signal c1 "${want%/*}"
	expect c1 "${want#*/}"
	fatal c1 "stopped by signal [0-9]+ \([A-Z][a-z]+\) while waiting for ring \"$ring\"$"
done
