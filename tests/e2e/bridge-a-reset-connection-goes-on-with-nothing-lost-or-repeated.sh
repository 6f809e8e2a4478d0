#!/bin/bash
# shellcheck source=tests/bridge.bash
. "${0%/*}/../bridge.bash"

need python3 jq
numbers 8000000 >"$dir/input"

# harmed HARM... : through a proxy that does them, one a connection.
harmed() {
	listen r "$ring.m" --summary "$dir/r.json"
	consume c "$ring.m"
	proxy x "$address" "$@"
	send s --to "$address" --summary "$dir/s.json"
	run 0 p "$producer" "${small[@]}" --summary "$dir/p.json" "$ring" "$dir/input"
	all_expect 0 s r c
	same "$dir/c.out" "$dir/input"
	[ "$(wc -l <"$dir/x.out")" = "$(($# + 1))" ] || fail "not all harm was done: $(cat "$dir/x.out")"
	tells s ".destinations[0].reconnects == $#"
	tells r ".reconnects == $#"
	tells p '.consumers[0].outcome == "complete"'
	said s "warning: destination $address: .*; trying for up to 30\.0 s$" || fail "the loss was not said"
	said s "note: destination $address: connected, goes on at byte [0-9]+$" || fail "the return was not said"
	said r "note: sender .*: connected, goes on at byte [0-9]+$" || fail "the return was not said there"
	signal x TERM
	expect x 143
	no_ring
}

# Between records, within one, within its head.
harmed reset:1000000 reset:70000 reset:333333 reset:2000001 reset:250
harmed close:700000 close:123457
