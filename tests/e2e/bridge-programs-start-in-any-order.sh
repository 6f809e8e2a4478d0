#!/bin/bash
# shellcheck source=tests/bridge.bash
. "${0%/*}/../bridge.bash"

numbers 200000 >"$dir/input"

# A port where nobody listens, for those who come first.
listen r "$ring.m"
signal r TERM
expect r 143
place=$address

start_one() {
	case $1 in
	r) at=$place listen r "$ring.m" ;;
	c) consume c "$ring.m" ;;
	s) send s --to "$place" ;;
	p) produce p "$ring" "$dir/input" ;;
	esac
}

for order in "r c s p" "p s c r" "s p r c" "c r p s" "p c r s" "s r c p"; do
	for name in $order; do
		start_one "$name"
		pause
	done
	all_expect 0 p s r c
	same "$dir/c.out" "$dir/input"
	no_ring
done
