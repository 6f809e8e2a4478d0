#!/bin/bash
# shellcheck source=tests/lib.sh
. "${0%/*}/../lib.sh"

need_nobody
numbers 1000000 >"$dir/input"
feed_begin
produce p --mode 0666 "$ring" <"$dir/feed"
wait_until ring_is_there

run 5 c1 "${as_nobody[@]}" "$consumer" "$ring"
fatal c1 "ring \"$ring\" is another user's \(see --any-user\)$"
start c2 "${as_nobody[@]}" "$consumer" --any-user "$ring"
cat "$dir/input" >&"$feed"
feed_end
expect p 0
expect c2 0
same "$dir/c2.out" "$dir/input"
no_ring

# Mode 0600, whatever the umask.
(umask 0 && exec "$producer" --start-timeout 10 "$ring" "$dir/input" 2>/dev/null) &
pids[q]=$!
wait_until ring_is_there
[ "$(stat -c %a "/dev/shm/sluice.$ring")" = 600 ] || fail "the mode is not 0600"
run 5 c3 "${as_nobody[@]}" "$consumer" --any-user "$ring"
fatal c3 "cannot open ring \"$ring\": Permission denied$"
run 0 c4 "$consumer" "$ring"
expect q 0
no_ring
