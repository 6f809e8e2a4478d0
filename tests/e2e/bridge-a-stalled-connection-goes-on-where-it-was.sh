#!/bin/bash
# shellcheck source=tests/bridge.bash
. "${0%/*}/../bridge.bash"

need python3 jq
numbers 3000000 >"$dir/input"
listen r "$ring.m" --dead-after 1s
consume c "$ring.m"
proxy x "$address" stall:700000
send s --to "$address" --dead-after 1s --summary "$dir/s.json"
produce p "${small[@]}" "$ring" "$dir/input"
wait_until said s "warning: destination $address: silent for [0-9]+ s, though its host is there"
signal x USR1
all_expect 0 p s r c
same "$dir/c.out" "$dir/input"
tells s '.destinations[0].outcome == "complete"'
no_ring
