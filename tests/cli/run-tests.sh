# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# shellcheck shell=bash disable=SC2154
# What runs the tests: what a test leaves behind is ended with it, whatever it did to be left alone.
. "$(dirname "$0")/../tap.sh"

# A house of its own with one script, which starts processes that leave its group and its session, lose
# their parent, ignore signals, and say who they are.
mkdir -p house/dev house/tests/cli house/build
cp "$root/dev/run-tests" "$root/dev/contain" house/dev/
touch house/build/build.ninja
cat >left <<'SH'
trap '' TERM HUP INT
echo $$ >>"$1"
while :; do sleep 0.1; done
SH
start_them() {
	cat <<SH
setsid bash "$PWD/left" "$PWD/pids" &
(setsid setsid bash "$PWD/left" "$PWD/pids" >/dev/null 2>&1 &)
bash -c '(cd / && env -i setsid "\$BASH" "$PWD/left" "$PWD/pids" &) &'
while [ "\$(cat "$PWD/pids" 2>/dev/null | wc -l)" -lt 3 ]; do :; done
SH
}
all_started() {
	[ -e pids ] && [ "$(wc -l <pids)" = 3 ]
}
all_gone() { # AT-LEAST: of as many
	[ "$(wc -l <pids)" -ge "$1" ] || return 1
	while read -r pid; do
		[ ! -e "/proc/$pid" ] || return 1
	done <pids
}
trap 'kill -KILL $(cat pids) 2>/dev/null; tap_clean' EXIT

# run_house NAME LIMIT: what house/tests/cli/left.sh, the script on stdin, comes to.
run_house() {
	rm -f pids
	{ echo "# timeout: $1"; start_them; cat; } >house/tests/cli/left.sh
	house/dev/run-tests house/build --only cli --verbose >out 2>err
}

run_house 100 <<<'echo ok 1 - done; echo 1..1'
check_same "a test that leaves processes has its result" "1 passed, 0 failed" "$(tail -1 out)"
check "they are ended with it" all_gone 3
check_match "and named in its log" house/build/test-logs/cli-left.log \
	'dev/contain: killed [0-9]+ processes that were left: bash'
check_match "the slowest tests are listed" out '^ +[0-9]+\.[0-9] s  cli left$'

run_house 3 <<<'echo ok 1 - begun; while :; do sleep 1; done'
check_match "a test that does not end runs out of time" out '^failed: cli left: ran out of time'
check "and all that it had started is ended" all_gone 1

run_house 100 <<<'echo ok 1 - done; echo 1..1; kill -SEGV $$'
check_match "a test that dies of a signal is told so" out '^failed: cli left: killed by SIGSEGV'
check "and all that it started is ended" all_gone 3

# Scripts that share the machine meet; others come when they have left, and meet nobody.
mkdir house/tests/system
for one in 1 2; do
	cat >house/tests/system/shared$one.sh <<SH
# shares the machine: 1
touch "$PWD/here$one"
until [ -e "$PWD/here$((3 - one))" ]; do sleep 0.05; done
sleep 0.3
touch "$PWD/left$one"
echo ok 1 - met
SH
done
for one in 1 2; do
	cat >house/tests/system/alone$one.sh <<SH
[ -e "$PWD/left1" ] && [ -e "$PWD/left2" ] && mkdir "$PWD/alone" || exit 1
sleep 0.3
rmdir "$PWD/alone"
echo ok 1 - alone
SH
done
timeout 100 house/dev/run-tests house/build --only system --jobs 2 >out 2>err
check_same "scripts that share the machine run together, others alone" "4 passed, 0 failed" "$(tail -1 out)"

# An interrupt: the one whom it reaches ends all of them.
rm -f pids
{ start_them; echo 'while :; do sleep 1; done'; } >house/tests/cli/left.sh
house/dev/run-tests house/build --only cli >out 2>err &
runner=$!
until all_started; do sleep 0.05; done
kill -TERM $runner
wait $runner
check_same "an interrupt ends the run" 143 $?
check "and all that the tests started" all_gone 3

# Killed itself, it cannot end anything; what runs each test sees that.
rm -f pids
setsid house/dev/run-tests house/build --only cli >out 2>err &
runner=$!
until all_started; do sleep 0.05; done
kill -KILL $runner
wait $runner 2>/dev/null
until all_gone 3; do sleep 0.05; done
pass "also when it is killed"
tap_end
