#!/bin/bash
# shellcheck source=tests/lib.sh
. "${0%/*}/../lib.sh"

need python3
numbers 5000000 >"$dir/large"
echo small >"$dir/small"
: >"$dir/empty"
inputs=("$dir/small" "$dir/large" "$dir/empty" "$dir/large" "$dir/small")
cat "${inputs[@]}" >"$dir/all"
for slots in 2 5 64; do
	start second python3 "$tests/helpers/second_reader.py" "$ring"
	consume c "$ring"
	produce p -n 2 --slot-size 64K --slots "$slots" "$ring" "${inputs[@]}"
	expect p 0
	expect second 0
	expect c 0
	same "$dir/second.out" "$dir/all"
	same "$dir/c.out" "$dir/all"
	no_ring
done
