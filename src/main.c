/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <stdio.h>

int main(void)
{
	puts("culprit");
	return 0;
}
