#!/bin/bash
# shellcheck source=tests/lib.sh
. "${0%/*}/../lib.sh"

numbers 1000000 >"$dir/input"
feed_begin
consume c1 "$ring"
produce p "$ring" <"$dir/feed"
cat "$dir/input" >&"$feed"
wait_until size_is_at_least "$dir/c1.out" 1000000
run 3 q "$producer" "$ring" "$0"
fatal q "ring \"$ring\" is in use by another producer$"
ring_is_there || fail "the name is gone"
cat "$dir/input" >&"$feed"
feed_end
expect p 0
expect c1 0
silent p
cat "$dir/input" "$dir/input" | cmp - "$dir/c1.out" || fail "wrong output"
no_ring
