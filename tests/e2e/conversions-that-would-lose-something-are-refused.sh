#!/bin/bash
# shellcheck source=tests/lib.sh
. "${0%/*}/../lib.sh"

printf '\x93NUMPY\x01\x00\x80\x00%-127s\n' "{'descr': '|i1', 'fortran_order': False, 'shape': (2, 2), }" >"$dir/npy"
printf '\1\2\3\4' >>"$dir/npy"
printf '\x93NUMPY\x01\x00\x80\x00%-127s\n' "{'descr': '|b1', 'fortran_order': False, 'shape': (3,), }" >"$dir/bools"
printf '\0\1\2' >>"$dir/bools"
printf '%%%%MatrixMarket matrix array real general\n%% why\n1 2\n.5\n1e400\n' >"$dir/mtx"
printf '[[1,2],[3,4]]' >"$dir/json"

# refused IN OUT PATTERN
refused() {
	consume c1 --format "$2" "$ring"
	run 1 p "$producer" --format "${4:-$1}" "$ring" "$dir/$1"
	expect c1 4
	fatal c1 "ring \"$ring\": message 0 $3"
	same "$dir/c1.out" /dev/null
}

# shown IN OUT EXPECTED
shown() {
	consume c1 --format "$2" "$ring"
	run 0 p "$producer" --format "$1" "$ring" "$dir/$1"
	expect c1 0
	printf "$3" | cmp - "$dir/c1.out" || fail "$1 as $2 is wrong: $(cat "$dir/c1.out")"
}

refused npy mtx 'is no Matrix Market matrix: .*; use --format json, cbor or diag$'
refused npy raw 'is not a byte string'
refused mtx npy 'is not a typed array: no NumPy array; use --format json, cbor or diag$'
refused json npy 'is not a typed array'
refused json mtx 'is no Matrix Market matrix'
refused bools json 'has a bool that is neither 0 nor 1, which JSON would lose' npy

shown npy json '[[1,2],[3,4]]\n'
shown npy cbor '\xd8\x28\x82\x82\x02\x02\xd8\x48\x44\1\2\3\4'
shown npy diag "40([[2, 2], 72(h'01020304')])\n"
shown mtx mtx '%%%%MatrixMarket matrix array real general\n%% why\n1 2\n0.5\n1e400\n'
shown mtx json '{"object":"matrix","format":"array","field":"real","symmetry":"general","comments":[" why"],"shape":[1,2],"data":[0.5,1e400]}\n'

# Nothing is a record that could be skipped.
run 2 p "$producer" --format npy --skip-bad "$ring" "$dir/npy"
run 2 p "$producer" --format mtx --skip-bad "$ring" "$dir/mtx"
no_ring
