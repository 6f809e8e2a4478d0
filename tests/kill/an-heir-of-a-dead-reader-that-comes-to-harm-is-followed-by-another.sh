#!/bin/bash
# shellcheck source=tests/lib.sh
. "${0%/*}/../lib.sh"

helper heirs

# rest NAME : that reader gets the rest, of a replaced writer: the first does not
# go on.
rest() {
	wait_until size_is_at_least "$dir/$1.out" 5
	signal w KILL
	expect w 137
	run 0 q "$helper" heir "$ring"
	expect "$1" 0
	no_ring
}

# A reader that died as soon as it had a key.
start w "$helper" write "$ring"
start r env SLUICE_TESTPOINT=attach_keyed:1:kill "$helper" read "$ring"
expect r 137
start s "$helper" again "$ring"
rest s

for point in takeover_locked takeover_active attach_keyed; do
	for action in "kill" stop; do
		start w "$helper" write "$ring"
		start r "$helper" read "$ring"
		wait_until size_is_at_least "$dir/r.out" 5
		signal r KILL
		expect r 137
		start v env SLUICE_TESTPOINT="$point:1:$action" "$helper" again "$ring"
		if [ "$action" = "kill" ]; then
			expect v 137
			start s "$helper" again "$ring"
			rest s
		else
			wait_until state_is v T
			run 3 s "$helper" again "$ring"
			signal v CONT
			rest v
		fi
	done
done
