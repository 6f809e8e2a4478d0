#!/bin/bash
# shellcheck source=tests/bridge.bash
. "${0%/*}/../bridge.bash"

numbers 1000000 >"$dir/input"
listen r "$ring.m" --consumers 2
start_ready p "$producer" "$ring" "$dir/input"
send s --to "$address"
consume c1 "$ring.m"

# One of two: the bridges are connected, and nobody has begun.
wait_until ring_is_there "$ring.m"
wait_until eval '[ "$(first_entry_of "$ring.m")" = 1 ]'
for i in 1 2 3 4 5 6 7 8 9 10; do pause; done
[ "$(ring_head)" = 0 ] || fail "the producer began before everybody was there"
[ "$(mirror_head "$ring.m")" = 0 ] || fail "the bridge began before everybody was there"
consume c2 "$ring.m"
expect p 0
for i in 1 2; do
	expect "c$i" 0
	same "$dir/c$i.out" "$dir/input"
done
all_expect 0 s r

# They do not come in time.
listen r "$ring.m" --consumers 2 --start-timeout 300ms
produce p "$ring" "$dir/input"
send s --to "$address"
consume c1 "$ring.m"
expect r 3
fatal r "ring \"$ring.m\": 2 consumers did not come within 0\.3 s$"
expect c1 1 3
expect s 1 3
fatal s "destination $address: .*2 consumers did not come"
expect p 1 3
no_ring
