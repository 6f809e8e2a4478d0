#!/bin/bash
# shellcheck source=tests/bridge.bash
. "${0%/*}/../bridge.bash"

numbers 5000000 >"$dir/input"

# $ring -> $ring.1 -> $ring.1.1 and $ring.1.2 -> ...1.2.1, a consumer on each.
listen r121 "$ring.1.2.1"
a121=$address
listen r12 "$ring.1.2" --consumers 2
a12=$address
listen r11 "$ring.1.1"
a11=$address
listen r1 "$ring.1" --consumers 3
send s --to "$address"
start s1 "$bridge" "$ring.1" --to "$a11" --to "$a12"
start s12 "$bridge" "$ring.1.2" --to "$a121"
leaves=(1 1.1 1.2 1.2.1)
for leaf in "${leaves[@]}"; do
	consume "c$leaf" "$ring.$leaf"
done
run 0 p "$producer" "${small[@]}" "$ring" "$dir/input"
for leaf in "${leaves[@]}"; do
	expect "c$leaf" 0
	same "$dir/c$leaf.out" "$dir/input"
done
all_expect 0 s s1 s12 r1 r11 r12 r121
no_ring

# A leaf that fails is known at the root.
listen r11 "$ring.1.1"
a11=$address
listen r1 "$ring.1"
send s --to "$address"
start s1 "$bridge" "$ring.1" --to "$a11"
to=/dev/full consume leaf --name leaf "$ring.1.1"
produce p "$ring" "$dir/input"
expect leaf 5
all_expect 1 r11 s1 r1 s p
fatal s1 "consumer \"leaf\" \(pid [0-9]+\) failed"
fatal s "consumer \"$a11\" \(pid [0-9]+\) failed"
no_ring
