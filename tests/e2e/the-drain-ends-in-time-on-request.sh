#!/bin/bash
# shellcheck source=tests/lib.sh
. "${0%/*}/../lib.sh"

feed_begin
consume c1 "$ring"
consume c2 "$ring"
produce p -n 2 --drain-timeout 200ms "$ring" <"$dir/feed"
echo all >&"$feed"
wait_until size_is_at_least "$dir/c1.out" 4
wait_until size_is_at_least "$dir/c2.out" 4
stop c1
feed_end
expect p 6
fatal p "ring \"$ring\": consumers did not finish within 0\.2 s of the end$"
expect c2 0
no_ring
signal c1 CONT
expect c1 0
