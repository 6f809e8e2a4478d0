#!/bin/bash
# shellcheck source=tests/lib.sh
. "${0%/*}/../lib.sh"

feed_begin
consume c1 "$ring"
produce p "$ring" <"$dir/feed"
echo first >&"$feed"
wait_until size_is_at_least "$dir/c1.out" 6
consume c2 "$ring"
wait_until size_is_at_least "$dir/c2.out" 6
echo second >&"$feed"
feed_end
expect p 0
expect c1 0
expect c2 0
same "$dir/c1.out" "$dir/c2.out"
no_ring
