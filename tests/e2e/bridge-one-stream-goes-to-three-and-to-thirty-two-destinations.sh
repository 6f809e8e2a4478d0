#!/bin/bash
# shellcheck source=tests/bridge.bash
. "${0%/*}/../bridge.bash"

need jq
numbers 10000000 >"$dir/input"

mirrored 3
send s "${goals[@]}" --summary "$dir/s.json"
run 0 p "$producer" -n 3 --summary "$dir/p.json" "${small[@]}" "$ring" "$dir/input"
for i in 1 2 3; do
	all_expect 0 "r$i" "c$i"
	same "$dir/c$i.out" "$dir/input"
	no_ring_named "$ring.$i"
done
expect s 0
tells s '[.destinations[] | .outcome == "complete"] | length == 3 and all'
tells p '[.consumers[] | .required and .outcome == "complete"] | length == 3 and all'
# A line for each.
for i in 1 3 5; do
	said s "note: ${goals[i]} +complete +[0-9]+ bytes +[0-9.]+ s  0 reconnects$" ||
		fail "no line for ${goals[i]}"
done
no_ring

# Thirty-two, from a file with comments, one named by --to.
numbers 300000 >"$dir/input"
mirrored 32
{
	printf '# hosts of the nightly run\n\n'
	for ((i = 3; i < 64; i += 2)); do
		printf '  %s  # number %d\r\n' "${goals[i]}" "$i"
	done
} >"$dir/hosts"
send s --to-file "$dir/hosts" "${goals[@]:0:2}" --summary "$dir/s.json"
run 0 p "$producer" -n 32 "${small[@]}" "$ring" "$dir/input"
expect s 0
tells s '[.destinations[] | .outcome == "complete"] | length == 32 and all'
for ((i = 1; i <= 32; i++)); do
	all_expect 0 "r$i" "c$i"
	same "$dir/c$i.out" "$dir/input"
done
no_ring

# No destination twice.
run 2 u "$bridge" "$ring" --to-file "$dir/hosts" "${goals[@]:2:2}"
fatal u "destination ${goals[3]} is there twice"
run 2 u "$bridge" "$ring" --to-file "$dir/absent"
fatal u "--to-file $dir/absent: No such file"
run 2 u "$bridge" "$ring" --to-file <(echo '# nobody')
fatal u "no destination in it"
