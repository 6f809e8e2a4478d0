#!/bin/bash
# shellcheck source=tests/bridge.bash
. "${0%/*}/../bridge.bash"

need openssl python3
numbers 3000000 >"$dir/input"

# ---- certificates ----------------------------------------------------------------

cd "$dir"
key() {
	openssl genpkey -quiet -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "$1.key" 2>openssl.log ||
		openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "$1.key" 2>openssl.log
}

# authority NAME
authority() {
	key "$1"
	openssl req -x509 -new -key "$1.key" -subj "/CN=$1" -days 2 -out "$1.pem" \
		-addext basicConstraints=critical,CA:TRUE 2>openssl.log || fail "openssl: $(cat openssl.log)"
}

# certificate NAME AUTHORITY HOSTS FROM UNTIL : times as openssl-ca takes them.
certificate() {
	key "$1"
	openssl req -new -key "$1.key" -subj "/CN=$1" -out "$1.csr" 2>openssl.log
	mkdir -p "$2.d"
	: >"$2.d/index"
	echo 01 >"$2.d/serial"
	cat >"$1.conf" <<-CONF
		[ca]
		default_ca = this
		[this]
		database = $dir/$2.d/index
		serial = $dir/$2.d/serial
		new_certs_dir = $dir/$2.d
		default_md = sha256
		policy = any
		unique_subject = no
		x509_extensions = names
		[any]
		commonName = supplied
		[names]
		subjectAltName = $3
	CONF
	openssl ca -batch -notext -config "$1.conf" -keyfile "$2.key" -cert "$2.pem" -in "$1.csr" \
		-out "$1.pem" -startdate "$4" -enddate "$5" 2>openssl.log || fail "openssl: $(cat openssl.log)"
}

authority ours
authority theirs
long=(20200101000000Z 20990101000000Z)
certificate receiver ours IP:127.0.0.1,DNS:localhost "${long[@]}"
certificate sender ours DNS:sender.example "${long[@]}"
certificate elsewhere ours DNS:elsewhere.example "${long[@]}"
certificate expired ours IP:127.0.0.1 20200101000000Z 20200102000000Z
certificate early ours IP:127.0.0.1 20980101000000Z 20990101000000Z
certificate stranger theirs IP:127.0.0.1 "${long[@]}"

# identity NAME [AUTHORITY]
identity() {
	tls=(--tls-cert "$dir/$1.pem" --tls-key "$dir/$1.key" --tls-ca "$dir/${2:-ours}.pem")
}

# ---- who is let in ---------------------------------------------------------------

good() {
	identity sender
	send s --to "${1:-$address}" "${tls[@]}"
	run 0 p "$producer" "${small[@]}" "$ring" "$dir/input"
	all_expect 0 s r c
	silent s
	same "$dir/c.out" "$dir/input"
	no_ring
	no_ring_named "$ring.m"
}

# refused PATTERN [HERE [THERE]] : the sender ends with 4, says so, and does not try again.
refused() {
	produce p "$ring" "$dir/input"
	send s --to "$address" "${tls[@]}"
	expect s 4
	fatal s "destination $address: .*$1"
	[ "$(wc -l <"$dir/s.err")" = 1 ] || fail "the sender says more than that"
	expect p 1
	no_ring
}

# there PATTERN : the listener has a line about it, and is still there.
there() {
	wait_until said r "warning: connection from 127\.0\.0\.1:[0-9]+: .*$1"
	! gone r 2>/dev/null || fail "the listener is gone"
}

# Senders of all kinds at one listener, a good one at the end.
identity receiver
listen r "$ring.m" "${tls[@]}"
consume c "$ring.m"
identity stranger
refused "(unknown ca|certificate|trust)"
there "(unable to get|certificate|issuer)"
identity expired
refused "expired"
there "expired"
identity early
refused "certificate"
there "not valid yet"
identity sender theirs
refused "(certificate|issuer)"
there "(unknown ca|certificate)"
tls=()
refused "TLS"
there "does not speak TLS"
run 0 x python3 "$tests/helpers/peer.py" "$address" says 'GET / HTTP/1.0\r\n\r\n'
there "does not speak TLS"
run 0 x python3 "$tests/helpers/peer.py" "$address" knock 3
good

# By name, and by an address of IPv6.
identity receiver
listen r "$ring.m" "${tls[@]}"
consume c "$ring.m"
good "localhost:$port"

# Listeners of all kinds, and a good sender.
for who in elsewhere/name expired/expired early/"not valid yet" stranger/"(issuer|trust|certificate)"; do
	identity "${who%%/*}"
	listen r "$ring.m" "${tls[@]}"
	identity sender
	refused "${who#*/}"
	signal r TERM
	expect r 143
done

# TLS against none.
listen r "$ring.m"
identity sender
refused "TLS"
wait_until said r "warning: connection from .*: peer is not a bridge but a TLS client$"
consume c "$ring.m"
send s --to "$address"
run 0 p "$producer" "$ring" "$dir/input"
all_expect 0 s r c

# Other hosts may come in, with TLS.
identity receiver
at=0.0.0.0:0 listen r "$ring.m" "${tls[@]}"
address=127.0.0.1:$port
consume c "$ring.m"
good

# A key that is another's, and files that are none.
refuse_files() {
	run "$1" r "$bridge" "$ring.m" --listen 127.0.0.1:0 "${tls[@]}"
	fatal r "$2"
	send s --to 127.0.0.1:1 "${tls[@]}"
	expect s "$1"
	fatal s "$2"
}

tls=(--tls-cert "$dir/receiver.pem" --tls-key "$dir/sender.key" --tls-ca "$dir/ours.pem")
refuse_files 4 "sender.key"
tls=(--tls-cert "$dir/receiver.pem" --tls-key "$dir/input" --tls-ca "$dir/ours.pem")
refuse_files 4 "$dir/input"
tls=(--tls-cert "$dir/absent.pem" --tls-key "$dir/sender.key" --tls-ca "$dir/ours.pem")
refuse_files 5 "\"$dir/absent.pem\": No such file or directory"
