#!/bin/bash
# shellcheck source=tests/lib.sh
. "${0%/*}/../lib.sh"

# Stop consumer c1 within attach, after the producer has counted it.
attach_slowly() {
	start c1 env SLUICE_TESTPOINT="$1:1:stop" "$consumer" --wait 2s "$ring"
	wait_until state_is c1 T
}

for point in attach_active attach_begun; do
	# All of it is sent by then, or as much as the ring holds.
	for bytes in 1000 1000000; do
		numbers "$bytes" >"$dir/input"
		produce p --slots 4 --slot-size 64K "$ring" "$dir/input"
		wait_until ring_is_there
		attach_slowly "$point"
		wait_until ring_has_data
		wait_until sleeps_in p futex
		signal c1 CONT
		expect p 0
		expect c1 0
		same "$dir/c1.out" "$dir/input"
		no_ring
	done

	# Nothing, and the producer is gone.
	printf '[1' >"$dir/input"
	produce p --format json "$ring" "$dir/input"
	wait_until ring_is_there
	attach_slowly "$point"
	expect p 4
	signal c1 CONT
	expect c1 1
	fatal c1 "the producer aborted at message 0, byte 0 \(exit code 4\)"
	no_ring
done
