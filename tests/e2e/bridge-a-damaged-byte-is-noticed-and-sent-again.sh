#!/bin/bash
# shellcheck source=tests/bridge.bash
. "${0%/*}/../bridge.bash"

need python3 jq
numbers 3000000 >"$dir/input"

# damaged HARM PATTERN : who finds it says PATTERN; all arrives all the same.
damaged() {
	listen r "$ring.m"
	consume c "$ring.m"
	proxy x "$address" "$1" "$1"
	send s --to "$address" --summary "$dir/s.json"
	run 0 p "$producer" "${small[@]}" "$ring" "$dir/input"
	all_expect 0 s r c
	same "$dir/c.out" "$dir/input"
	[ "$(wc -l <"$dir/x.out")" = 3 ] || fail "no harm was done"
	tells s '.destinations[0].reconnects == 2'
	cat "$dir/s.err" "$dir/r.err" >"$dir/both.err"
	said both "$2" || fail "nobody says $2"
	rm "$dir/both.err"
	signal x TERM
	expect x 143
	no_ring
}

damaged flip:1000000 "warning: sender .*: the record at byte [0-9]+ was damaged on its way; waiting for it"
# In what the receiver says: its first records follow a WELCOME of some 200 bytes.
damaged back:300 "warning: destination .*damaged on its way|warning: destination .*record"
