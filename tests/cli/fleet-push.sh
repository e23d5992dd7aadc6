# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# shellcheck shell=bash disable=SC2154,SC2015
# A fleet has each sample once, whatever happens on the way: of databases that are pushed again, in parts,
# while they grow, by two at a time, through a network that loses, cuts and repeats, to a server that is
# killed.
. "$(dirname "$0")/../tap.sh"
. "$root/tests/made_db.sh"
. "$root/tests/fleet.sh"
[ -x "$server" ] || { skip "a fleet" "there is no clickhouse-server"; tap_end; }

configure_server one
start_server one || tap_end
unset CULPRIT_FLEET CULPRIT_FLEET_AUTH
# shellcheck disable=SC2154
to=$url_one
push() { "$culprit" push --to "$to" "$@"; }

# Two machines with hostile names, one program, the kernel and a stack; the program's symbols are kept.
app=$'1\taa11\t/bin/app' kernel=$'4\tcc33\t[kernel.kallsyms]' evil=$'1\tbb22\t/bin/\'; DROP TABLE samples; --\\xff'
lines() { # START FACTOR
	printf 'epoch\t%s\t%s\n' "$1" $(($1 + 60))
	printf 'symbol\t%s\t%s\t0x100\tmain\nsymbol\t%s\t%s\t0x80\tback\\\\slash\x27\n' "${app%$'\t'*}" 0x1000 "${app%$'\t'*}" 0x1100
	printf 'sample\t%s\tcycles\t1000\t%d\t%d\tcomm=%s\n' \
		"$app" 0x1000 $((5 * $2)) a "$app" 0x1010 $((7 * $2)) a "$app" 0x1010 $((1 * $2)) "b'\\\\" \
		"$app" 0x1110 $((2 * $2)) a "$app" 0x5000 $((3 * $2)) a "$kernel" 0x81000000 $((4 * $2)) a "$evil" 0x10 $((6 * $2)) a
	printf 'edge\t%s\twindows\t0x1000\t0x1010\t%d\t%d\n' "$app" $((9 * $2)) $((8 * $2))
	printf 'touch\t%s\t0x1010\t77\t%d\n' "$app" "$2"
	printf 'counter\tcycles\t1000\tlost.ring\t%d\nfact\tkernel\t6.1; DROP DATABASE culprit\n' "$2"
	printf 'frame\tm\t%s\t0x1005\nframe\tn\t%s\t0x1110\nstack\tcycles\t1000\t%d\tcomm=a\tm\tn\n' "$app" "$app" $((3 * $2))
}
lines 1700000000 1 | $mkdb db 'host-a' || fail "mkdb"
{ lines 1700000000 10 && lines 1700100000 100; } | $mkdb db 'host-b' || fail "mkdb"
wanted() { # FACTOR EPOCHS: the totals
	printf '%d\t%d\n%d\n%d\t%d\n%d\t%d\nlost.ring\t%d\n' $((28 * $1)) $((7 * $2)) $((28 * $1)) $((3 * $1)) "$2" $((9 * $1)) $((8 * $1)) "$1"
}

check_refused "pushing to a server without a fleet says how to make one" 1 "culprit fleet init" push -i db
check_status "init makes the tables" 0 "$culprit" fleet init --to "$to"
check_status "init again changes nothing" 0 "$culprit" fleet init --to "$to"
check_match "it says so" out ' 0 migrations'
check_status "a push" 0 push -i db
check_match "it says what it pushed" out '^pushed 3 epochs \(0 unchanged\): 21 rows'
check_same "all is there once" "$(wanted 111 3)" "$(totals one)"
check_same "functions are summed up by the symbols of the database" "12 8 2 3" \
	"$(sql one "SELECT sum(cnt) c FROM culprit.functions FINAL ANY LEFT JOIN culprit.epochs USING epoch
		WHERE image = (SELECT any(image) FROM culprit.images WHERE path = '/bin/app') AND samples = 28
		GROUP BY fn, subject ORDER BY fn, c DESC" | tr '\n' ' ' | sed 's/12 1 2 3 /12 8 2 3/')"
check_status "a second push has nothing to do" 0 push -i db
check_match "it says so" out '^pushed 0 epochs \(3 unchanged\)'
check_status "all again" 0 push -i db --all
check_same "still once" "$(wanted 111 3)" "$(totals one)"
check_same "hostile names arrive as they are" "/bin/'; DROP TABLE samples; --" \
	"$(sql one "SELECT any(path) FROM culprit.images WHERE path LIKE '%DROP%' FORMAT TabSeparatedRaw" | tr -d '\377')"

