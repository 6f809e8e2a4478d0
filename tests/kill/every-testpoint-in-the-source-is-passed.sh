#!/bin/bash
# shellcheck source=tests/lib.sh
. "${0%/*}/../lib.sh"

# In a whole stream, and where a stale ring is removed.
"$tests/kill/scenario.bash" p points >"$dir/passed"
"$tests/kill/scenario.bash" a points >>"$dir/passed"
produce p "$ring" </dev/null
wait_until ring_is_there
signal p KILL
expect p 137
run 3 c1 env SLUICE_TESTPOINT_TRACE="$dir/passed" "$consumer" --wait 0 "$ring"

grep -rhoE 'TESTPOINT\("[^"]+"\)' --include='*.c' --exclude-dir=tests --exclude-dir=build "$root" |
	sed 's/.*"\(.*\)".*/\1/' >"$dir/written"
missed=$(comm -13 <(sort -u "$dir/passed") <(sort -u "$dir/written"))
[ -z "$missed" ] || fail "in the source, but never passed: $missed"
