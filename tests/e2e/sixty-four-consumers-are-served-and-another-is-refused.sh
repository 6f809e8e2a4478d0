#!/bin/bash
# shellcheck source=tests/lib.sh
. "${0%/*}/../lib.sh"

numbers 300000 >"$dir/input"
feed_begin
consumers 64 "$ring"
produce p -n 64 "$ring" "$dir/feed" "$dir/input"
echo first >&"$feed"
for ((i = 1; i <= 64; i++)); do
	wait_until size_is_at_least "$dir/c$i.out" 6
done
run 3 extra "$consumer" "$ring"
fatal extra "ring \"$ring\" has its 64 consumers already$"
feed_end
expect p 0
(echo first && cat "$dir/input") >"$dir/all"
for ((i = 1; i <= 64; i++)); do
	expect "c$i" 0
	same "$dir/c$i.out" "$dir/all"
done
no_ring
