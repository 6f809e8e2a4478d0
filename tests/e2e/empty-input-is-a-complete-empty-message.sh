#!/bin/bash
# shellcheck source=tests/lib.sh
. "${0%/*}/../lib.sh"

: >"$dir/empty"
for input in - "$dir/empty"; do
	consume c1 --summary "$dir/c1.json" "$ring"
	consume c2 --output "$dir/result" "$ring"
	run 0 p "$producer" -n 2 --summary "$dir/p.json" "$ring" "$input" </dev/null
	expect c1 0
	expect c2 0
	silent p
	silent c1
	for program in p c1; do
		[ "$(jq -c '[.exit, .messages]' "$dir/$program.json")" = "[0,1]" ] ||
			fail "$program did not count one message"
	done
	same "$dir/c1.out" /dev/null
	same "$dir/result" /dev/null
	rm "$dir/result"
	no_ring
done

# No JSON text, no CBOR item: no message, and complete.
for format in json cbor; do
	consume c1 "$ring"
	run 0 p "$producer" --format "$format" --summary "$dir/p.json" "$ring" </dev/null
	expect c1 0
	[ "$(jq -c '[.exit, .messages]' "$dir/p.json")" = "[0,0]" ] || fail "$format counted a message"
	same "$dir/c1.out" /dev/null
done
