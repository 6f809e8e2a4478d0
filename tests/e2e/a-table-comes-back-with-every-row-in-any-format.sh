#!/bin/bash
# shellcheck source=tests/lib.sh
. "${0%/*}/../lib.sh"

# sent OPTION... : the input through a producer with these options, to csv, json
# and cbor at once.
sent() {
	consume csv "$ring"
	consume json --format json "$ring"
	consume cbor --format cbor "$ring"
	run 0 p "$producer" -n 3 --format csv "$@" "$ring" "${inputs[@]}"
	expect csv 0
	expect json 0
	expect cbor 0
	silent p
	no_ring
}

is() {
	printf '%b' "$2" | cmp - "$dir/$1.out" || fail "$1 is wrong: $(head -c 1000 "$dir/$1.out")"
}

inputs=("$dir/input")
printf 'id,name\n1,"Lovelace, Ada"\n"02",""\n,"""x"""\n' >"$dir/input"
sent
is csv 'id,name\n1,"Lovelace, Ada"\n02,\n,"""x"""\n'
is json '{"id":"1","name":"Lovelace, Ada"}\n{"id":"02","name":""}\n{"id":"","name":"\\"x\\""}\n'
sent --infer
is csv 'id,name\n1,"Lovelace, Ada"\n02,\n,"""x"""\n'
is json '{"id":1,"name":"Lovelace, Ada"}\n{"id":"02","name":""}\n{"id":null,"name":"\\"x\\""}\n'
sent --csv-header no
is csv 'id,name\n1,"Lovelace, Ada"\n02,\n,"""x"""\n'
is json '["id","name"]\n["1","Lovelace, Ada"]\n["02",""]\n["","\\"x\\""]\n'

# What came as CBOR and goes as CBOR is rows once more.
cp "$dir/cbor.out" "$dir/rows.cbor"
consume csv --format csv "$ring"
run 0 p "$producer" --format cbor "$ring" "$dir/rows.cbor"
expect csv 0
is csv 'id,name\n1,"Lovelace, Ada"\n02,\n,"""x"""\n'

# Another dialect comes back as it was.
printf "a\tb\n'x\ty'\t\"\n" >"$dir/input"
sent --delimiter tab --quote "'"
is csv "a\tb\n'x\ty'\t\"\n"
is json '{"a":"x\\ty","b":"\\""}\n'
printf "a\tb\n'x\t\"y\n" >"$dir/input"
sent --delimiter tab --quote none
is csv "a\tb\n'x\t\"y\n"

# Of several, with the same columns, one comes behind the other.
printf 'a,b\n1,2\n' >"$dir/one.csv"
printf 'a,b\n3,4\n' >"$dir/two.csv"
printf 'a,c\n5,6\n' >"$dir/three.csv"
inputs=("$dir/one.csv" "$dir/two.csv")
sent
is csv 'a,b\n1,2\n3,4\n'
is json '{"a":"1","b":"2"}\n{"a":"3","b":"4"}\n'
consume c1 "$ring"
run 1 p "$producer" --format csv "$ring" "$dir/one.csv" "$dir/three.csv"
expect c1 4
fatal c1 "ring \"$ring\": message 1, byte [0-9]+: a table of other columns .*; use --output-dir"
mkdir "$dir/out"
consume c1 --output-dir "$dir/out" "$ring"
run 0 p "$producer" --format csv "$ring" "$dir/one.csv" "$dir/three.csv"
expect c1 0
same "$dir/out/one.csv" "$dir/one.csv"
same "$dir/out/three.csv" "$dir/three.csv"

# Standard input, as it comes: each row is delivered while the next is awaited.
feed_begin
consume c1 --format json "$ring"
start p "$producer" --format csv "$ring" <"$dir/feed"
printf 'a\n1\n2\n3' >&"$feed"
wait_until grep -q '"2"' "$dir/c1.out"
printf '4\n' >&"$feed"
wait_until grep -q '"34"' "$dir/c1.out"
feed_end
expect p 0
expect c1 0
no_ring
