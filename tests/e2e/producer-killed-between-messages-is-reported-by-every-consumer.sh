#!/bin/bash
# shellcheck source=tests/lib.sh
. "${0%/*}/../lib.sh"

printf '{"a":1}\n[2]\n' >"$dir/part"
feed_begin
consumers 2 "$ring"
produce p -n 2 --format json "$ring" <"$dir/feed"
cat "$dir/part" >&"$feed"
wait_until size_is_at_least "$dir/c1.out" 12
wait_until size_is_at_least "$dir/c2.out" 12

signal p KILL
expect p 137
for i in 1 2; do
	expect "c$i" 1
	fatal "c$i" "ring \"$ring\": the producer was killed at message 2, byte [0-9]+$"
	same "$dir/c$i.out" "$dir/part"
done
no_ring
