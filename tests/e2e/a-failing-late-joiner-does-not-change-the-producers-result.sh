#!/bin/bash
# shellcheck source=tests/lib.sh
. "${0%/*}/../lib.sh"

feed_begin
consume c1 "$ring"
produce p "$ring" <"$dir/feed"
echo first >&"$feed"
wait_until size_is_at_least "$dir/c1.out" 6
consume c2 --name extra "$ring"
wait_until size_is_at_least "$dir/c2.out" 6
signal c2 KILL
expect c2 137
wait_until said p "warning: ring \"$ring\": consumer \"extra\" .*died at byte [0-9]+ \(not required\)$"
echo second >&"$feed"
feed_end
expect p 0
expect c1 0
no_ring
