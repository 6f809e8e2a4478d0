#!/bin/bash
# shellcheck source=tests/kill/play.bash
. "${0%/*}/play.bash"

set -e
cd "$here/../.."
passed=$("$here/scenario.bash" p points && "$here/scenario.bash" a points)
written=$(grep -rhoE 'TESTPOINT\("[^"]+"\)' --include='*.c' --exclude-dir=tests --exclude-dir=build . |
	sed 's/.*"\(.*\)".*/\1/')
missed=$(comm -13 <(sort -u <<<"$passed") <(sort -u <<<"$written"))
[ -z "$missed" ] || {
	printf 'in the source, but never passed:\n%s\n' "$missed"
	exit 1
}
