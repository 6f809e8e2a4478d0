# shellcheck shell=bash
#
# corpora.bash - for the tests over collections of real and hostile files:
# where they are, and a Python with an independent CBOR decoder.  Sourced by
# each; the rest is in the .py file of the same name.
# shellcheck source=tests/lib.sh
. "${BASH_SOURCE[0]%/*}/../lib.sh"

SLUICE_CORPORA=${SLUICE_CORPORA:-$root/../shared/corpora}
[ -d "$SLUICE_CORPORA" ] || skip "no corpora in $SLUICE_CORPORA (see SLUICE_CORPORA)"

python=
for candidate in python3 /usr/bin/python3; do
	"$candidate" -c 'import cbor2' 2>/dev/null && python=$candidate && break
done
[ -n "$python" ] || skip "no Python with cbor2 (Debian: python3-cbor2)"

# check NAME : run NAME.py here.
check() {
	export SLUICE_BIN SLUICE_CORPORA
	export SLUICE_TEST_DIR=$dir SLUICE_TEST_RING=$ring PYTHONDONTWRITEBYTECODE=1
	"$python" "$tests/corpora/$1.py"
}

# need_modules NAME... : a Python that has these, too.
need_modules() {
	local candidate name

	for candidate in "$python" /usr/bin/python3; do
		for name in cbor2 "$@"; do
			"$candidate" -c "import $name" 2>/dev/null || continue 2
		done
		python=$candidate
		return
	done
	skip "no Python with $* (Debian: python3-${*// / python3-})"
}
