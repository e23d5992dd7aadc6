# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# shellcheck shell=bash disable=SC2154
# Programs that mean harm are sampled like others, cost only themselves, and learn nothing.
. "$(dirname "$0")/../tap.sh"
. "$root/tests/daemon.sh"

# Maps the file (in a page of its own, at a file offset of 0), spends time in code made at run time,
# and does to the file what it is told: "cut" cuts it short, "rm" removes it.
compile evil <<'C'
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	/* mov $10000000, %eax; 1: dec %eax; jnz 1b; ret */
	static const unsigned char code[] = {0xb8, 0x80, 0x96, 0x98, 0, 0xff, 0xc8, 0x75, 0xfc, 0xc3};
	unsigned char *page;
	int fd = argc > 1 ? open(argv[1], O_RDWR) : -1;

	prctl(PR_SET_NAME, "ev\033[31m\nil");
	if (fd >= 0) {
		if (write(fd, "", 0) || pwrite(fd, code, sizeof(code), 64) < 0)
			return 1;
		page = mmap(0, 4096, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0) + 64;
		if (argc > 2 && !strcmp(argv[2], "rm"))
			unlink(argv[1]);
	} else {
		page = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		memcpy(page, code, sizeof(code));
	}
	printf("%p\n", (void *)page);
	fflush(stdout);
	/* With pauses: all of them together leave time to who is to look at them. */
	for (;;) {
		((void (*)(void))page)();
		usleep(100000);
	}
}
C
chmod 755 evil

# Names that would do something to a terminal, long ones, and content that is hostile ELF.
mkdir work
i=0
for file in "$root"/fuzz/corpus/facts/* "$root"/fuzz/corpus/symbols/*; do
	[ $((i += 1)) -le 12 ] || break
	cp "$file" "work/hostile$i"
	truncate -s '>4096' "work/hostile$i"
done
printf 'x%.0s' $(seq 5000) >"$(printf 'work/a\033[31mb\nc\td\377')"
deep=work
for i in $(seq 14); do deep=$deep/$(printf 'd%.0s' $(seq 250)); done
mkdir -p "$deep"
head -c 5000 /dev/zero >"$deep/long"
chown -R 64124:64124 work

start_daemon "$culprit" daemon -o "$db" --socket "$socket" --flush-every 1s
run_evil() { # ARGUMENT...: its PID in $pid
	background exec_user "$here/evil" "$@" >address
	wait_until 10 grep -q 0x address
}
for file in work/hostile* work/a*; do run_evil "$here/$file"; done
(cd "$deep" && exec setpriv --reuid 64124 --regid 64124 --clear-groups "$here/evil" long >/dev/null) &
started+=($!)
run_evil "$here/work/hostile1" rm

# What a process says of its own code may not be a lie about other people's files.
secret=$here/secret
map_of() { echo "/tmp/perf-$1.map"; }
maps=()
trap 'rm -f "${maps[@]}"; end_all' EXIT
plain_code() { # of a process with code made at run time; its address in $address
	run_evil
	address=$(sed 's/0x//' address)
	maps+=("$(map_of "$pid")")
}
plain_code
setpriv --reuid 64124 --regid 64124 --clear-groups bash -c 'echo "$1 40 own_symbol" >"$2"' - \
	"$address" "$(map_of "$pid")"
plain_code
echo "$address 40 secret_by_link" >"$secret"
chmod 600 "$secret"
ln -s "$secret" "$(map_of "$pid")"
plain_code
echo "$address 40 secret_of_root" >"$(map_of "$pid")"
chmod 600 "$(map_of "$pid")"
plain_code
mkfifo "$(map_of "$pid")"
chown 64124 "$(map_of "$pid")"
plain_code
setpriv --reuid 64124 --regid 64124 --clear-groups truncate -s 1G "$(map_of "$pid")"
plain_code
head -c 300000 /dev/urandom >"$(map_of "$pid")"
chown 64124 "$(map_of "$pid")"

alive() { timeout 100 "$culprit" ctl --socket "$socket" status; }
before=$(field samples)
wait_until 30 at_least $((before + 4000)) field samples
check "the daemon goes on" alive
for file in work/hostile*; do truncate -s 0 "$file"; done
check "also when mapped files are cut short" alive
ctl flush
named() { at_least 1 samples_of "$1" ''; }
check "a process's own map is used" wait_until 20 named own_symbol
wait_until 10 at_least $(($(field samples) + 1000)) field samples
stop_daemon
check "it ends with 0" test $? = 0
end_started
check "nothing was lost" test "$(header lost)" = 0
check "a link does not lead it to a secret" test "$(samples_of secret_by_link '')" = 0
check "nor a file of somebody else's" test "$(samples_of secret_of_root '')" = 0
check "and none of it is in the database" test -z "$(grep -rl 'secret_' "$db")"
"$culprit" prof -i "$db" --by image >out 2>err
check "names do nothing to a terminal" test -z "$(grep -P '[\x00-\x08\x0b-\x1f\x7f]' out err)"
check_match "but are told" out 'a\\x1b\[31mb\\nc'
"$culprit" prof -i "$db" --by subject >out
check_match "so are commands" out 'ev\\x1b\[31m\\nil'
check "JSON is whole" python3 -c 'import json, sys; json.load(open(sys.argv[1]))' \
	<("$culprit" prof -i "$db" --json)
check "the database is whole" "$culprit" db verify -i "$db"
tap_end
