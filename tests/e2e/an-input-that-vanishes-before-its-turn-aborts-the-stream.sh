#!/bin/bash
# shellcheck source=tests/lib.sh
. "${0%/*}/../lib.sh"

feed_begin
echo never >"$dir/second"
consume c1 "$ring"
produce p "$ring" "$dir/feed" "$dir/second"
echo first >&"$feed"
wait_until size_is_at_least "$dir/c1.out" 6
rm "$dir/second"
feed_end
expect p 5
fatal p "cannot open $dir/second: No such file or directory$"
expect c1 1
fatal c1 "the producer aborted at message 1, byte [0-9]+ \(exit code 5\)"
[ "$(cat "$dir/c1.out")" = first ] || fail "wrong output"
no_ring
