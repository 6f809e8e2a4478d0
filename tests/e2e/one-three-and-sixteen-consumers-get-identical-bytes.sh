#!/bin/bash
# shellcheck source=tests/lib.sh
. "${0%/*}/../lib.sh"

numbers 20000000 >"$dir/input"
for count in 1 3 16; do
	consumers "$count" "$ring"
	run 0 p "$producer" -n "$count" "$ring" "$dir/input"
	silent p
	for ((i = 1; i <= count; i++)); do
		expect "c$i" 0
		silent "c$i"
		same "$dir/c$i.out" "$dir/input"
	done
	no_ring
done
