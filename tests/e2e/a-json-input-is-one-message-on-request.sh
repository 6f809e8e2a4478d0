#!/bin/bash
# shellcheck source=tests/lib.sh
. "${0%/*}/../lib.sh"

printf '[1\n,\n {"a" : 2}]\n' >"$dir/input"
consume c1 --summary "$dir/c1.json" "$ring"
run 0 p "$producer" --format json --split no "$ring" "$dir/input" "$dir/input"
expect c1 0
printf '[1,{"a":2}]\n[1,{"a":2}]\n' | cmp - "$dir/c1.out" || fail "wrong output"
[ "$(jq .messages "$dir/c1.json")" = 2 ] || fail "not a message for each input"

# A second text is an error then, and so is none.
for bad in '[1]\n[2]\n' '' ' \n'; do
	printf '%b' "$bad" >"$dir/input"
	consume c1 "$ring"
	run 4 p "$producer" --format json --split no "$ring" "$dir/input"
	fatal p "cannot parse $dir/input: line [0-9]+, column [0-9]+: "
	expect c1 1 3
done
no_ring
