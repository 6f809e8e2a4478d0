#!/bin/bash
# shellcheck source=tests/lib.sh
. "${0%/*}/../lib.sh"

for bad in '' a/b /a ../a . .. .a 'a b' $'a\nb' $'a\177' "$(printf '%0201d' 0)"; do
	run 2 p "$producer" --start-timeout 0 "$bad" "$0"
	fatal p "not a ring name: "
	run 2 c1 "$consumer" --wait 0 "$bad"
	fatal c1 "not a ring name: "
done
# The longest, and one that is not ASCII.
for good in "$ring.$(printf '%0*d' $((199 - ${#ring})) 0)" "$ring.größe"; do
	consume c1 "$good"
	run 0 p "$producer" "$good" "$0"
	expect c1 0
	no_ring_named "$good"
done
