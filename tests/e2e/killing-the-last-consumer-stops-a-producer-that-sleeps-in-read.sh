#!/bin/bash
# shellcheck source=tests/lib.sh
. "${0%/*}/../lib.sh"

feed_begin
consume c1 "$ring"
produce p "$ring" <"$dir/feed"
echo something >&"$feed"
wait_until size_is_at_least "$dir/c1.out" 10
signal c1 KILL
expect c1 137
expect p 1
said p "warning: .*died"
fatal p "no required consumer is left"
no_ring
