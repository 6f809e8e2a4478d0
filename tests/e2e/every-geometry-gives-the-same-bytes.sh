#!/bin/bash
# shellcheck source=tests/lib.sh
. "${0%/*}/../lib.sh"

numbers 3000000 >"$dir/input"
for geometry in "2 64K" "3 64K" "4096 64K" "2 2M" "5 1M"; do
	consume c1 "$ring"
	run 0 p "$producer" --slots "${geometry% *}" --slot-size "${geometry#* }" "$ring" "$dir/input"
	expect c1 0
	same "$dir/c1.out" "$dir/input"
	no_ring
done
