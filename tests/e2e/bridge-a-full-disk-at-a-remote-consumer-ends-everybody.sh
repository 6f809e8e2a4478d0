#!/bin/bash
# shellcheck source=tests/bridge.bash
. "${0%/*}/../bridge.bash"

own_mounts

mkdir "$dir/small"
mount -t tmpfs -o size=1m tmpfs "$dir/small"
numbers 5000000 >"$dir/input"
listen r "$ring.m"
consume c --name full --output "$dir/small/result" "$ring.m"
send s --to "$address"
produce p "$ring" "$dir/input"
expect c 5
fatal c "cannot write $dir/small/result: No space left on device$"
all_expect 1 r s p
fatal r "consumer \"full\" \(pid [0-9]+\) failed"
fatal s "destination $address: .*consumer \"full\" \(pid [0-9]+\) failed"
fatal p .
[ -z "$(ls -A "$dir/small")" ] || fail "something is left"
no_ring
umount "$dir/small"
