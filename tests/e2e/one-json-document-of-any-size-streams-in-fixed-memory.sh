#!/bin/bash
# shellcheck source=tests/lib.sh
. "${0%/*}/../lib.sh"

need_plain_memory
need prlimit

record=',{"number":12345678901234567890123,"decimal":-0.25,"text":"some \"quoted\" text","list":[1,2,3,null]}'
generate() {
	printf '[{"first":true}'
	yes "$record" | tr -d '\n' | head -c $((${#record} * 2000000))
	printf ']\n'
}
limited=(prlimit --as=$((100 << 20)))

mkfifo "$dir/json"
to=$dir/json start c1 "${limited[@]}" "$consumer" "$ring"
start compare cmp "$dir/json" <(generate)
start p "${limited[@]}" "$producer" --format json --summary "$dir/p.json" "$ring" < <(generate)
DEADLINE=100
expect p 0
expect c1 0
expect compare 0
[ "$(jq .messages "$dir/p.json")" = 1 ] || fail "not one message"
no_ring
