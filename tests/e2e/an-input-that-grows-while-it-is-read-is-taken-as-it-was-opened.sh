#!/bin/bash
# shellcheck source=tests/lib.sh
. "${0%/*}/../lib.sh"

numbers 2000000 >"$dir/input"
cp "$dir/input" "$dir/before"
unread_begin
to=$dir/unread consume c1 "$ring"
produce p --slots 2 --slot-size 64K "$ring" "$dir/input"
wait_until sleeps_in c1 pipe_
echo more >>"$dir/input"
unread_end reader
expect p 0
expect c1 0
expect reader 0
same "$dir/reader.out" "$dir/before"
no_ring
