#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# The sum that says which builds of the program make the same of a file.
. "$(dirname "$0")/../tap.sh"

mkdir -p there/src/image/elf there/src/cmd made
echo 'int a;' >there/src/image/a.c
echo 'int b;' >there/src/image/elf/b.h
echo 'int c;' >there/src/cmd/c.c

# Of what is there now, into $sum; what ninja is told goes to made/sum.d.
take_sum() {
	"$root/dev/sum-of-makers" made/sum.h made/sum.d "$PWD/there" src/image && sum=$(grep MAKERS_SUM made/sum.h)
}

take_sum
first=$sum
check_match 'a sum of 64 bits' made/sum.h '^#define MAKERS_SUM 0x[0-9a-f]{16}ull$'
check_same 'ninja knows what it depends on' "made/sum.h: $PWD/there/src/image/a.c $PWD/there/src/image/elf/b.h" "$(cat made/sum.d)"
echo 'int d;' >there/src/cmd/c.c
take_sum
check_same 'the same while other folders change' "$first" "$sum"
echo 'int a2;' >there/src/image/a.c
take_sum
if [ "$sum" != "$first" ]; then pass 'another for another source'; else fail 'another for another source'; fi
echo 'int a;' >there/src/image/a.c
mv there/src/image/elf/b.h there/src/image/elf/e.h
take_sum
if [ "$sum" != "$first" ]; then pass 'another for another name'; else fail 'another for another name'; fi
tap_end
