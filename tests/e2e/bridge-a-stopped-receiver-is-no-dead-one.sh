#!/bin/bash
# A receiver that is stopped for longer than --dead-after, with more to come than
# sockets hold: its host answers, so the connection stays, and goes on.
# shellcheck source=tests/bridge.bash
. "${0%/*}/../bridge.bash"

numbers 8000000 >"$dir/input"
listen r "$ring.m" --dead-after 1s
consume c "$ring.m"
send s --to "$address" --dead-after 1s
feed_begin
produce p --slots 64 "$ring" "$dir/feed"
to=$dir/feed start feeder cat "$dir/input"
wait_until mirror_has "$ring.m" 1
stop r
# Which is said when the time is over for long.
wait_until said s "warning: destination $address: silent for [0-9]+ s"
signal r CONT
expect feeder 0
feed_end
all_expect 0 p s r c
same "$dir/c.out" "$dir/input"
! said s "(timed out|trying for)" || fail "the sender gave a living receiver up"
no_ring
