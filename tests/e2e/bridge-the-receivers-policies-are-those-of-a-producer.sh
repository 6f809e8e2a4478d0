#!/bin/bash
# shellcheck source=tests/bridge.bash
. "${0%/*}/../bridge.bash"

numbers 3000000 >"$dir/input"

# Of two consumers one makes no progress.
listen r "$ring.m" --consumers 2 --slots 2 --stall-timeout 1s
consume c1 "$ring.m"
consume c2 --name sleeper "$ring.m"
send s --to "$address"
feed_begin
produce p "${small[@]}" "$ring" "$dir/feed"
echo more >&"$feed"
for i in 1 2; do
	wait_until size_is_at_least "$dir/c$i.out" 5
done
stop c2
cat "$dir/input" >&"$feed"
feed_end
expect c1 0
(echo more && cat "$dir/input") | cmp - "$dir/c1.out" || fail "not what was sent"
all_expect 1 r s p
fatal r "consumer \"sleeper\" \(pid [0-9]+\) was evicted"
fatal s "destination $address: .*consumer \"sleeper\" \(pid [0-9]+\) was evicted"
signal c2 CONT
expect c2 1
fatal c2 "evicted by the producer"
rm "$dir/feed"
no_ring

# One that does not finish.
listen r "$ring.m" --drain-timeout 500ms
consume c1 "$ring.m"
send s --to "$address"
feed_begin
produce p "$ring" "$dir/feed"
echo more >&"$feed"
wait_until size_is_at_least "$dir/c1.out" 5
stop c1
feed_end
expect r 6
fatal r "consumers did not finish within 0\.5 s of the end$"
all_expect 1 s p
fatal s "did not finish within 0\.5 s"
signal c1 CONT
expect c1 0
rm -f "/dev/shm/sluice.$ring.m"
no_ring
