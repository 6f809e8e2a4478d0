#!/bin/bash
# shellcheck source=tests/lib.sh
. "${0%/*}/../lib.sh"

numbers 3000000 >"$dir/part"
feed_begin
consumers 2 "$ring"
consume c3 --output "$dir/result" "$ring"
produce p -n 3 "$ring" <"$dir/feed"
cat "$dir/part" >&"$feed"
wait_until size_is_at_least "$dir/c1.out" 3000000
wait_until size_is_at_least "$dir/c2.out" 3000000

signal p KILL
expect p 137
for i in 1 2 3; do
	expect "c$i" 1
	fatal "c$i" "ring \"$ring\": the producer was killed at message 0, byte [0-9]+$"
done
same "$dir/c1.out" "$dir/part"
same "$dir/c2.out" "$dir/part"
no_file "$dir/result"
no_ring
