#!/bin/bash
# shellcheck source=tests/lib.sh
. "${0%/*}/../lib.sh"

numbers 5000000 >"$dir/input"
unread_begin
to=$dir/unread consume c1 "$ring"
produce p --slots 2 --slot-size 64K "$ring" "$dir/input"
wait_until sleeps_in c1 pipe_
signal c1 KILL
expect c1 137
expect p 1
fatal p "no required consumer is left"
no_ring
