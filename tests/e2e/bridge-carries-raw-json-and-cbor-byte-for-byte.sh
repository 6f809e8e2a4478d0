#!/bin/bash
# shellcheck source=tests/bridge.bash
. "${0%/*}/../bridge.bash"

need jq

# carry FORMAT ARGUMENT... : the same bytes with a consumer here and with one there.
carry() {
	local format=$1

	shift
	listen r "$ring.m" --summary "$dir/r.json"
	consume there --format "$format" "$ring.m"
	consume here --format "$format" "$ring"
	send s --to "$address" --summary "$dir/s.json"
	run 0 p "$producer" -n 2 "$@"
	for name in s r here there; do
		expect "$name" 0
		silent "$name"
	done
	silent p
	same "$dir/there.out" "$dir/here.out"
	tells s '.exit == 0 and .end == "sending" and .reason == "" and (.destinations | length == 1)'
	tells s '.destinations[0] | .outcome == "complete" and .code == 0 and .reconnects == 0'
	tells r '.exit == 0 and .end == "receiving" and .reconnects == 0'
	tells s ".destinations[0] | .sent_bytes <= .position and
		.position == $(jq .consumers[0].position "$dir/r.json")"
	no_ring
	no_ring_named "$ring.m"
}

numbers 20000000 >"$dir/raw"
seq 30000 | sed 's/.*/{"id":&,"text":"naïve &","list":[&.25,null,[],{}]}/' >"$dir/json"

carry raw "$ring" "$dir/raw"
same "$dir/there.out" "$dir/raw"
carry raw --slots 2 --slot-size 64K "$ring" "$dir/raw"
same "$dir/there.out" "$dir/raw"
carry json --format json "$ring" "$dir/json"
same "$dir/there.out" "$dir/json"
carry cbor --format json "$ring" "$dir/json"
mv "$dir/there.out" "$dir/cbor"
carry cbor --format cbor "$ring" "$dir/cbor"
same "$dir/there.out" "$dir/cbor"

# Several messages, empty ones, nothing at all.
carry raw --digest no "$ring" "$dir/raw" /dev/null "$dir/json"
carry raw "$ring" /dev/null
same "$dir/there.out" /dev/null
carry json --format json "$ring" /dev/null
same "$dir/there.out" /dev/null
