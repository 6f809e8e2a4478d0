#!/bin/bash
# shellcheck source=tests/bridge.bash
. "${0%/*}/../bridge.bash"

need jq
listen r "$ring.m%n" --serve --summary "$dir/r.json"
for i in 1 2 3; do
	numbers "${i}00000" >"$dir/input"
	consume c "$ring.m$i"
	send s --to "$address"
	run 0 p "$producer" "$ring" "$dir/input"
	all_expect 0 s c
	same "$dir/c.out" "$dir/input"
	wait_until said r "note: stream $i: complete, in ring \"$ring\.m$i\"$"
	no_ring_named "$ring.m$i"
done

# One that fails is no reason to stop.
to=/dev/full consume c "$ring.m4"
send s --to "$address"
run 1 p "$producer" "$ring" "$dir/input"
expect c 5
expect s 1
wait_until said r "warning: stream 4: "
consume c "$ring.m5"
send s --to "$address"
run 0 p "$producer" "$ring" "$dir/input"
all_expect 0 s c

# The stream's own id is a name that nobody else has.
signal r TERM
expect r 143
listen r "$ring.%i%%" --serve
send s --to "$address"
feed_begin
produce p "$ring" <"$dir/feed"
mirror_name() {
	mirror=$(cd /dev/shm && echo "sluice.$ring."*) && mirror=${mirror#sluice.} &&
		[[ $mirror =~ ^"$ring."[0-9a-f]{32}%$ ]]
}
wait_until mirror_name
consume c "$mirror"
echo something >&"$feed"
wait_until size_is_at_least "$dir/c.out" 10
feed_end
all_expect 0 p s c
signal r TERM
expect r 143
no_ring
