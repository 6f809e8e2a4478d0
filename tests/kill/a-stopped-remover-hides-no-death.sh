#!/bin/bash
# Who removes a dead producer's name, and is stopped at it, is not taken for a
# living producer by the others.
# shellcheck source=tests/lib.sh
. "${0%/*}/../lib.sh"

feed_begin
produce p -n 2 "$ring" "$dir/feed"
start c1 env SLUICE_TESTPOINT=remove_before_unlink:1:stop "$consumer" "$ring"
start c2 "$consumer" "$ring"
numbers 1000 >&"$feed"
wait_until size_is_at_least "$dir/c1.out" 1000
wait_until size_is_at_least "$dir/c2.out" 1000
signal p KILL
wait_until state_is c1 T
expect c2 1
fatal c2 "the producer was killed at message 0, byte [0-9]+$"
signal c1 CONT
expect c1 1
feed_end
expect p 137
no_ring
