#!/bin/bash
# shellcheck source=tests/lib.sh
. "${0%/*}/../lib.sh"

numbers 300000 >"$dir/first"
echo third >"$dir/third"
feed_begin
consume c1 "$ring"
produce p --slots 2 --slot-size 64K --summary "$dir/p.json" "$ring" \
	"$dir/first" "$dir/feed" "$dir/third"
# The second message has begun, and the first slot is left.
cat "$dir/first" >&"$feed"
wait_until size_is_at_least "$dir/c1.out" 600000

run 1 c2 "$consumer" "$ring"
fatal c2 "ring \"$ring\": too late: the stream began, and [0-9]+ bytes of it are gone \(see --late\)$"
same "$dir/c2.out" /dev/null

start_ready c3 "$consumer" --late --name latecomer "$ring"
echo rest >&"$feed"
feed_end
expect p 0
expect c1 0
expect c3 0
(cat "$dir/first" "$dir/first" && echo rest && cat "$dir/third") >"$dir/all"
same "$dir/c1.out" "$dir/all"
same "$dir/c3.out" "$dir/third"
said p "note: ring \"$ring\": consumer \"latecomer\" \(pid [0-9]+\) joined late; it is not required$" ||
	fail "the late joiner was not reported"
[ "$(jq -c '[.consumers[] | .required] | sort' "$dir/p.json")" = "[false,false,true]" ] ||
	fail "the summary does not tell who was required"
no_ring
