#!/bin/bash
# shellcheck source=tests/lib.sh
. "${0%/*}/../lib.sh"

feed_begin
consumers 2 "$ring"
produce p -n 2 "$ring" <"$dir/feed"
echo something >&"$feed"
wait_until size_is_at_least "$dir/c1.out" 10
wait_until size_is_at_least "$dir/c2.out" 10
stop c2
signal p KILL
expect p 137
expect c1 1
no_ring
signal c2 CONT
expect c2 1
