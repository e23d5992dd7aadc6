/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "collect/check/check.h"

#include <stdarg.h>
#include <stdio.h>

struct check *check_add(struct check_list *l, const char *name, enum check_state state,
			const char *format, ...)
{
	struct check *c;
	va_list args;

	if (l->count < CHECKS_MAX)
		l->count++;
	else
		l->refused++;
	c = &l->rows[l->count - 1];
	*c = (struct check){.group = l->group, .name = name, .state = state};
	va_start(args, format);
	vsnprintf(c->value, sizeof(c->value), format, args);
	va_end(args);
	return c;
}

void check_mend(struct check *c, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(c->mend, sizeof(c->mend), format, args);
	va_end(args);
}

const char *check_state_name(enum check_state state)
{
	switch (state) {
	case CHECK_FACT:
		return "fact";
	case CHECK_GOOD:
		return "good";
	case CHECK_PARTIAL:
		return "partial";
	case CHECK_BAD:
		return "bad";
	}
	return "";
}

bool check_passed(const struct check_list *l)
{
	for (size_t i = 0; i < l->count; i++)
		if (l->rows[i].state == CHECK_BAD)
			return false;
	return true;
}
