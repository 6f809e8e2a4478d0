#!/bin/bash
# shellcheck source=tests/lib.sh
. "${0%/*}/../lib.sh"

numbers 3000000 >"$dir/input"
unread_begin
to=$dir/unread consume c1 "$ring"
consume c2 "$ring"
produce p -n 2 --slots 2 --slot-size 64K --stall-timeout 2s "$ring" "$dir/input"
# It is blocked in write(2), and leaves without anybody reading.
expect c1 1
fatal c1 "evicted by the producer"
expect p 1
fatal p "not every required consumer completed it"
expect c2 0
same "$dir/c2.out" "$dir/input"
no_ring
