# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# shellcheck shell=bash
# Symbols, lines and code from a debuginfod server, for a program that is no longer there. The server
# is a directory behind Python's: what the protocol asks for are files below /buildid/.
. "$(dirname "$0")/../tap.sh"

cat >p.c <<'C'
__attribute__((noinline)) int far_away(int x)
{
	return x / 3;
}
int main(int argc, char **argv)
{
	(void)argv;
	return far_away(argc);
}
C
cc -g -O1 -Wl,--build-id -o p p.c
id=$(readelf -n p | awk '/Build ID/ { print $3 }')
address=$((0x$(nm p | awk '$3 == "far_away" { print $1 }')))
mkdir -p www/buildid/"$id"
objcopy --only-keep-debug p www/buildid/"$id"/debuginfo
strip -o www/buildid/"$id"/executable p
printf 'epoch\t1\t2\nsample\t1\t%s\t/gone/p\tcycles\t1000\t%d\t7\tcomm=p\n' "$id" $address |
	"$build/tests/cli/mkdb" db 0123456789abcdef0123456789abcdef
rm p

python3 - www >port 2>requests <<'PY' &
import functools, http.server, sys
class Handler(http.server.SimpleHTTPRequestHandler):
    extensions_map = {"": "application/octet-stream"}
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0),
                                         functools.partial(Handler, directory=sys.argv[1]))
print(server.server_port, flush=True)
server.serve_forever()
PY
server=$!
trap 'kill $server 2>/dev/null; tap_clean' EXIT
for _ in $(seq 200); do [ ! -s port ] || break; sleep 0.05; done
prof() { env "$@" DEBUGINFOD_CACHE_PATH="$PWD/cache" "$culprit" prof -i db; }
unset DEBUGINFOD_URLS http_proxy HTTP_PROXY all_proxy

check_status "without a server" 0 prof
check_match "there are no names" out 'no symbol'
check "and nobody is asked" test ! -s requests
check_status "a server that is not there" 0 prof DEBUGINFOD_URLS=http://127.0.0.1:1
check_match "gives no names either" out 'no symbol'
check_status "with one that has the file" 0 prof DEBUGINFOD_URLS=http://127.0.0.1:"$(cat port)"
check_match "the function is named" out ' far_away '
check_match "as it was asked for by its build-id" requests "GET /buildid/$id/debuginfo"
check_status "its lines and instructions" 0 env DEBUGINFOD_URLS=http://127.0.0.1:"$(cat port)" \
	DEBUGINFOD_CACHE_PATH="$PWD/cache" "$culprit" list -i db far_away
check_match "are shown" out 'p\.c'
check_match "with the code of the executable" out 'imul|lea|shr'
kill $server
check_status "what was found is kept" 0 prof
check_match "in the database" out ' far_away '
tap_end
