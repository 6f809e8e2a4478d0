#!/bin/bash
# shellcheck source=tests/lib.sh
. "${0%/*}/../lib.sh"

# refused PATTERN DICTIONARY : followed by 100 bytes
refused() {
	printf '\x93NUMPY\x01\x00\x80\x00%-127s\n' "$2" >"$dir/input"
	numbers 100 >>"$dir/input"
	consume c1 "$ring"
	run 4 p "$producer" --format npy "$ring" "$dir/input"
	fatal p "cannot parse $dir/input: byte [0-9]+: $1"
	expect c1 1
	same "$dir/c1.out" /dev/null
}

refused 'a shape that is too large' "{'descr': '<f8', 'fortran_order': False, 'shape': (4294967296, 4294967296, 3), }"
refused 'a shape that is too large' "{'descr': '<f8', 'fortran_order': False, 'shape': (2305843009213693952,), }"
refused 'a dimension that is too large' "{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999999999999,), }"
refused 'the header says that 8000000000000000000 bytes of data follow; there are 100' \
	"{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000000000,), }"
refused 'expected a dimension' "{'descr': '<f8', 'fortran_order': False, 'shape': (-3,), }"
refused 'a key that occurs twice' "{'descr': '<f8', 'descr': '<f8', 'fortran_order': False, 'shape': (3,), }"
refused 'a key other than' "{'descr': '<f8', 'fortran_order': False, 'shape': (3,), 'x': 1}"
refused 'expected a string' "{'descr': __import__('os').system('true'), 'fortran_order': False, 'shape': (3,), }"
refused 'an array of Python objects' "{'descr': '|O', 'fortran_order': False, 'shape': (3,), }"

# An array is one, whatever comes after it.
printf '\x93NUMPY\x01\x00\x80\x00%-127s\n' "{'descr': '|u1', 'fortran_order': False, 'shape': (99,), }" >"$dir/input"
numbers 100 >>"$dir/input"
consume c1 "$ring"
run 4 p "$producer" --format npy "$ring" "$dir/input"
fatal p 'byte 237: bytes after the array that are no other array'
expect c1 1
head -c 237 "$dir/input" | cmp - "$dir/c1.out" || fail "not the array"

# A header whose length is a lie.
printf '\x93NUMPY\x02\x00\xff\xff\xff\xff{}' >"$dir/input"
consume c1 "$ring"
run 4 p "$producer" --format npy "$ring" "$dir/input"
fatal p 'a header of more than 256 KiB'
expect c1 1

# Less than it said, when some of it was sent.
printf '\x93NUMPY\x01\x00\x80\x00%-127s\n' "{'descr': '<f8', 'fortran_order': False, 'shape': (1000000,), }" >"$dir/input"
numbers 7999999 >>"$dir/input"
consume c1 --output "$dir/output" "$ring"
produce p --format npy "$ring" < <(cat "$dir/input")
expect p 4
fatal p 'cannot parse \(standard input\): byte 8000137: ends within the data'
expect c1 1
no_file "$dir/output"
no_ring