# An epoch that grows: pushed in three states, the last one twice at once, after a compaction.
mkfifo lines
$mkdb grow host-c <lines &
maker=$!
exec 3>lines
grow() { # NUMBER: until that many segments are there
	compgen -G "grow/host-c/2*/seg-0000000$1" >/dev/null
}
{ lines 1700200000 1000 && echo flush; } >&3
wait_for grow 1
check_status "an epoch that is not complete" 0 push -i grow
check_same "as far as it is" "$(wanted 1111 4)" "$(totals one)"
{ printf 'sample\t%s\tcycles\t1000\t%d\t%d\tcomm=%s\n' "$app" 0x1000 50000 a "$app" 0x1004 1 a && echo flush; } >&3
wait_for grow 2
check_status "it grew" 0 push -i grow
check_match "only what changed is sent" out ': 2 rows, 2 functions, 0 stacks, 0 edges, 0 chunks'
check_same "its sums" "$((1111 * 28 + 50001))	29" "$(totals one | head -n 1)"
{ printf 'sample\t%s\tcycles\t1000\t%d\t%d\tcomm=%s\n' "$app" 0x1000 4 a && echo compact; } >&3
exec 3>&-
wait $maker
push -i grow >first 2>&1 & push -i grow >second 2>&1
wait $!
check_same "two at once, compacted and sealed: its sums" "$((1111 * 28 + 50005))	29" "$(totals one | head -n 1)"
check_same "and by function" "$((1111 * 28 + 50005))" "$(totals one | sed -n 2p)"

# Through a network that does its worst.
read -r port tls <<<"$(free_ports 2)"
echo pass >mode
python3 "$root/tests/fleet_proxy.py" "$port" "${to##*:}" mode log &
fleet_pids="$fleet_pids $!"
through=http://127.0.0.1:$port
wait_for curl -s "$through/"
to=$through
rows() { totals one | head -n 2; }
before=$(totals one)
for mode in error redirect html cut lose half slow; do
	echo $mode >mode
	check_status "no success by a server that does: $mode" 1 push -i db --all --patience 1 --timeout 2
	check_match "it says why ($mode)" err '^culprit: .*(answered with status 500|redirects|no ClickHouse|cannot reach|no database)'
done
echo busy >mode
check_status "a busy server is asked again" 0 push -i db --machine host-a --all --patience 60
check_match "and it is said" out '^tried again: [0-9]+ times'
echo 'chance 7' >mode
for i in 1 2 3; do push -i db --machine host-a --all --patience 60 >out 2>err || fail "push $i through chance" "$(cat err)"; done
check_same "after all that, each sample once" "$before" "$(totals one)"
check_same "no password, no name in a URL" 0 "$(grep -c -e DROP -e secret log)"

# Killed at any moment.
echo pass >mode
sql one "DROP DATABASE culprit" && "$culprit" fleet init --to "$to" >/dev/null
for wait in 0.00 0.01 0.02 0.03 0.05 0.08; do
	push -i db -q & victim=$!
	sleep $wait
	kill -9 $victim 2>/dev/null
	wait $victim 2>/dev/null
done
# shellcheck disable=SC2154
kill -9 "$pid_one"
check_status "the server is killed: the push fails" 1 push -i db --all --patience 1
start_server one
check_status "and is done when it is there again" 0 push -i db
check_same "each sample once" "$(wanted 111 3)" "$(totals one)"

# Who may push.
to=$url_one
printf 'pusher:secret\n' >auth && chmod 600 auth
check_status "a user and a password from a file" 0 push -i db --all --auth auth
printf 'pusher:wrong\n' >auth
check_refused "a wrong password" 1 'refuses: Code: 193' push -i db --all --auth auth
chmod 644 auth
check_refused "a file that others can read" 2 'chmod 600 auth' push -i db --auth auth
check_refused "a password in the URL" 2 'put USER:PASSWORD into a file' push -i db --to http://pusher:secret@127.0.0.1
openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -days 2 -subj /CN=127.0.0.1 \
	-addext subjectAltName=IP:127.0.0.1 >/dev/null 2>&1
cat key.pem cert.pem >both.pem
echo pass >mode
python3 "$root/tests/fleet_proxy.py" "$tls" "${to##*:}" mode log both.pem &
fleet_pids="$fleet_pids $!"
wait_for curl -sk "https://127.0.0.1:$tls/"
to=https://127.0.0.1:$tls
check_refused "a certificate of nobody" 1 'cannot reach https.*certificate' push -i db
check_status "a certificate that is trusted" 0 push -i db --all --ca cert.pem
to=https://localhost:$tls
check_refused "a certificate of another host" 1 'cannot reach https' push -i db --ca cert.pem

# What does not make sense.
for url in ftp://x 'http://' 'http://h/a-b' 'http://h/x;y' 'http://a b'; do
	check_status "refused: $url" 2 push -i db --to "$url"
done
tap_end
