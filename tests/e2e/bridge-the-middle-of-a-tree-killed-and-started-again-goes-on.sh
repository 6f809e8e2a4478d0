#!/bin/bash
# shellcheck source=tests/bridge.bash
. "${0%/*}/../bridge.bash"

numbers 20000000 >"$dir/input"
listen leaf "$ring.2"
leaf=$address
listen middle "$ring.1" --consumers 2
root=$address
send s --to "$root"
start s1 "$bridge" "$ring.1" --to "$leaf"
consume c1 "$ring.1"
consume c2 "$ring.2"
feed_begin
produce p "${small[@]}" "$ring" "$dir/feed"
to=$dir/feed start feeder cat "$dir/input"
wait_until mirror_has "$ring.2" 1000000
stop c2

# The whole middle host.
for name in middle s1; do
	signal "$name" KILL
done
all_expect 137 middle s1
start s1 "$bridge" "$ring.1" --to "$leaf"
at=$root listen middle "$ring.1" --consumers 2
wait_until said s1 "note: destination $leaf: goes on at byte"
signal c2 CONT
expect feeder 0
feed_end
all_expect 0 p s middle s1 leaf c1 c2
same "$dir/c1.out" "$dir/input"
same "$dir/c2.out" "$dir/input"
no_ring
