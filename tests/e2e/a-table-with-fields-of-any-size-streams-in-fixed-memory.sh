#!/bin/bash
# shellcheck source=tests/lib.sh
. "${0%/*}/../lib.sh"

need_plain_memory
need prlimit

# Many rows, one of which has a field of 300 MiB, with line ends and quotes.
rows() {
	printf 'n,text\n'
	seq -f '%.0f,"short, as most are"' 1000000
	printf '0,"'
	yes 'a line within a field, with ""quotes"" in it' | head -c $((300 << 20))
	printf '"\n'
	seq -f '%.0f,last' 10
}

limited=(prlimit --as=$((100 << 20)))
DEADLINE=100
mkfifo "$dir/json" "$dir/csv"
start quotes bash -c 'tr -cd "\"" <"$1" | wc -c' bash "$dir/csv"
start lines wc -l "$dir/json"
to=$dir/csv start c1 "${limited[@]}" "$consumer" "$ring"
to=$dir/json start c2 "${limited[@]}" "$consumer" --format json "$ring"
start p "${limited[@]}" "$producer" -n 2 --format csv --summary "$dir/p.json" "$ring" < <(rows)
expect p 0
expect c1 0
expect c2 0
silent p
expect quotes 0
expect lines 0
read -r lines _ <"$dir/lines.out"
[ "$lines" = 1000011 ] || fail "$lines lines of JSON"
quotes=$(rows | tr -cd '"' | wc -c)
[ "$(cat "$dir/quotes.out")" = "$quotes" ] || fail "$(cat "$dir/quotes.out") quotes, not $quotes"
[ "$(jq .messages "$dir/p.json")" = 1 ] || fail "not one message"
[ "$(jq .peak_memory_kib "$dir/p.json")" -lt 16384 ] || fail "not fixed: $(cat "$dir/p.json")"
no_ring
