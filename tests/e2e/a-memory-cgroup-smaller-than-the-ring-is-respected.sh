#!/bin/bash
# shellcheck source=tests/lib.sh
. "${0%/*}/../lib.sh"

need_root
need_plain_memory
need jq

# A group of 8 MiB below the one that we are in, v2 or v1.
if [ -e /sys/fs/cgroup/cgroup.controllers ]; then
	parent=/sys/fs/cgroup limit=memory.max
else
	parent=/sys/fs/cgroup/memory limit=memory.limit_in_bytes
fi
group=$parent/sluice-$ring
mkdir "$group" 2>/dev/null || skip "may not make a memory cgroup"
at_end "rmdir $group"
echo 8M 2>/dev/null >"$group/$limit" || skip "may not limit a memory cgroup"

numbers 3000000 >"$dir/input"
# shellcheck disable=SC2016 # for the inner shell
within='echo $$ >"$0/cgroup.procs" && exec "$@"'

consume c1 "$ring"
run 0 p sh -c "$within" "$group" "$producer" --summary "$dir/p.json" "$ring" "$dir/input"
expect c1 0
same "$dir/c1.out" "$dir/input"
size=$(jq .segment_bytes "$dir/p.json")
[ "$size" -lt $((8 << 20)) ] || fail "a ring of $size bytes in a group of 8 MiB"

run 5 p sh -c "$within" "$group" "$producer" --slots 16 --slot-size 1M "$ring" "$dir/input"
fatal p "cannot create ring \"$ring\": .*\(needs 16\.[0-9] MiB, the memory cgroup leaves [0-9.]+ MiB; try --slots or --slot-size\)$"
no_ring
