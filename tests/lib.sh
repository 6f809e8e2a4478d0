# shellcheck shell=bash
#
# lib.sh - what the tests of whole programs have in common; sourced by each.
#
# A test gets a temporary folder ($dir) and a ring name ($ring) of its own, and
# leaves neither behind, however it ends.  It starts programs in the background
# under names of its choice, and never waits without a deadline:
#
#   start NAME COMMAND...    stdout to $dir/NAME.out, or to $to if that is set;
#                            stderr to $dir/NAME.err
#   expect NAME CODE...      it ends in time, with one of these exit codes
#   fatal NAME PATTERN       it said one fatal line, and that one matches
set -eu

tests=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=${tests%/*}
VARIANT=${VARIANT:-release}
SLUICE_BIN=${SLUICE_BIN:-$root/build/$VARIANT}
producer=$SLUICE_BIN/sluice-producer
consumer=$SLUICE_BIN/sluice-consumer
export LC_ALL=C

dir=$(mktemp -d "${TMPDIR:-/tmp}/sluice-test.XXXXXXXX")
ring=test-$$-${dir##*.}
DEADLINE=${DEADLINE:-20}           # seconds; only reached on failure

declare -A pids=()                 # of what was started, by name
held=()                            # our descriptors, which children must not keep

# ---- how a test ends -----------------------------------------------------------

last_orders=()

# at_end COMMAND : run it when the test is over and its processes are gone.
at_end() {
	last_orders+=("$1")
}

ended() {
	local status=$? name order

	trap - EXIT
	for name in "${!pids[@]}"; do
		kill -KILL "${pids[$name]}" 2>/dev/null || :
	done
	exec 2>/dev/null           # as in ended_with
	wait
	if [ "$status" = 0 ] && ls "/dev/shm/sluice.$ring"*; then
		echo "$0: a ring is left behind"
		status=1
	fi
	rm -f "/dev/shm/sluice.$ring" "/dev/shm/sluice.$ring".*
	rm -rf "$dir"
	for order in "${last_orders[@]}"; do
		eval "$order"
	done
	exit "$status"
}
trap ended EXIT
trap 'exit 143' TERM
trap 'exit 130' INT

fail() {
	local i err lines=

	for ((i = 1; i < ${#BASH_SOURCE[@]}; i++)); do
		[ "${BASH_SOURCE[i]}" != "$0" ] || lines="${BASH_LINENO[i - 1]} $lines"
	done
	echo "$0: line ${lines% }: $*"
	for err in "$dir"/*.err; do
		[ -s "$err" ] || continue
		echo "--- ${err##*/}"
		tail -n 20 "$err"
	done
	exit 1
}

skip() {
	echo "$*"
	exit 77
}

# ---- waiting -------------------------------------------------------------------

mkfifo "$dir/never"
exec {never}<>"$dir/never"
held+=("$never")

# A few milliseconds, without a process.
pause() {
	read -rt 0.01 -u "$never" || :
}

# wait_until COMMAND... : poll it until it succeeds.
wait_until() {
	local end=$((SECONDS + DEADLINE))

	until "$@" 2>/dev/null; do
		[ "$SECONDS" -lt "$end" ] || fail "not within $DEADLINE s: $*"
		pause
	done
}

# size_is_at_least FILE BYTES
size_is_at_least() {
	[ "$(stat -c %s "$1" 2>/dev/null || echo 0)" -ge "$2" ]
}

