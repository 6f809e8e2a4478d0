#!/bin/bash
# shellcheck source=tests/lib.sh
. "${0%/*}/../lib.sh"

numbers 1000000 >"$dir/part"
feed_begin
consume c1 "$ring"
consume c2 --name victim --output "$dir/result" "$ring"
consume c3 "$ring"
produce p -n 3 "$ring" <"$dir/feed"
cat "$dir/part" >&"$feed"
wait_until size_is_at_least "$dir/c1.out" 1000000

signal c2 KILL
expect c2 137
# Known at once, although the producer sleeps in read(2).
wait_until said p "warning: ring \"$ring\": consumer \"victim\" \(pid [0-9]+\) died at byte [0-9]+$"
cat "$dir/part" >&"$feed"
feed_end
expect p 1
fatal p "not every required consumer completed it"
cat "$dir/part" "$dir/part" >"$dir/all"
for i in 1 3; do
	expect "c$i" 0
	same "$dir/c$i.out" "$dir/all"
done
[ ! -e "$dir/result" ] || fail "a killed consumer's output has its final name"
no_ring
