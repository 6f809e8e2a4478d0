#!/bin/bash
# Of two destinations one is complete when the sending bridge is killed, and the
# other is not: its heir goes on with the one, and knows of the other.
# shellcheck source=tests/bridge.bash
. "${0%/*}/../bridge.bash"

need jq
numbers 300000 >"$dir/input"
mirrored 2
send s "${goals[@]}"
feed_begin
produce p -n 2 "$ring" "$dir/feed"
to=$dir/feed start feeder cat "$dir/input"
wait_until mirror_has "$ring.2" 1
stop c2
expect feeder 0
feed_end
all_expect 0 c1 r1
signal s KILL
expect s 137
send s "${goals[@]}" --summary "$dir/s.json"
wait_until said s "note: destination ${goals[3]}: goes on at byte [0-9]+ of ring \"$ring\"$"
signal c2 CONT
all_expect 0 p c2 r2 s
tells s '[.destinations[].outcome == "complete"] | length == 2 and all'
for i in 1 2; do
	same "$dir/c$i.out" "$dir/input"
done
no_ring
