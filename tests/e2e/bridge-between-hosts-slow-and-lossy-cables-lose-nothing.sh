#!/bin/bash
# shellcheck source=tests/bridge.bash
. "${0%/*}/../bridge.bash"

need jq tc nft
own_hosts 4
# What the switch sends to host 2 is slow; host 3 loses packets; host 4 is well.
ip netns exec "${net}sw" tc qdisc add dev p2 root tbf rate 40mbit burst 32k latency 50ms 2>"$dir/tc.log" ||
	skip "may not throttle: $(cat "$dir/tc.log")"
printf 'table inet t { chain in { type filter hook input priority 0; iif "eth0" numgen random mod 1000 < 20 counter drop; }; }\n' |
	on_host 3 nft -f - 2>"$dir/nft.log" || skip "may not lose packets: $(head -n 1 "$dir/nft.log")"
numbers 6000000 >"$dir/input"
goals=()
for i in 2 3 4; do
	host_receives "$i"
done
host 1
send s --insecure "${goals[@]}" --summary "$dir/s.json"
run 0 p "$producer" -n 3 "${small[@]}" "$ring" "$dir/input"
expect s 0
for i in 2 3 4; do
	all_expect 0 "r$i" "c$i"
	same "$dir/c$i.out" "$dir/input"
done
tells s '[.destinations[] | .outcome == "complete" and .reconnects == 0] | all'
no_ring
