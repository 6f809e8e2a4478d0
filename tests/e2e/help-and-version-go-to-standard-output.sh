#!/bin/bash
# shellcheck source=tests/lib.sh
. "${0%/*}/../lib.sh"

for program in producer consumer; do
	run 0 h "$SLUICE_BIN/sluice-$program" --help
	silent h
	grep -q "^Usage: sluice-$program " "$dir/h.out" || fail "no usage"
	grep -q "^Exit status: 0 complete" "$dir/h.out" || fail "no exit status"
	run 0 v "$SLUICE_BIN/sluice-$program" --version
	silent v
	grep -Eqx "sluice-$program \(Sluice\) [0-9]+\.[0-9]+(\.[0-9]+)?" "$dir/v.out" || fail "no version"
	# A disk that is full is no success.
	to=/dev/full run 5 f "$SLUICE_BIN/sluice-$program" --help
	to=/dev/full run 5 f "$SLUICE_BIN/sluice-$program" --version
done
