#!/bin/bash
# shellcheck source=tests/lib.sh
. "${0%/*}/../lib.sh"

# npy FILE DICTIONARY BYTES : an array of format 1.0, padded in a way of its own.
npy() {
	printf '\x93NUMPY\x01\x00\x80\x00%-127s\n' "$2" >"$1"
	numbers "$3" >>"$1"
}

npy "$dir/matrix" "{'descr': '<f8', 'fortran_order': False, 'shape': (25000, 16), }" 3200000
npy "$dir/columns" "{'descr': '>i2', 'fortran_order': True, 'shape': (7, 3), }" 42
npy "$dir/record" "{'descr': [('a', '|S5'), ('b', '<f4', (2,))], 'fortran_order': False, 'shape': (100001,)}" 1300013
npy "$dir/none" "{'descr': '<c16', 'fortran_order': False, 'shape': (3, 0, 2), }" 0
cat "$dir/matrix" "$dir/record" "$dir/columns" >"$dir/several"
for input in matrix columns record none several; do
	consume c1 "$ring"
	consume c2 --format npy "$ring"
	run 0 p "$producer" -n 2 --format npy --slots 2 --slot-size 64K "$ring" "$dir/$input"
	expect c1 0
	expect c2 0
	same "$dir/c1.out" "$dir/$input"
	same "$dir/c2.out" "$dir/$input"
	# From a pipe, whose reads end anywhere.
	consume c1 "$ring"
	produce p --format npy "$ring" < <(cat "$dir/$input")
	expect p 0
	expect c1 0
	same "$dir/c1.out" "$dir/$input"
done

# Several files, each with its name.
mkdir "$dir/received"
consume c1 --output-dir "$dir/received" "$ring"
run 0 p "$producer" --format npy "$ring" "$dir/matrix" "$dir/columns"
expect c1 0
same "$dir/received/matrix" "$dir/matrix"
same "$dir/received/columns" "$dir/columns"
no_ring
