#!/bin/bash
# shellcheck source=tests/lib.sh
. "${0%/*}/../lib.sh"

mkdir -p "$dir/in/sub/deep" "$dir/out"
cd "$dir/in"
echo 1 >plain
echo 2 >sub/plain
echo 3 >sub/deep/plain
echo 4 >.hidden
echo 5 >'a name with blanks'
echo 6 >$'new\nline'
echo 7 >"$(printf '%0240d' 0)"
echo 8 >...
echo 9 >"$(printf 'not-utf8-\377')"
echo 10 >plain.2
echo 11 >-dash
numbers 3000000 >large
consume c1 --output-dir "$dir/out" "$ring"
run 0 p "$producer" "$ring" -- plain sub/plain ./sub/deep/plain ../in/.hidden 'a name with blanks' \
	$'new\nline' "$(printf '%0240d' 0)" ... "$(printf 'not-utf8-\377')" plain.2 ./-dash large - < <(echo 1)
expect c1 0
silent c1

cd "$dir/out"
is() {
	[ "$(cat -- "$1")" = "$2" ] || fail "$1 is not input $2"
}
is plain 1
is plain.2 2
is plain.3 3
is _hidden 4
is 'a name with blanks' 5
is new_line 6
is "$(printf '%0200d' 0)" 7
is _.. 8
is message-8 9
is plain.2.2 10
is ./-dash 11
is message-12 1
same large "$dir/in/large"
[ "$(find . -mindepth 1 | wc -l)" = 13 ] || fail "other files: $(ls -A)"
no_ring
