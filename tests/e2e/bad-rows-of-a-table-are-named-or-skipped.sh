#!/bin/bash
# shellcheck source=tests/lib.sh
. "${0%/*}/../lib.sh"

# bad OPTION... : the rows of the input that follow "a,b" are bad, each of them.
bad() {
	local i lines

	lines=$(wc -l <"$dir/bad")
	for ((i = 1; i <= lines; i++)); do
		{ echo a,b; echo 1,2; sed -n "${i}p" "$dir/bad" | tr @ '\n'; echo 3,4; } >"$dir/input"
		consume c1 --output "$dir/result" "$ring"
		run 4 p "$producer" --format csv "$@" "$ring" "$dir/input"
		fatal p "cannot parse $dir/input: line [34], column [0-9]+: $(sed -n "${i}p" "$dir/why")\$"
		expect c1 1
		fatal c1 "the producer aborted at message 0, byte [0-9]+ \(exit code 4\)"
		no_file "$dir/result"
		consume c1 "$ring"
		run 1 p "$producer" --format csv --skip-bad "$@" "$ring" "$dir/input"
		fatal p "1 bad record was skipped\$"
		said p "warning: cannot parse $dir/input: line [34], column [0-9]+: $(sed -n "${i}p" "$dir/why"); skipped\$" ||
			fail "not told"
		expect c1 0
		printf 'a,b\n1,2\n3,4\n' | cmp - "$dir/c1.out" || fail "not the good ones: $(cat "$dir/c1.out")"
	done
}

printf '5\n5,6,7\n\n5,"6"7\n5, "6"\n5,"x@y"7,8\n\377,\n5,\0\n' >"$dir/bad"
cat >"$dir/why" <<'EOF'
row of 1 field, not 2
row of more than 2 fields
row of 1 field, not 2
text behind a closing quote
quote within a field that does not begin with one
text behind a closing quote
bytes that are not UTF-8
NUL byte
EOF
bad
printf '\377,\n' >"$dir/bad"
echo "bytes that are not ASCII" >"$dir/why"
bad --encoding ASCII

# A quote that is never closed takes all that follows.
printf 'a,b\n1,2\n3,"4\n5,6\n' >"$dir/input"
consume c1 "$ring"
run 1 p "$producer" --format csv --skip-bad --summary "$dir/p.json" "$ring" "$dir/input"
expect c1 0
said p "line 3, column 3: quote that is never closed; skipped" || fail "not told"
[ "$(jq .bad_records "$dir/p.json")" = 1 ] || fail "not counted"
printf 'a,b\n1,2\n' | cmp - "$dir/c1.out" || fail "not the good ones"

# Without names there is no table; the next one may have some.
: >"$dir/empty"
consume c1 "$ring"
run 4 p "$producer" --format csv "$ring" "$dir/empty"
fatal p "cannot parse $dir/empty: line 1, column 1: no column names"
expect c1 1
consume c1 "$ring"
run 1 p "$producer" --format csv --skip-bad "$ring" "$dir/empty" "$dir/input"
fatal p "2 bad records were skipped"
expect c1 0
printf 'a,b\n1,2\n' | cmp - "$dir/c1.out" || fail "not the good ones"
consume c1 "$ring"
run 0 p "$producer" --format csv --csv-header no "$ring" "$dir/empty"
expect c1 0

# Two columns of one name are no object.
printf 'a,a\n1,2\n' >"$dir/input"
consume c1 --format json "$ring"
run 1 p "$producer" --format csv "$ring" "$dir/input"
expect c1 4
fatal c1 "message 0, byte [0-9]+: two columns of one name"

# One that was sent in part is given up.
{ printf 'a,b\n1,2\n"'; numbers 3000000; printf '"x,2\n3,4\n'; } >"$dir/input"
consume c1 "$ring"
run 1 p "$producer" --format csv --skip-bad --slots 2 --slot-size 64K "$ring" "$dir/input"
said p "text behind a closing quote; all that follows in it is skipped" || fail "not told"
expect c1 1
fatal c1 "the producer gave up 1 message"
no_ring
