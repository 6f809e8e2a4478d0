#!/bin/bash
# shellcheck source=tests/lib.sh
. "${0%/*}/../lib.sh"

printf '{"good":1}\n[2]\n{"bad":tru}\n[4]\n' >"$dir/input"
consume c1 "$ring"
consume c2 --output "$dir/result" "$ring"
run 4 p "$producer" -n 2 --format json "$ring" "$dir/input"
fatal p "cannot parse $dir/input: line 3, column [0-9]+: "
expect c1 1
expect c2 1
fatal c1 "the producer aborted at message 2, byte [0-9]+ \(exit code 4\)"
printf '{"good":1}\n[2]\n' | cmp - "$dir/c1.out" || fail "not the good ones"
no_file "$dir/result"
no_ring

# One that is too long to be held back: what came of it is no line of its own.
{
	echo '"good"'
	printf '["%s' "$(numbers 3000000 | tr '\n' ' ')"
	echo '"}'
	echo '"never"'
} >"$dir/input"
consume c1 "$ring"
run 4 p "$producer" --format json --slots 2 --slot-size 64K "$ring" "$dir/input"
fatal p "cannot parse $dir/input: line 2, column [0-9]+: "
expect c1 1
said c1 "warning: .*gave up message 1 at byte [0-9]+: line 2, " || fail "not told why"
fatal c1 "the producer aborted at message 2, byte [0-9]+ \(exit code 4\)"
[ "$(head -n 1 "$dir/c1.out")" = '"good"' ] || fail "the good one is not there"
no_ring