state_is() {
	local stat

	read -r stat <"/proc/${pids[$1]}/stat" && stat=${stat##*) } && [ "${stat%% *}" = "$2" ]
}

# Its main thread sleeps: in "pipe_" (nobody reads or writes the other end), in
# "futex" (it waits for its peers in the ring), in "poll".
sleeps_in() {
	grep -q "$2" "/proc/${pids[$1]}/wchan"
}

gone() {
	[ -z "${pids[$1]:-}" ] || ! kill -0 "${pids[$1]}"
}

# ---- programs ------------------------------------------------------------------

start() {
	local name=$1 to=${to:-$dir/$1.out}

	shift
	# Whoever looks before the program runs is not to see another's output.
	[ -p "$to" ] || : >"$to"
	: >"$dir/$name.err"
	(
		for fd in "${held[@]}"; do
			exec {fd}>&-
		done
		[ -z "${ready:-}" ] || exec 9>"$ready"
		exec "$@"
	) <&0 >"$to" 2>"$dir/$name.err" &
	pids[$name]=$!
}

# start_ready NAME PROGRAM ARGUMENT... : start it, and wait until it says that
# it is ready.
start_ready() {
	local name=$1 ready=$dir/$1.ready line fd

	mkfifo "$ready"
	exec {fd}<>"$ready"
	held+=("$fd")
	start "$@" --ready-fd 9
	read -rt "$DEADLINE" -u "$fd" line || fail "$name was not ready in time"
	[ -z "$line" ] || fail "$name said more than a newline"
	exec {fd}>&-
	rm "$ready"
}

produce() {
	local name=$1

	shift
	start "$name" "$producer" "$@"
}

consume() {
	local name=$1

	shift
	start "$name" "$consumer" "$@"
}

# consumers N ARGUMENT... : c1 .. cN
consumers() {
	local i n=$1

	shift
	for ((i = 1; i <= n; i++)); do
		consume "c$i" "$@"
	done
}

# ended_with NAME : sets $code; fails if it does not end in time.
ended_with() {
	local end=$((SECONDS + DEADLINE))

	until gone "$1" 2>/dev/null; do
		[ "$SECONDS" -lt "$end" ] || fail "$1 did not end within $DEADLINE s"
		pause
	done
	code=0
	wait "${pids[$1]}" || code=$?
	unset "pids[$1]"
} 2>/dev/null                      # the shell would say what was killed

expect() {
	local name=$1 code want

	shift
	ended_with "$name"
	for want; do
		[ "$code" -ne "$want" ] || return 0
	done
	fail "$name exited with $code, not with $*"
}

# Run in the foreground: run CODE NAME COMMAND...
run() {
	local want=$1 name=$2

	shift 2
	start "$name" "$@" <&0
	expect "$name" "$want"
}

signal() {
	kill -"$2" "${pids[$1]}"
}

# Stop it, and see it stopped.
stop() {
	signal "$1" STOP
	wait_until state_is "$1" T
}

# ---- what they said ---------------------------------------------------------------

fatal() {
	local lines

	lines=$(grep -c '^sluice-[a-z]*: fatal: ' "$dir/$1.err") || :
	[ "$lines" = 1 ] || fail "$1 said $lines fatal lines, not one"
	grep -Eq "^sluice-[a-z]*: fatal: .*$2" "$dir/$1.err" ||
		fail "the fatal line of $1 does not say \"$2\""
	orderly "$1"
}

# Every line has the suite's form.
orderly() {
	! grep -Ev '^sluice-[a-z]*: (fatal|warning|note): .' "$dir/$1.err" ||
		fail "$1 said something in another form"
}

said() {
	grep -Eq "$2" "$dir/$1.err"
}

silent() {
	[ ! -s "$dir/$1.err" ] || fail "$1 said something"
}

# ---- files and rings ---------------------------------------------------------------

# Bytes that differ wherever they are looked at: numbers BYTES.
numbers() {
	seq 1000000000 2>/dev/null | head -c "$1" || :
}

same() {
	cmp "$1" "$2" || fail "$1 is not $2"
}

# The first is what the second begins with.
begins() {
	cmp -n "$(stat -c %s "$1")" "$1" "$2" || fail "$1 is not the beginning of $2"
}

ring_is_there() {
	[ -e "/dev/shm/sluice.${1:-$ring}" ]
}

no_ring() {
	no_ring_named "$ring"
}

no_ring_named() {
	! ring_is_there "$1" || fail "the ring's name is still there"
}

# Neither the file nor a temporary one beside it.
no_file() {
	local file

	for file in "$1" "${1%/*}/.${1##*/}".*; do
		[ ! -e "$file" ] || fail "$file is there"
	done
}

# A fifo that stays open for writing until feed_end: $dir/feed.
feed_begin() {
	mkfifo "$dir/feed"
	exec {feed}<>"$dir/feed"
	held+=("$feed")
}

feed_end() {
	exec {feed}>&-
}

# A fifo that nobody reads until unread_end: $dir/unread.
unread_begin() {
	mkfifo "$dir/unread"
	exec {unread}<>"$dir/unread"
	held+=("$unread")
}

# Read it, as NAME.
unread_end() {
	start "$1" cat <"$dir/unread"
	exec {unread}>&-
}

# ---- where a test may run ----------------------------------------------------------

need() {
	local command

	for command; do
		command -v "$command" >/dev/null || skip "needs $command"
	done
}

need_root() {
	[ "$(id -u)" = 0 ] || skip "needs root"
}

# A user who may run the programs and use the temporary folder, and is not us:
# "${as_nobody[@]}" COMMAND...
need_nobody() {
	need_root
	need setpriv
	as_nobody=(setpriv --reuid 65534 --regid 65534 --clear-groups)
	chmod 755 "$dir"
	"${as_nobody[@]}" "$consumer" --version >/dev/null 2>&1 ||
		skip "another user cannot run $consumer"
}

# Run the rest of the test where mounts are its own.
own_mounts() {
	local flags=-m

	[ -z "${SLUICE_OWN_MOUNTS:-}" ] || return 0
	[ "$(id -u)" = 0 ] || flags=-rm
	unshare "$flags" mount -t tmpfs tmpfs /dev/shm 2>/dev/null ||
		skip "may not mount a file system of its own"
	rm -rf "$dir"
	SLUICE_OWN_MOUNTS=1 exec unshare "$flags" --propagation private "$0"
}

# own_shm SIZE : a /dev/shm of its own.
own_shm() {
	mount -t tmpfs -o "size=$1,mode=1777" tmpfs /dev/shm
}

# AddressSanitizer and ThreadSanitizer want terabytes of address space.
need_plain_memory() {
	case $VARIANT in
	asan | tsan) skip "limits of memory mean nothing under sanitizers" ;;
	esac
}

