#!/bin/bash
# shellcheck source=tests/lib.sh
. "${0%/*}/../lib.sh"

numbers 3000000 >"$dir/input"
feed_begin
consume c1 "$ring"
consume c2 --name sleeper --output "$dir/result" "$ring"
consume c3 --name sleeper2 "$ring"
consume c4 "$ring"
produce p -n 4 --slots 2 --slot-size 64K --stall-timeout 2s --summary "$dir/p.json" "$ring" \
	"$dir/feed" "$dir/input"
echo more >&"$feed"
for i in 1 3 4; do
	wait_until size_is_at_least "$dir/c$i.out" 5
done
stop c2
stop c3
feed_end
expect p 1
for name in sleeper sleeper2; do
	said p "warning: ring \"$ring\": consumer \"$name\" \(pid [0-9]+\) evicted: no progress for 2\.0 s while the ring was full$" ||
		fail "the eviction of $name was not reported"
done
fatal p "not every required consumer completed it"
[ "$(jq -c '[.consumers[] | .outcome] | sort' "$dir/p.json")" = '["complete","complete","evicted","evicted"]' ] ||
	fail "the summary does not tell who was evicted"
(echo more && cat "$dir/input") >"$dir/all"
for i in 1 4; do
	expect "c$i" 0
	same "$dir/c$i.out" "$dir/all"
done
for i in 2 3; do
	signal "c$i" CONT
	expect "c$i" 1
	fatal "c$i" "ring \"$ring\": evicted by the producer at message [01], byte [0-9]+: no progress while the ring was full$"
done
no_file "$dir/result"
begins "$dir/c3.out" "$dir/all"
no_ring
