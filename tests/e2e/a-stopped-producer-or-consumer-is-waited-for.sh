#!/bin/bash
# shellcheck source=tests/lib.sh
. "${0%/*}/../lib.sh"

numbers 3000000 >"$dir/input"

# The producer, within a message.
feed_begin
consumers 2 "$ring"
produce p -n 2 --slots 2 --slot-size 64K "$ring" <"$dir/feed"
cat "$dir/input" >&"$feed"
wait_until size_is_at_least "$dir/c1.out" 3000000
stop p
echo more >&"$feed"
feed_end
wait_until sleeps_in c1 futex
wait_until sleeps_in c2 futex
signal p CONT
expect p 0
(cat "$dir/input" && echo more) >"$dir/all"
for i in 1 2; do
	expect "c$i" 0
	silent "c$i"
	same "$dir/c$i.out" "$dir/all"
done
silent p
no_ring
rm "$dir/feed"

# A consumer, while the others are ahead and the producer waits for it.
feed_begin
consumers 3 "$ring"
produce p -n 3 --slots 2 --slot-size 64K "$ring" "$dir/feed" "$dir/input"
echo more >&"$feed"
wait_until size_is_at_least "$dir/c2.out" 5
stop c2
feed_end
wait_until sleeps_in p futex
signal c2 CONT
expect p 0
(echo more && cat "$dir/input") >"$dir/all"
for i in 1 2 3; do
	expect "c$i" 0
	silent "c$i"
	same "$dir/c$i.out" "$dir/all"
done
silent p
no_ring
