#!/bin/bash
# shellcheck source=tests/lib.sh
. "${0%/*}/../lib.sh"

# shown FORMAT EXPECTED : of the input, with exit 0.
shown() {
	consume c1 --format "$1" "$ring"
	run 0 p "$producer" --format "$kind" "$ring" "$dir/input"
	expect c1 0
	printf '%b' "$2" | cmp - "$dir/c1.out" || fail "$kind as $1 is wrong: $(od -c "$dir/c1.out")"
}

kind=raw
printf 'hello' >"$dir/input"
shown auto hello
shown raw hello
shown cbor '\0105hello'
shown json '"aGVsbG8"\n'
shown diag "h'68656c6c6f'\n"
shown null ''

kind=json
printf '"hello" [1]' >"$dir/input"
shown auto '"hello"\n[1]\n'
shown cbor '\0145hello\0201\0001'
shown diag '"hello"\n[1]\n'
printf '"hello"' >"$dir/input"
shown raw hello

kind=cbor
printf '\x45hello' >"$dir/input"
shown auto '\0105hello'
shown raw hello

kind=csv
printf '\357\273\277a,b\r\n1,"x\n"\r\n' >"$dir/input"
shown auto 'a,b\n1,"x\n"\n'
shown csv 'a,b\n1,"x\n"\n'
shown json '{"a":"1","b":"x\\n"}\n'
shown cbor '\0202\0141a\0141b\0202\01411\0142x\n'
shown diag '["a", "b"]\n["1", "x\\n"]\n'
shown null ''

# What is no string has no raw bytes.
printf '\xa1\x01\xf7' >"$dir/input"
consume c1 --format raw "$ring"
run 1 p "$producer" --format cbor "$ring" "$dir/input"
expect c1 4
fatal c1 "ring \"$ring\": message 0 is not a byte string; use --format json, cbor or diag$"
same "$dir/c1.out" /dev/null
no_ring
