#!/bin/bash
# shellcheck source=tests/lib.sh
. "${0%/*}/../lib.sh"

feed_begin
produce p "$ring" <"$dir/feed"
wait_until ring_is_there
signal p KILL
expect p 137
ring_is_there || fail "who removed the name?"

# A consumer passes over it, and waits for the next.
consume c1 "$ring"
wait_until sleeps_in c1 poll
numbers 1000000 >"$dir/input"
run 0 q "$producer" "$ring" "$dir/input"
expect c1 0
silent c1
same "$dir/c1.out" "$dir/input"
no_ring

# With nobody to pass over it, the producer replaces it.
produce p "$ring" <"$dir/feed"
wait_until ring_is_there
signal p KILL
expect p 137
produce q "$ring" "$dir/input"
wait_until said q "note: ring \"$ring\": replaced a stale segment, whose producer is gone$"
consume c1 "$ring"
expect q 0
expect c1 0
same "$dir/c1.out" "$dir/input"
no_ring
