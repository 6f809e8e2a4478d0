#!/bin/bash
#
# demo.sh BINDIR - real data and a large file through a producer, the ring and two
# consumers, one of them beyond a bridge; compares what arrives, shows throughput
# and memory.
#
# DEMO_BYTES: size of the large file (default: 1G).
set -eu

bin=$(cd "$1" && pwd)
real=/usr/share/ieee-data/oui.csv
export LC_ALL=C

folder=$(mktemp -d "${TMPDIR:-/tmp}/sluice-demo.XXXXXXXX")
ring=demo-${folder##*.}
started=()

leave() {
	local status=$?

	trap - EXIT
	[ "${#started[@]}" = 0 ] || kill -KILL "${started[@]}" 2>/dev/null || :
	rm -rf "$folder"
	exit "$status"
}
trap leave EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# field FILE KEY : a number of an account.
field() {
	sed -E 's/.*"'"$2"'":([0-9.]+).*/\1/' "$1"
}

# show PROGRAM ACCOUNT
show() {
	awk -v program="$1" -v seconds="$(field "$2" seconds)" -v kib="$(field "$2" peak_memory_kib)" \
		'BEGIN { printf "  %-16s %6.2f s, peak memory %5.1f MiB\n", program, seconds, kib / 1024 }'
}

# consume N RING : in the background, what arrives to sha256sum.
consume() {
	(
		set -o pipefail
		"$bin/sluice-consumer" --name "consumer $1" --summary "$folder/consumer$1.json" "$2" |
			sha256sum >"$folder/sum$1"
	) &
	started+=($!)
}

# bridge RING MIRROR : in the background, two of them, over TCP.
bridge() {
	local address

	mkfifo "$folder/address"
	"$bin/sluice-bridge" --summary "$folder/there.json" --listen 127.0.0.1:0 "$2" >"$folder/address" &
	started+=($!)
	read -r address <"$folder/address"
	rm "$folder/address"
	"$bin/sluice-bridge" --summary "$folder/here.json" --to "$address" "$1" &
	started+=($!)
}

# stream FILE TITLE : through the pipeline, and compare.
stream() {
	local file=$1 i bytes program

	bytes=$(stat -c %s "$file")
	echo "$2, $bytes bytes, to a consumer here and one beyond a bridge"
	started=()
	consume 1 "$ring"
	bridge "$ring" "$ring-there"
	consume 2 "$ring-there"
	"$bin/sluice-producer" --consumers 2 --summary "$folder/producer.json" "$ring" "$file"
	for program in "${started[@]}"; do
		wait "$program"
	done
	started=()

	show producer "$folder/producer.json"
	show "consumer here" "$folder/consumer1.json"
	show "sending bridge" "$folder/here.json"
	show "receiving bridge" "$folder/there.json"
	show "consumer there" "$folder/consumer2.json"
	awk -v bytes="$bytes" -v seconds="$(field "$folder/producer.json" seconds)" \
		'BEGIN { printf "  %.0f MB/s to each, as fast as sha256sum takes it\n", bytes / seconds / 1e6 }'

	sha256sum <"$file" >"$folder/sum"
	for i in 1 2; do
		cmp "$folder/sum" "$folder/sum$i" || {
			echo "demo: consumer $i got something else" >&2
			exit 1
		}
	done
	echo "  sha256 $(cut -c 1-64 "$folder/sum"): the same three times"
	for i in "$ring" "$ring-there"; do
		[ ! -e "/dev/shm/sluice.$i" ] || {
			echo "demo: the name of ring $i is still there" >&2
			exit 1
		}
	done
}

[ -r "$real" ] || {
	echo "demo: no $real (Debian's package ieee-data has it)" >&2
	exit 1
}
stream "$real" "The IEEE's registry of hardware addresses"

# Bytes that differ wherever they are looked at.
seq 1000000000 2>/dev/null | head -c "${DEMO_BYTES:-1G}" >"$folder/large" || :
stream "$folder/large" "A large file"
