#!/bin/bash
# lint.sh - what a compiler does not see: clang-tidy, cppcheck, shellcheck, the
# direction of includes, manual pages, white space.  Prints what is wrong, and exits 1.
set -u
cd "$(dirname "$0")/.." || exit 2

failed=0
sources=$(find ring shared producer consumer bridge examples tests/unit tests/bench tests/fuzz -maxdepth 1 -name "*.c" | sort)
products=$(grep -v '^tests/' <<<"$sources")
flags=(-std=gnu17 -D_GNU_SOURCE -I.)
if [ -f build/deps.mk ]; then
	read -ra deps < <(sed -n 's/^DEPS_CFLAGS := //p' build/deps.mk)
	flags+=("${deps[@]}")
fi

complain() {
	echo "lint: $1"
	failed=1
}

# ---- clang-tidy --------------------------------------------------------------

# Checks that are wrong about one file, beside those in .clang-tidy.
unsuited() {
	case $1 in
	shared/shortest.c)     # what a shift's width depends on is decided elsewhere
		echo "-clang-analyzer-core.UndefinedBinaryOperatorResult,-clang-analyzer-core.DivideZero" ;;
	esac
}

tidy() {
	clang-tidy --quiet --checks="$(unsuited "$1")" "$1" -- "${flags[@]}" 2>/dev/null
}

# Each file's findings are printed in one piece.
tidy_all() {
	local status=0 running=0 file

	for file in $products; do
		if [ "$running" -ge "$(nproc)" ]; then
			wait -n || status=1
			running=$((running - 1))
		fi
		{ found=$(tidy "$file") || { echo "$found"; exit 1; }; } &
		running=$((running + 1))
	done
	while [ "$running" -gt 0 ]; do
		wait -n || status=1
		running=$((running - 1))
	done
	return "$status"
}

tidy_all || complain "clang-tidy found something"

# ---- cppcheck ------------------------------------------------------------------

# Not told: that it has not seen system headers; that readdir is not reentrant
# (it is, on streams of one's own); and of tests what it cannot know, since it
# takes assertions for functions that return.
# shellcheck disable=SC2086 # a list of files
cppcheck --quiet -j "$(nproc)" --std=c11 --language=c --platform=unix64 \
	--enable=warning,performance,portability --inline-suppr --error-exitcode=1 \
	--suppress=missingInclude --suppress=missingIncludeSystem --suppress=readdirCalled \
	--suppress='uninitvar:tests/*' --suppress='invalidFunctionArg:tests/*' \
	--library=posix,gnu -D_GNU_SOURCE -D__x86_64__ -I. $sources ||
	complain "cppcheck found something"

# ---- scripts --------------------------------------------------------------------

scripts=$(grep -rlIE --exclude-dir=build --exclude-dir=.git '^#!/bin/(ba|da)?sh|^#!/usr/bin/env (ba)?sh|^# shellcheck shell=' . |
	sort)
# shellcheck disable=SC2086 # a list of files
shellcheck --severity=warning --external-sources --source-path=SCRIPTDIR:. $scripts ||
	complain "shellcheck found something"
for script in $scripts; do
	[ -x "$script" ] || grep -q '^# shellcheck shell=' "$script" ||
		complain "$script is not executable"
done

# ---- folders --------------------------------------------------------------------

# Includes run one way: programs -> shared -> ring.
one_way() {
	local folder=$1 allowed=$2 wrong

	wrong=$(grep -nE '^#include "' "$folder"/*.[ch] | grep -vE "#include \"($allowed)/")
	[ -z "$wrong" ] || complain "$folder/ may include only from $allowed:
$wrong"
}

one_way ring ring
one_way shared 'shared|ring'
one_way producer 'producer|shared|ring'
one_way consumer 'consumer|shared|ring'
one_way bridge 'bridge|shared|ring'

# ---- manual pages ------------------------------------------------------------------

# A program's options, its help's, and its manual page's are the same.
for program in producer consumer bridge; do
	known=$({ echo help; echo version
		sed -nE 's/^\t\{ "([a-z-]+)", (no|optional|required)_argument.*/\1/p' "$program/options.c"; } | sort -u)
	helped=$(sed -nE 's/^" .* --([a-z-]+).*/\1/p' "$program/options.c" | sort -u)
	described=$(sed -nE 's/^\.It Fl (. , )?-([a-z-]+).*/\2/p' "$program/sluice-$program.1" | sort -u)
	[ "$known" = "$helped" ] || complain "$program/options.c: --help tells of other options"
	[ "$known" = "$described" ] || complain "sluice-$program.1 tells of other options"
done

# ---- white space -----------------------------------------------------------------

texts=$(find . \( -name .git -o -name build -o -path ./tests/fuzz/corpus -o -path '*/corpora' \) -prune \
	-o -type f \( -name '*.[ch]' -o -name '*.sh' -o -name '*.md' -o -name '*.1' -o -name Makefile \
	-o -name '*.in' -o -name run \) -print)
# shellcheck disable=SC2086 # a list of files
trailing=$(grep -nE '[[:blank:]]+$' $texts)
[ -z "$trailing" ] || complain "white space at the end of lines:
$trailing"
for text in $texts; do
	[ -z "$(tail -c 1 "$text")" ] || complain "$text does not end with a newline"
done

[ "$failed" = 0 ] && echo "lint: nothing found"
exit "$failed"
