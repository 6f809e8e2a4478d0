#!/bin/bash
# shellcheck source=tests/lib.sh
. "${0%/*}/../lib.sh"

numbers 3000000 >"$dir/input"
consume c1 "$ring"
run 0 p "$producer" --digest no "$ring" "$dir/input"
expect c1 0
same "$dir/c1.out" "$dir/input"
no_ring
