# shellcheck shell=bash
#
# play.bash - run $SCENARIO (scenario.bash) for every testpoint that its victim passes;
# sourced by each kill test.

set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
AT_ONCE=${PLAYS_AT_ONCE:-4}
SCENARIO=${SCENARIO:-scenario.bash}

# Until fewer than $1 are running.
settle() {
	while [ "${#running[@]}" -ge "$1" ]; do
		wait -n -p pid "${!running[@]}" || failed=$((failed + 1))
		unset "running[$pid]"
	done
}

# play VICTIM HOW COUNT... : at each point's passages COUNT.
play() {
	local victim=$1 how=$2 point points passage pid failed=0 plays=0
	local -A running=()

	shift 2
	points=$("$here/$SCENARIO" "$victim" points) || {
		echo "$points"
		exit 1
	}
	for point in $points; do
		for passage; do
			settle "$AT_ONCE"
			"$here/$SCENARIO" "$victim" "$point" "$passage" "$how" &
			running[$!]=1
			plays=$((plays + 1))
		done
	done
	settle 1
	echo "$((plays - failed)) of $plays plays went well"
	[ "$plays" -gt 0 ] && [ "$failed" = 0 ]
}
