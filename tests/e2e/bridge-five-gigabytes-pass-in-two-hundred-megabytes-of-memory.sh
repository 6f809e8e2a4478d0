#!/bin/bash
# shellcheck source=tests/bridge.bash
. "${0%/*}/../bridge.bash"

need_plain_memory
need prlimit jq

size=$((5 << 30))
limited=(prlimit --as=$((200 << 20)))

start r "${limited[@]}" "$bridge" "$ring.m" --listen 127.0.0.1:0 --summary "$dir/r.json"
address_of r
# It computes the digest of what came, and compares it with the producer's.
consume c --format null --summary "$dir/c.json" "$ring.m"
start s "${limited[@]}" "$bridge" "$ring" --to "$address" --summary "$dir/s.json"
produce p --summary "$dir/p.json" "$ring" < <(yes 'a line of text whose length is odd' | head -c "$size")
DEADLINE=100
expect p 0
all_expect 0 s r c
tells p "[.messages, .input_bytes] == [1, $size]"
tells s ".destinations[0].position > $size and .peak_memory_kib < 32768"
tells c ".messages == 1"
tells r '.peak_memory_kib < 32768'
no_ring
