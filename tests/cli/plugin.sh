# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# shellcheck shell=bash
# The plug-in with LLVM's costs is looked for beside the program: it is executed only from where nobody
# but root and the caller could have put it.
. "$(dirname "$0")/../tap.sh"
chmod 755 "$tap_scratch"
umask 022

# A plug-in that says that it was executed.
cat >ran.c <<C
#include <fcntl.h>
#include <unistd.h>
__attribute__((constructor)) static void run(void)
{
	close(open("$tap_scratch/ran", O_WRONLY | O_CREAT, 0644));
}
C
mkdir -p tree/build/src/machine tree/src/machine
cp "$culprit" tree/build/culprit
check "compile" cc -shared -fPIC -o tree/build/src/machine/culprit-llvm.so ran.c
costs() { # what doctor says of them, after whether the plug-in ran
	rm -f ran
	timeout 200 tree/build/culprit doctor --json >out 2>err
	if [ -e ran ]; then echo ran; else echo not; fi
	python3 -c 'import json
print([r["value"] for r in json.load(open("out"))["rows"] if r["name"] == "instruction_costs"])'
}
costs >said
if ! grep -q '^ran' said; then
	if grep -q LLVM said; then skip "a plug-in beside the program" "one is installed"; else fail "one that is ours runs" "$(cat said)"; fi
	tap_end
fi
pass "one that is ours runs"

refused() { # WHAT REASON
	costs >said
	check_match "$1: it does not run" said '^not'
	check_match "$1: and why is said" said "$2"
}
chmod 777 tree
refused "below a directory that all may write" "others could have put them: .*/tree may be written by others"
chmod 1777 tree
check "one where nobody removes what is another's will do" test "$(costs | sed -n 1p)" = ran
chmod 755 tree
chmod 775 tree/build/src/machine
refused "in a directory that a group may write" "others could have put them: .*/machine may be written by others"
cp tree/build/src/machine/culprit-llvm.so tree/src/machine/
costs >said
check_match "one further on runs" said '^ran'
check "and what is wrong with that is not what was with the first" bash -c '! grep -q "others could have" said'
rm tree/src/machine/culprit-llvm.so
chmod 755 tree/build/src/machine
chmod 666 tree/build/src/machine/culprit-llvm.so
refused "one that all may write" "others could have put them: .*culprit-llvm.so may be written by others"
chmod 755 tree/build/src/machine/culprit-llvm.so
if [ "$(id -u)" = 0 ]; then
	chown 64124 tree/build/src
	refused "below another user's directory" "others could have put them: .*/src belongs to another user"
	check "but for who called root by sudo" test "$(SUDO_UID=64124 SUDO_GID=64124 costs | sed -n 1p)" = ran
	chown 0 tree/build/src
	chown 64124 tree/build/src/machine/culprit-llvm.so
	refused "another user's" "others could have put them: .*culprit-llvm.so belongs to another user"
	chown 0 tree/build/src/machine/culprit-llvm.so
else
	skip "another user's plug-in" "needs root"
fi
# By a link from the place where it is looked for, as others may make one.
mv tree/build/src/machine kept
mkdir -m 777 open
mv kept/culprit-llvm.so open
ln -s "$tap_scratch/open" tree/build/src/machine
refused "by a link to where all may write" "others could have put them: .*/open may be written by others"
tap_end
