#!/bin/bash
# shellcheck source=tests/lib.sh
. "${0%/*}/../lib.sh"

# In a whole stream, through a bridge, and where a stale ring is removed.
"$tests/kill/scenario.bash" p points >"$dir/passed"
"$tests/kill/scenario.bash" a points >>"$dir/passed"
for end in s r S R; do
	"$tests/kill/bridge-scenario.bash" "$end" points >>"$dir/passed" 2>"$dir/killed"
done
produce p "$ring" </dev/null
wait_until ring_is_there
signal p KILL
expect p 137
run 3 c1 env SLUICE_TESTPOINT_TRACE="$dir/passed" "$consumer" --wait 0 "$ring"

# And where a writer and its reader are replaced.
helper heirs
export SLUICE_TESTPOINT_TRACE=$dir/passed
start w "$helper" write "$ring"
start r "$helper" read "$ring"
wait_until size_is_at_least "$dir/r.out" 5
signal r KILL
expect r 137
start r "$helper" again "$ring"
wait_until grep -qx takeover_active "$dir/passed"
signal w KILL
expect w 137
run 0 w "$helper" heir "$ring"
expect r 0

grep -rhoE 'TESTPOINT\("[^"]+"\)' --include='*.c' --exclude-dir=tests --exclude-dir=build "$root" |
	sed 's/.*"\(.*\)".*/\1/' >"$dir/written"
missed=$(comm -13 <(sort -u "$dir/passed") <(sort -u "$dir/written"))
[ -z "$missed" ] || fail "in the source, but never passed: $missed"
