# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# shellcheck shell=bash
# shares the machine: 4
# A user's program that has the build ID of one of root's and was sampled first: what root alone could write says
# what both are called.
. "$(dirname "$0")/../sampling.sh"
need_sampling
if [ "$(id -u)" != 0 ]; then
	skip 'a forged build ID' 'not root'
	tap_end
fi

cat >spin.c <<'EOF'
#include <time.h>
__attribute__((noinline)) void NAME(void)
{
	for (volatile int i = 0; i < 1000000; i++)
		;
}
int main(void)
{
	while (clock() < CLOCKS_PER_SEC)
		NAME();
}
EOF
id=-Wl,--build-id=0x00112233445566778899aabbccddeeff00112233
cc -O1 -g "$id" -DNAME=honest spin.c -o honest && cc -O1 -g "$id" -DNAME=liar spin.c -o liar &&
	chown 65531 liar || fail 'the programs were made' ''

record alone --no-edges -- ./liar
"$culprit" prof -i alone.db >prof.txt 2>&1
check_match 'alone it says what it is' prof.txt '[0-9] +liar '
record both --no-edges -- sh -c './liar; ./honest'
"$culprit" prof -i both.db >prof.txt 2>&1
check_match 'the one that root alone could write names both' prof.txt '[0-9] +honest '
check 'and the other nothing' sh -c '! grep -E "[0-9] +liar " prof.txt'
check_match 'whose samples stand there all the same, as is said' prof.txt \
	'1 image of files that root alone could write may have samples'
tap_end
