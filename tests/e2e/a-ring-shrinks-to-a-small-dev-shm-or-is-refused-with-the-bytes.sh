#!/bin/bash
# shellcheck source=tests/lib.sh
. "${0%/*}/../lib.sh"

own_mounts
numbers 3000000 >"$dir/input"

# transfer OPTION... : sets $geometry
transfer() {
	consume c1 "$ring"
	run 0 p "$producer" --summary "$dir/p.json" "$@" "$ring" "$dir/input"
	expect c1 0
	same "$dir/c1.out" "$dir/input"
	no_ring
	geometry=$(jq -c '[.slots, .slot_size]' "$dir/p.json")
}

# refused NEEDED THERE OPTION...
refused() {
	local needs=$1 has=$2

	shift 2
	run 5 p "$producer" "$@" "$ring" "$dir/input"
	fatal p "cannot create ring \"$ring\": No space left on device \(needs $needs, /dev/shm has $has; try --slots or --slot-size\)$"
	no_ring
}

# What a container has.
own_shm 64m
transfer
[ "$geometry" = "[8,524288]" ] || fail "the default does not fit 64 MiB: $geometry"
refused "64\.[0-9] MiB" "64\.0 MiB" --slots 64 --slot-size 1M
refused "128\.[0-9] MiB" "64\.0 MiB" --slots 2 --slot-size 64M

# Four MiB: the default shrinks, and what was asked for is not changed.
own_shm 4m
transfer
[ "$geometry" != "[8,524288]" ] || fail "the default did not shrink"
transfer --slots 16
[ "${geometry%,*}" = "[16" ] || fail "--slots 16 gave $geometry"
transfer --slot-size 1M
[ "${geometry#*,}" = "1048576]" ] || fail "--slot-size 1M gave $geometry"
transfer --slots 3 --slot-size 1M
[ "$geometry" = "[3,1048576]" ] || fail "exact geometry gave $geometry"
refused "4\.[0-9] MiB" "4\.0 MiB" --slots 4 --slot-size 1M

# Full.
own_shm 1m
head -c 1m /dev/zero >/dev/shm/filler || :
refused "[0-9.]+ [KM]iB" "0 bytes"
rm /dev/shm/filler
# Not even the smallest ring.
head -c 900k /dev/zero >/dev/shm/filler
refused "[0-9.]+ KiB" "124\.0 KiB"
