#!/bin/bash
# shellcheck source=tests/lib.sh
. "${0%/*}/../lib.sh"

numbers 1000 >"$dir/first"
mkfifo "$dir/second"
consume c1 "$ring"
# Opening the fifo blocks until somebody writes to it.
produce p "$ring" "$dir/first" "$dir/second"
wait_until size_is_at_least "$dir/c1.out" 1000
echo second >"$dir/second"
expect p 0
expect c1 0
(cat "$dir/first" && echo second) >"$dir/both"
same "$dir/c1.out" "$dir/both"
no_ring