# helper NAME : build tests/helpers/NAME.c against the library, as $helper.
helper() {
	helper=$dir/$1.helper
	# shellcheck disable=SC2046 # lists of words
	"${CC:-cc}" -std=gnu17 -D_GNU_SOURCE -O2 -I"$root" -pthread $(helper_flags) \
		"$tests/helpers/$1.c" "$SLUICE_BIN/libsluice.a" \
		$(pkg-config --libs libcbor libxxhash gmp) -lm -o "$helper"
}

sanitizer_flags() {
	case $VARIANT in
	asan) echo -fsanitize=address,undefined ;;
	tsan) echo -fsanitize=thread ;;
	esac
}

helper_flags() {
	sanitizer_flags
	pkg-config --cflags libcbor libxxhash gmp
}

# ---- the bytes of a segment ----------------------------------------------------------

# number_at OFFSET : 64 bits of the segment.
number_at() {
	od -An -tu8 -j "$1" -N 8 "/dev/shm/sluice.$ring" | tr -d ' '
}

# How far the producer has published, and the first consumer has finished.
ring_head() {
	number_at 256
}

ring_tail() {
	number_at $(($(number_at 32) + 384 + 128))
}

# overwrite POSITION BYTES : in the first turn of the ring.
overwrite() {
	printf '%b' "$2" | dd of="/dev/shm/sluice.$ring" bs=1 seek=$(($(number_at 40) + $1)) \
		conv=notrunc status=none
}

# The producer has waited a while for the consumer that came first.
first_holds_back() {
	[ "$(number_at 768)" -gt 200000000 ]
}

ring_has_data() {
	[ "$(ring_head)" -gt 0 ]
}
