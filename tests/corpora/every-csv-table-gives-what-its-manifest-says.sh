#!/bin/bash
# shellcheck source=tests/corpora/corpora.bash
. "${0%/*}/corpora.bash"

check csv_tables
