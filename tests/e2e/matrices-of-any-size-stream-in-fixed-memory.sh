#!/bin/bash
# shellcheck source=tests/lib.sh
. "${0%/*}/../lib.sh"

need_plain_memory
need prlimit

limited=(prlimit --as=$((100 << 20)))

# streams FORMAT GENERATOR : comes back the same, and is the same as JSON whatever
# the frames.
streams() {
	mkfifo "$dir/$1"
	start compare cmp "$dir/$1" <("$2")
	to=$dir/$1 start c1 "${limited[@]}" "$consumer" "$ring"
	start c2 "${limited[@]}" "$consumer" --format json --output /dev/null "$ring"
	start p "${limited[@]}" "$producer" -n 2 --format "$1" --summary "$dir/p.json" "$ring" < <("$2")
	DEADLINE=100
	expect p 0
	expect c1 0
	expect c2 0
	expect compare 0
	[ "$(jq .messages "$dir/p.json")" = 1 ] || fail "not one message"
	rm "$dir/$1"
}

array() {
	printf '\x93NUMPY\x01\x00\x80\x00%-127s\n' "{'descr': '<i4', 'fortran_order': True, 'shape': (3, 22369621), }"
	yes 'a line of text whose length is odd and thus no part of a page' | head -c $((3 * 22369621 * 4))
}

matrix() {
	printf '%%%%MatrixMarket matrix coordinate real symmetric\n1000000 1000000 5000000\n'
	yes '999999 7 -0.25' | head -n 5000000
}

streams npy array
streams mtx matrix
no_ring
