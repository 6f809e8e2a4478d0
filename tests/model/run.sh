#!/bin/bash
# Check the models of the ring's protocols, in sizes that take seconds; and
# that weakened ones are found out.  A line per run.
set -u

here=$(cd "$(dirname "$0")" && pwd)

if ! command -v spin > /dev/null; then
	echo "model: SKIPPED, spin is not installed: the ring's protocols were NOT checked" >&2
	exit 77
fi

work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

# What must hold, then what must break.
runs=(
	"holds ring.pml -DBUDGET=0"
	"holds ring.pml -DBUDGET=1 -DN=1 -DSLOTS=1"
	"holds attach.pml -DKILLS=0"
	"holds attach.pml -DSLOTS=3 -DEVICTIONS=0"
	"holds attach.pml -DLINGERS -DSLOTS=3 -DEVICTIONS=0"
	"holds takeover.pml -DH=2 -DD=1 -DC=0 -DR=0"
	"holds takeover.pml -DH=1 -DD=1 -DC=1 -DR=0"
	"holds takeover.pml -DH=1 -DD=0 -DC=1 -DR=1"
	"holds takeover.pml -DH=2 -DD=0 -DC=0 -DR=1 -DKILLS=2"
	"holds end.pml -DTOTAL=1 -DEVICTIONS=0"
	"holds end.pml -DKILLS=0 -DEVICTIONS=0 -DLATE"
	"breaks ring.pml -DBUDGET=0 -DNODRAIN"
	"breaks ring.pml -DBUDGET=0 -DNAIVE_WISH"
	"breaks ring.pml -DBUDGET=0 -DWIDE_WISH"
	"breaks ring.pml -DBUDGET=0 -DEND_SILENT"
	"breaks ring.pml -DBUDGET=0 -DRECHECK_FIRST"
	"breaks ring.pml -DBUDGET=0 -DOWED_SLEEP"
	"breaks attach.pml -DMIN_WITHOUT_HEAD"
	"breaks attach.pml -DNO_SECOND_LOOK"
	"breaks attach.pml -DNO_CHECK"
	"breaks attach.pml -DLINGERS -DPROBE_THEN_STORE"
	"breaks attach.pml -DLINGERS -DKEY_FIRST -DSLOTS=3 -DEVICTIONS=0"
	"breaks attach.pml -DLINGERS -DNO_BUMP"
	"breaks attach.pml -DLINGERS -DLINGER_NOT_SCANNED"
	"breaks takeover.pml -DREMOVER_FREE -DH=1 -DC=0 -DR=0"
	"breaks takeover.pml -DREMOVER_FREE -DH=0 -DC=1 -DR=0"
	"breaks takeover.pml -DHEIR_FREE -DH=1 -DC=0 -DR=0"
	"breaks takeover.pml -DLOOK_FIRST -DH=1 -DC=0 -DR=0"
	"breaks takeover.pml -DNAME_UNSEEN -DH=1 -DD=0 -DC=0 -DR=0"
	"breaks takeover.pml -DNAME_FIRST -DH=1 -DD=0 -DC=0 -DR=0"
	"breaks takeover.pml -DBYTE_UNTAKEN -DH=2 -DD=0 -DC=0 -DR=0"
	"breaks takeover.pml -DTIME_LAST -DH=1 -DD=0 -DC=0"
	"breaks takeover.pml -DSIGN_UNSEEN -DH=1 -DD=0 -DC=0"
	"breaks end.pml -DHEAD_FIRST"
	"breaks end.pml -DDEATH_LAST"
	"breaks end.pml -DRESULT_FIRST"
	"breaks end.pml -DLATE -DNO_NOTE"
)

# check_model NUMBER holds|breaks MODEL SWITCH...  Leaves its verdict in NUMBER/verdict.
check_model() {
	local number=$1 wanted=$2 model=$3 optimize=-O1 found states
	shift 3

	# What breaks does so at once: compiling is what takes time.
	if [ "$wanted" = breaks ]; then optimize=-O0; fi
	mkdir "$work/$number" && cd "$work/$number" || return
	cp "$here/$model" . &&
		spin "$@" -a "$model" > spin.out 2>&1 &&
		gcc $optimize -w -DSAFETY -DNOREDUCE -DCOLLAPSE -DMEMLIM=800 -o pan pan.c &&
		./pan -m200000 -E -w22 > pan.out 2>&1
	states=$(sed -n 's/^ *\([0-9]*\) states, stored.*/\1/p' pan.out 2> /dev/null)
	if grep -q 'errors: 0' pan.out 2> /dev/null && ! grep -q 'Search not completed' pan.out; then
		found=holds
	elif grep -q 'assertion violated' pan.out 2> /dev/null; then
		found=breaks
	else
		found="did not run to its end"
		cat spin.out pan.out >&2 2> /dev/null
	fi
	if [ "$found" = "$wanted" ]; then
		echo "ok    $model $*: $found ($states states)"
	else
		echo "FAIL  $model $*: wanted: $wanted; found: $found"
	fi > verdict
}

status=0
for number in "${!runs[@]}"; do
	while [ "$(jobs -rp | wc -l)" -ge 2 ]; do
		wait -n
	done
	# shellcheck disable=SC2086  # the switches are words
	(check_model "$number" ${runs[$number]}) &
done
wait

for number in "${!runs[@]}"; do
	verdict=$(cat "$work/$number/verdict" 2> /dev/null) || verdict="FAIL  ${runs[$number]}: no verdict"
	echo "$verdict"
	case $verdict in
	ok*) ;;
	*) status=1 ;;
	esac
done
exit $status
