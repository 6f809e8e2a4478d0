#!/bin/bash
# shellcheck source=tests/lib.sh
. "${0%/*}/../lib.sh"

need_plain_memory
need prlimit

size=$((5 << 30))
# A period that is no divisor of any power of two, so that a lost page shows.
generate() {
	yes 'a line of text whose length is odd and thus no part of a page' | head -c "$size"
}
limited=(prlimit --as=$((200 << 20)))

mkfifo "$dir/raw"
start compare cmp "$dir/raw" <(generate)
start c1 "${limited[@]}" "$consumer" --format null "$ring"
to=$dir/raw start c2 "${limited[@]}" "$consumer" --format raw "$ring"
start p "${limited[@]}" "$producer" -n 2 --summary "$dir/p.json" "$ring" < <(generate)
DEADLINE=100
expect p 0
expect c1 0
expect c2 0
expect compare 0
silent p
[ "$(jq -c '[.messages, .input_bytes]' "$dir/p.json")" = "[1,$size]" ] ||
	fail "not one message of 5 GiB: $(cat "$dir/p.json")"
no_ring
