# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# shellcheck shell=bash disable=SC2154
# For the scripts that make databases of stacks with mkdb: after tap.sh, `. "$root/tests/stack_app.sh"`. A
# program, ./app, whose functions are where its own symbol table says, and lines for mkdb about it.
cat >app.c <<'C'
volatile int x;
static inline __attribute__((always_inline)) void small(void)
{
	x++;
	x += 2;
}
__attribute__((noinline)) void leaf(void)
{
	small();
}
__attribute__((noinline)) void one(void)
{
	leaf();
	x++;
	leaf();
	x++;
}
__attribute__((noinline)) void two(void)
{
	leaf();
	x++;
}
int main(void)
{
	one();
	two();
	return x;
}
C
check "compile" cc -g -O1 -Wl,--build-id -o app app.c
id=$(readelf -n app | sed -n 's/.*Build ID: //p')

# address FUNCTION
address() { echo $((0x$(nm app | sed -n "s/ T $1\$//p"))); }

# calls CALLER: the last bytes of its calls.
calls() {
	objdump -d --no-show-raw-insn app | awk -v f="<$1>:" '
		$2 == f { on = 1; next } !NF { on = 0 }
		on && was { sub(":", "", $1); print $1; was = 0 }
		on && /call/ { was = 1 }' | while read -r next; do echo $((0x$next - 1)); done
}

# frame NAME ADDRESS [ID PATH]
frame() { printf 'frame\t%s\t1\t%s\t%s\t%d\n' "$1" "${3-$id}" "${4-$PWD/app}" "$2"; }

# stack EVENT PERIOD COUNT SUBJECT FRAME...
stack() {
	printf 'stack\t%s\t%s\t%d\t%s' "$1" "$2" "$3" "$4"
	printf '\t%s' "${@:5}"
	printf '\n'
}
