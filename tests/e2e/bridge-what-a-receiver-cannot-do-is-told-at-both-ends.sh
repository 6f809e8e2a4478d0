#!/bin/bash
# shellcheck source=tests/bridge.bash
. "${0%/*}/../bridge.bash"

own_mounts
own_shm 20m
numbers 1000000 >"$dir/input"

# No place for the mirror.
dd if=/dev/zero of=/dev/shm/filler bs=1M count=14 status=none
listen r "$ring.m"
produce p "$ring" "$dir/input"
send s --to "$address"
expect r 5
fatal r "cannot create ring \"$ring\.m\": No space left on device"
expect s 5
fatal s "destination $address: refused: cannot create ring \"$ring\.m\": No space left on device"
expect p 1
rm /dev/shm/filler
no_ring

# Its name is taken.
produce other "$ring.m" "$dir/input"
wait_until ring_is_there "$ring.m"
run 3 r "$bridge" "$ring.m" --listen 127.0.0.1:0
fatal r "ring \"$ring\.m\" is in use by another producer"
signal other TERM
expect other 143

# So is its port.
listen r "$ring.m"
run 3 r2 "$bridge" "$ring.n" --listen "$address"
fatal r2 "cannot listen on $address: Address already in use"
signal r TERM
expect r 143

# Nobody comes.
run 3 r "$bridge" "$ring.m" --listen 127.0.0.1:0 --wait 100ms
fatal r "no sender within 0\.1 s$"
run 3 s "$bridge" "$ring" --to 127.0.0.1:1 --wait 100ms
fatal s "ring \"$ring\": no producer within 0\.1 s$"
run 2 s "$bridge" "a/b" --to 127.0.0.1:1
fatal s "not a ring name"
run 2 r "$bridge" "a/b" --listen 127.0.0.1:0
fatal r "not a ring name"
umount /dev/shm
