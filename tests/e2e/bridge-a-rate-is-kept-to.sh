#!/bin/bash
# shellcheck source=tests/bridge.bash
. "${0%/*}/../bridge.bash"

numbers 1000000 >"$dir/input"
mirrored 2
send s --rate 1M "${goals[@]}"
begun=${EPOCHREALTIME/./}
run 0 p "$producer" -n 2 "${small[@]}" "$ring" "$dir/input"
took=$((${EPOCHREALTIME/./} - begun))
# The last record is sent as soon as the one before has had its time.
[ "$took" -ge 800000 ] || fail "1 MB at 1 MiB/s took only $took us"
expect s 0
for i in 1 2; do
	all_expect 0 "r$i" "c$i"
	same "$dir/c$i.out" "$dir/input"
done
no_ring
