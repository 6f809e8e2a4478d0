#!/bin/bash
# shellcheck source=tests/lib.sh
. "${0%/*}/../lib.sh"

{
	echo '{"good":1}'
	echo '{"bad":tru}'
	echo '[2,'
	echo '"good"'
	echo '"bad: '$'\377''"'
	printf '["%s' "$(numbers 3000000 | tr '\n' ' ')"
	echo '"}'
	echo '{"good":4}'
} >"$dir/input"
consume c1 --summary "$dir/c1.json" "$ring"
consume c2 --format null "$ring"
run 1 p "$producer" -n 2 --format json --skip-bad --slots 2 --slot-size 64K --summary "$dir/p.json" \
	"$ring" "$dir/input"
fatal p "not every required consumer completed it"
[ "$(grep -Ec "^sluice-producer: warning: cannot parse $dir/input: line [0-9]+, column [0-9]+: .*; skipped$" "$dir/p.err")" = \
	"$(jq .bad_records "$dir/p.json")" ] || fail "not every bad record was named"
# The long one was partly sent, and given up.
expect c1 1
fatal c1 "the producer gave up 1 message"
said c1 "warning: .*gave up message [0-9]+ at byte [0-9]+: " || fail "not told which"
expect c2 1
[ "$(jq .failed_messages "$dir/c1.json")" = 1 ] || fail "not counted"
grep -v 123 "$dir/c1.out" >"$dir/good"
printf '{"good":1}\n{"good":4}\n' >"$dir/least"
grep -Fxf "$dir/least" "$dir/good" | cmp - "$dir/least" || fail "not the good ones: $(cat "$dir/good")"
no_ring

# Short ones leave no trace.
printf '[1]\n[2\n[3]\n{"a":tru}\n[4]\n' >"$dir/input"
consume c1 "$ring"
run 1 p "$producer" --format json --skip-bad "$ring" "$dir/input"
expect c1 0
fatal p "[0-9]+ bad records were skipped$"
grep -qx '\[1\]' "$dir/c1.out" || fail "[1] is missing"
grep -qx '\[4\]' "$dir/c1.out" || fail "[4] is missing"
silent c1
no_ring
