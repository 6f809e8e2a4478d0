#!/bin/bash
# shellcheck source=tests/lib.sh
. "${0%/*}/../lib.sh"

numbers 3000000 >"$dir/input"
unread_begin
feed_begin
to=$dir/unread consume c1 "$ring"
produce p "$ring" <"$dir/feed"
cat "$dir/input" >&"$feed"
wait_until sleeps_in c1 pipe_
wait_until sleeps_in p pipe_
signal p KILL
expect p 137
# It is blocked in write(2), and yet says so.
wait_until said c1 "warning: ring \"$ring\": the producer was killed; delivering what it had published$"
unread_end reader
expect c1 1
fatal c1 "the producer was killed at message 0, byte [0-9]+$"
expect reader 0
same "$dir/reader.out" "$dir/input"
no_ring
