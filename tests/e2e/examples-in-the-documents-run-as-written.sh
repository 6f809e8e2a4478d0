#!/bin/bash
# shellcheck source=tests/lib.sh
. "${0%/*}/../lib.sh"

for document in README.md producer/sluice-producer.1 consumer/sluice-consumer.1 bridge/sluice-bridge.1; do
	mkdir "$dir/here"
	cd "$dir/here"
	# What the examples speak of.
	seq -f '%.0f,LHR,JFK' 100000 >flights.csv
	printf '%s\n' '{"from":"LHR","to":"JFK"}' '{"from":"JFK","to":"LHR"}' >records.ndjson
	timeout 100 "$tests/doc-examples.sh" "$root/$document" "$SLUICE_BIN" "$ring" ||
		fail "$document has an example that does not do what it says"
	cd "$dir"
	rm -r here
	no_ring
done
