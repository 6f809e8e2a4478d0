#!/bin/bash
# shellcheck source=tests/lib.sh
. "${0%/*}/../lib.sh"

helper heirs

# A ring with one reader, whose writer died half way.
leave_half() {
	start w "$helper" write "$ring"
	start r "$helper" read "$ring"
	wait_until size_is_at_least "$dir/r.out" 5
	signal w KILL
	expect w 137
}

heir() {
	start v env SLUICE_TESTPOINT="$1" "$helper" heir "$ring"
}

for point in takeover_alone takeover_byte_taken publish_before_head end_before_store end_after_store; do
	leave_half
	heir "$point:1:kill"
	expect v 137
	ring_is_there || fail "an heir killed at $point took the name along"
	run 0 q "$helper" heir "$ring"
	expect r 0
	no_ring
done

for point in takeover_alone takeover_byte_taken; do
	leave_half
	heir "$point:1:stop"
	wait_until state_is v T
	run 3 q "$helper" heir "$ring"
	signal v CONT
	expect v 0
	expect r 0
	no_ring
done
