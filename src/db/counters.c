/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "db/counters.h"

#include <string.h>

#define ROW(field, status, stored, ...) {status, stored, {__VA_ARGS__}},
#define DEFINE(name, list)                                       \
	static const struct counter name##_rows[] = {list(ROW)}; \
	const struct counter_list counters_of_##name = {         \
		name##_rows, sizeof(name##_rows) / sizeof(struct counter)};
COUNTER_LISTS(DEFINE)

#define REFER(name, list) &counters_of_##name,
static const struct counter_list *const lists[] = {COUNTER_LISTS(REFER)};

void counters_walk(const struct counter_list *list, const void *values,
		   const struct counter_taker *to)
{
	const uint64_t *value = values;

	for (size_t i = 0; i < list->count; i++)
		to->take(to->arg, &list->counters[i], value[i]);
}

const struct counter *counters_find(const char *stored)
{
	for (size_t l = 0; l < sizeof(lists) / sizeof(lists[0]); l++)
		for (size_t i = 0; i < lists[l]->count; i++) {
			const struct counter *c = &lists[l]->counters[i];

			if (c->stored && !strcmp(c->stored, stored))
				return c;
		}
	return NULL;
}
