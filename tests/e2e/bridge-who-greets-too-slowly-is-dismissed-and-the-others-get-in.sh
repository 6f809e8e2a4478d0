#!/bin/bash
# shellcheck source=tests/bridge.bash
. "${0%/*}/../bridge.bash"

need python3
numbers 200000 >"$dir/input"
listen r "$ring.m"
consume c "$ring.m"

# One that begins, one that goes on but slowly: their time is over some day.
peer slow "$address" hold 1 'SLUICE\r'
wait_until size_is_at_least "$dir/slow.out" 5
peer drip "$address" drip
wait_until size_is_at_least "$dir/drip.out" 5
begun=${EPOCHREALTIME/./}
all_expect 0 slow drip
[ $((${EPOCHREALTIME/./} - begun)) -ge 9000000 ] || fail "they had less than 10 s"
[ "$(grep -c 'warning: connection from 127\.0\.0\.1:[0-9]*: no greeting within 10 s$' "$dir/r.err")" = 2 ] ||
	fail "it does not say whom it dismissed"

# More than there are places for have less time.
peer idle "$address" hold 40
wait_until size_is_at_least "$dir/idle.out" 5
begun=${EPOCHREALTIME/./}
send s --to "$address"
produce p "$ring" "$dir/input"
all_expect 0 p s r c
[ $((${EPOCHREALTIME/./} - begun)) -lt 9000000 ] || fail "the good one had to wait for long"
same "$dir/c.out" "$dir/input"
said r "warning: connection from 127\.0\.0\.1:[0-9]+: no greeting within 1 s, while others wait$" ||
	fail "it does not say whom it dismissed"
expect idle 0
no_ring
