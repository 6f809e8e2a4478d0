#!/bin/bash
# shellcheck source=tests/lib.sh
. "${0%/*}/../lib.sh"

numbers 1000000 >"$dir/input"
feed_begin
consume c1 --name culprit "$ring"
consume c2 "$ring"
produce p -n 2 --slots 2 --slot-size 64K "$ring" "$dir/feed" "$dir/input"
echo more >&"$feed"
wait_until size_is_at_least "$dir/c1.out" 5
stop c1
feed_end
DEADLINE=60 wait_until said p "warning: ring \"$ring\": consumer \"culprit\" \(pid [0-9]+\) has held the ring full for 10 s at byte [0-9]+$"
signal c1 CONT
expect p 0
expect c1 0
expect c2 0
[ "$(wc -l <"$dir/p.err")" = 1 ] || fail "named more than once"
no_ring
