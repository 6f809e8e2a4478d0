#!/bin/bash
# shellcheck source=tests/bridge.bash
. "${0%/*}/../bridge.bash"

need jq
numbers 300000 >"$dir/input"
listen r "$ring.m"
consume c --output "$dir/result" "$ring.m"
send s --to "$address"
feed_begin
produce p --summary "$dir/p.json" "$ring" "$dir/feed"
cat "$dir/input" >&"$feed"
wait_until mirror_has "$ring.m" 300000
stop c
feed_end

# All is sent, and there; nobody is done as long as the last one is not.
wait_until sleeps_in p futex
for name in p s r; do
	! gone "$name" 2>/dev/null || fail "$name did not wait"
done
[ ! -e "$dir/result" ] || fail "the result is there already"
signal c CONT
expect p 0
same "$dir/result" "$dir/input"
all_expect 0 s r c
tells p '.consumers[0].outcome == "complete"'
no_ring
