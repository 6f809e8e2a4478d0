#!/bin/bash
# shellcheck source=tests/lib.sh
. "${0%/*}/../lib.sh"

numbers 3000000 >"$dir/input"

check() {
	expect p 0
	expect c1 0
	expect c2 0
	same "$dir/c1.out" "$dir/input"
	same "$dir/c2.out" "$dir/input"
	no_ring
}

# The producer first, and seen to wait.
produce p -n 2 "$ring" "$dir/input"
wait_until ring_is_there
consumers 2 "$ring"
check

# The consumers first, and seen to wait.
consumers 2 "$ring"
wait_until state_is c1 S
wait_until state_is c2 S
produce p -n 2 "$ring" "$dir/input"
check

# The producer in between.
consume c1 "$ring"
wait_until state_is c1 S
produce p -n 2 "$ring" "$dir/input"
wait_until ring_is_there
consume c2 "$ring"
check
