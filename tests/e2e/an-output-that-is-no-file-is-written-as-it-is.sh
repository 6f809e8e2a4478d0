#!/bin/bash
# shellcheck source=tests/lib.sh
. "${0%/*}/../lib.sh"

numbers 1000000 >"$dir/input"
mkfifo "$dir/pipe"
start reader cat "$dir/pipe"
consume c1 --output "$dir/pipe" "$ring"
consume c2 --output /dev/null "$ring"
run 0 p "$producer" -n 2 "$ring" "$dir/input"
expect c1 0
expect c2 0
expect reader 0
same "$dir/reader.out" "$dir/input"
[ -p "$dir/pipe" ] || fail "the fifo was replaced"
[ -c /dev/null ] || fail "the device was replaced"
