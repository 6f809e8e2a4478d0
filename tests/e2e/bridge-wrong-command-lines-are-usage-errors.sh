#!/bin/bash
# shellcheck source=tests/bridge.bash
. "${0%/*}/../bridge.bash"

usage() {
	run 2 u "$bridge" "$@"
	fatal u "$pattern"
	same "$dir/u.out" /dev/null
}

pattern="\(see --help\)$"
usage
usage "$ring"
usage "$ring" --to 127.0.0.1:1 --listen 127.0.0.1:0
usage "$ring" another --to 127.0.0.1:1
usage "$ring" --to 127.0.0.1:1 --no-such-option
for bad in '' 127.0.0.1 :1 127.0.0.1: 127.0.0.1:0 127.0.0.1:65536 127.0.0.1:x ::1:1 '[::1' '[::1]1'; do
	usage "$ring" --to "$bad"
done
usage "$ring" --to 127.0.0.1:1 --to 127.0.0.1:1
for bad in 0 none -1 2 65 ''; do
	usage "$ring" --to 127.0.0.1:1 --require "$bad"
done
for bad in x -1 '' 1.5; do
	usage "$ring" --to 127.0.0.1:1 --rate "$bad"
done
for bad in 0 x '' -1 1d; do
	usage "$ring" --to 127.0.0.1:1 --retry "$bad"
	usage "$ring" --to 127.0.0.1:1 --dead-after "$bad"
done
# What belongs to the other end.
for option in --consumers=2 --serve --once --slots=4 --mode=0660 --start-timeout=1s --drain-timeout=1s; do
	usage "$ring" --to 127.0.0.1:1 "$option"
done
for option in --require=any --rate=1M --name=x --late --any-user --to-file=/dev/null; do
	usage "$ring" --listen 127.0.0.1:0 "$option"
done
for option in cert key ca; do
	usage "$ring" --listen 127.0.0.1:0 "--tls-$option" "$dir/x"
	usage "$ring" --to 127.0.0.1:1 "--tls-$option" "$dir/x"
done
for bad in 1 4097 x ''; do
	usage "$ring" --listen 127.0.0.1:0 --slots "$bad"
done

for bad in "$ring%" "$ring%x" "%n%%%" '%'; do
	usage "$bad" --listen 127.0.0.1:0 --serve
done

# Other hosts need TLS, or a word.
pattern="--listen .* lets other hosts in: use TLS \(--tls-cert and the like\), or --insecure"
for address in 0.0.0.0:0 :0 '*:0' '[::]:0'; do
	usage "$ring" --listen "$address"
	at=$address listen r "$ring" --insecure
	signal r TERM
	expect r 143
done
