#!/bin/bash
# shellcheck source=tests/lib.sh
. "${0%/*}/../lib.sh"

# As it goes in, and as it comes out: a line each.
while IFS= read -r line; do
	echo "$line"
done >"$dir/expected" <<'END'
{"b":1,"a":2,"b":3}
[0,-0.0,1,-1,1.5,-2.5,1e100]
[18446744073709551615,18446744073709551616,-18446744073709551616,-18446744073709551617]
123456789012345678901234567890123456789012345678901234567890
[0.1,1.10,0.30000000000000004,1e400,-1e-400,3.141592653589793238462643383279502884]
["","\u0000\u001f\"\\/é€😀\b\f\n\r\t"]
[[],{},[[]],{"":{}},null,true,false]
"top"
null
END
{
	# Pretty-printed, concatenated, with every escape.
	printf '\n\t{ "b" : 1 ,\r\n "a":2,\n"b": 3 }[0,-0.0,1,-1,1.5,-2.5,1E+100]'
	sed -n '3,5p' "$dir/expected"
	# shellcheck disable=SC1003 # backslashes for JSON
	printf '%s' '["","\u0000\u001F\u0022\u005c\/\u00e9\u20AC\ud83d\uDE00\b\f\n\r\t"]'
	sed -n '7,8p' "$dir/expected"
	printf null
} >"$dir/input"
consume c1 "$ring"
consume c2 --format cbor "$ring"
run 0 p "$producer" -n 2 --format json "$ring" "$dir/input"
expect c1 0
expect c2 0
same "$dir/c1.out" "$dir/expected"

# By way of CBOR as well.
consume c1 --format json "$ring"
run 0 p "$producer" --format cbor "$ring" "$dir/c2.out"
expect c1 0
same "$dir/c1.out" "$dir/expected"
no_ring
