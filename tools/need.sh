#!/bin/sh
# need.sh GROUP... - install the Debian packages of GROUPs that are missing.
#
# Says what it installs; uses sudo where it is not root.  Where there is no
# apt-get it names the packages and goes on: they may be there by other means.
set -eu

packages_of() {
	case $1 in
	build) echo gcc libc6-dev pkg-config libcbor-dev libxxhash-dev libgmp-dev libssl-dev ;;
	check) echo check openssl python3 python3-cbor2 python3-numpy python3-scipy jq spin strace util-linux procps ;;
	lint) echo clang clang-tidy cppcheck shellcheck libclang-rt-14-dev ;;
	fuzz) echo clang libclang-rt-14-dev libjansson-dev ;;
	demo) echo ieee-data xxd ;;
	bench) echo pv mbuffer python3 iperf3 socat netcat-openbsd openssl miller ;;
	*) echo "need.sh: no group $1" >&2; exit 2 ;;
	esac
}

missing=
for group; do
	for package in $(packages_of "$group"); do
		dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' ||
			missing="$missing $package"
	done
done
[ -n "$missing" ] || exit 0

if ! command -v apt-get >/dev/null; then
	echo "sluice: these packages may be missing:$missing" >&2
	exit 0
fi
echo "sluice: installing$missing" >&2
as_root=
[ "$(id -u)" = 0 ] || as_root=sudo
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# shellcheck disable=SC2086 # a list of words
install() { $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $missing; }
if ! install >"$log" 2>&1; then
	# The lists may be missing or old.
	if ! { $as_root apt-get update >"$log" 2>&1 && install >>"$log" 2>&1; }; then
		tail -20 "$log" >&2
		exit 1
	fi
fi
