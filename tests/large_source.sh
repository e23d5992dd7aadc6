# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# shellcheck shell=bash
# For scripts that give compilers and packers something to do: `. "$root/tests/large_source.sh"`.

# C of 2000 functions, each another, to stdout: 0.4 MB.
large_source() {
	local i

	printf 'int printf(const char *, ...);\n'
	for i in $(seq 2000); do
		echo "int f$i(int x, char *s) { int r = 0; for (int i = 0; i < x; i++) { if (s[i] == $((i % 256)))" \
			"r += i * $i; else r ^= x; switch (r & 7) { case 0: r++; break; case 1: r -= 3; break;" \
			"case 3: r *= 5; break; case 5: r /= 3; } } return r + printf(s); }"
	done
}
