#!/bin/bash
#
# doc-examples.sh DOCUMENT BINDIR RING - run a document's examples as they are
# written there, in the present folder, and compare what they print.
#
# Examples are the lines of "```console" blocks (Markdown) or of literal
# displays in the section EXAMPLES (a manual page).  "$ " begins a command,
# other lines are what the block's commands print, on stdout or stderr; "..."
# in them stands for anything, alone on a line for any lines.  Each command must
# exit with 0.  All of a document runs in one shell, against the programs in
# BINDIR; its ring "flights" is called RING meanwhile, "flights-..." RING-..., and
# its ports 7000 to 7009 are others.
set -eu

document=$1
bin=$(cd "$2" && pwd)
ring=$3
PATH=$bin:$PATH
export PATH LC_ALL=C.UTF-8

# ---- the document ----------------------------------------------------------------

# The blocks' lines, each block after a line "@".
blocks_of() {
	case $document in
	*.md)
		awk '/^```console$/ { within = 1; print "@"; next } /^```/ { within = 0 } within' "$document"
		;;
	*)
		awk '/^\.Sh / { section = $2 }
			section != "EXAMPLES" { next }
			/^\.Bd / { within = 1; print "@"; next }
			/^\.Ed/ { within = 0 }
			within { gsub(/\\-/, "-"); gsub(/\\&/, ""); gsub(/\\e/, "\\"); print }' "$document"
		;;
	esac
}

# Ten ports that the kernel gives nobody by itself.
ports=$((1000 + $$ % 2200))

# The ring's name, but not a file's that begins with it.
renamed() {
	sed -E 's,(^|[^[:alnum:]_./-])flights($|[^[:alnum:]_.]),\1'"$ring"'\2,g
		s,sluice\.flights,sluice.'"$ring"',g
		s,:700([0-9]),:'"$ports"'\1,g'
}

blocks=()
while IFS= read -r line; do
	if [ "$line" = @ ]; then
		blocks+=("")
	else
		blocks[-1]+=$line$'\n'
	fi
done < <(blocks_of | renamed)
[ "${#blocks[@]}" -gt 0 ] || {
	echo "$document has no examples"
	exit 1
}

# ---- the run -----------------------------------------------------------------------

# One shell for all commands; each block prints to a file of its own.
script=$(mktemp) transcript=$(mktemp)
trap 'rm -f "$script" "$transcript"' EXIT
trap 'exit 143' TERM
number=0
for block in "${blocks[@]}"; do
	printf 'exec >"%s.%d" 2>&1\n' "$transcript" "$number"
	while IFS= read -r line; do
		[ "${line:0:2}" = '$ ' ] || continue
		printf '%s\n' "${line:2}"
		# shellcheck disable=SC2016 # for that shell to expand
		printf '{ status=$?; [ "$status" = 0 ] || { echo "exit $status"; exit 1; } } 2>/dev/null\n'
	done <<<"${block%$'\n'}"
	number=$((number + 1))
done >"$script"

# A group of its own: what an example that failed left running goes with it.
failed=0
setsid bash "$script" </dev/null &
shell=$!
trap 'kill -KILL -- "-$shell" 2>/dev/null || :; rm -f "$script" "$transcript" "$transcript".*' EXIT
wait "$shell" || failed=1

# expected LINES, got LINES: "..." matches as the heading says.
matches() {
	local -n want=$1 got=$2
	local i=0 j=0 rest pattern

	for ((i = 0; i < ${#want[@]}; i++)); do
		if [ "${want[i]}" = ... ]; then
			rest=$((${#want[@]} - i - 1))
			j=$((${#got[@]} - rest))
			continue
		fi
		[ "$j" -ge 0 ] && [ "$j" -lt "${#got[@]}" ] || return 1
		pattern=$(printf '%s' "${want[i]}" | sed -E 's/[][\\*?(){}|!+@]/\\&/g; s/\.\.\./*/g')
		# shellcheck disable=SC2053 # a pattern
		[[ ${got[j]} == $pattern ]] || return 1
		j=$((j + 1))
	done
	[ "$j" = "${#got[@]}" ]
}

number=0
for block in "${blocks[@]}"; do
	# shellcheck disable=SC2034 # by name
	mapfile -t wanted < <(printf '%s' "$block" | grep -v '^\$ ')
	# A shell reports the death of what was killed, and a bridge that is there
	# first that the other one is not.
	mapfile -t printed < <(grep -Ev -e ': line [0-9]+: +[0-9]+ Killed' \
		-e 'Connection refused; trying for up to 30\.0 s$' \
		-e 'connected, goes on at byte 0$' "$transcript.$number")
	if ! matches wanted printed; then
		failed=1
		echo "--- $document, example $((number + 1)):"
		printf '%s' "$block"
		echo "--- printed:"
		printf '%s\n' "${printed[@]}"
		break
	fi
	number=$((number + 1))
done
exit "$failed"
