/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <string.h>
#include "db/blob.h"
#include "fleet/fetch_state.h"

/* Symbols of the images that have samples, and, for reports on code, their code and lines. The
 * finder checks them as it does those of any database. */
#define AT_ONCE	 16
#define BLOB_MAX (80u << 20)

static bool is_kind(const char *text, size_t size)
{
	static const char *const kinds[] = {
		"symbols",	   "code",	   "lines",	   "told",
		"symbols-claimed", "code-claimed", "lines-claimed"};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (size == strlen(kinds[i]) && !memcmp(text, kinds[i], size))
			return true;
	return false;
}

static int take(struct fetch *f, struct cursor *c)
{
	const struct db_blobs blobs = {f->path, FLEET_MACHINE, &io_system};
	uint64_t image = cursor_u64(c);
	size_t kind_size = 0, size = 0;
	const char *text = cursor_string(c, 64, &kind_size);
	const char *packed = cursor_string(c, BLOB_MAX, &size);
	const struct fleet_name *name;
	char kind[65];

	if (c->error)
		return fetch_fail_row(f);
	name = fleet_names_get(&f->names, FLEET_NAME_IMAGE, image);
	/* It is a file's name: only of those that there are. */
	if (!name || !name->known || !is_kind(text, kind_size))
		return 0;
	memcpy(kind, text, kind_size);
	kind[kind_size] = 0;
	f->result->blobs++;
	return db_blob_place(&blobs, &name->image, kind, packed, size, f->diag);
}

int fetch_blobs(struct fetch *f)
{
	size_t count = f->names.of[FLEET_NAME_IMAGE].count, next = 0;
	const struct fleet_name *list = f->names.of[FLEET_NAME_IMAGE].list;
	struct buf where, answer;
	struct cursor c;
	int r = 0;

	buf_init(&where, 1 << 20);
	buf_init(&answer, FETCH_ANSWER_MAX);
	while (next < count && !r) {
		buf_clear(&where);
		buf_printf(&where, " image IN (0");
		for (size_t i = 0; i < AT_ONCE && next < count; next++)
			if (list[next].known) {
				buf_printf(&where, ",%llu", (unsigned long long)list[next].number);
				i++;
			}
		r = fetch_ask(
			f, "SELECT image, kind, any(packed) FROM blobs WHERE", &where,
			f->detail == FLEET_FUNCTIONS
				? ") AND kind IN ('symbols', 'symbols-claimed') GROUP BY image, "
				  "kind FORMAT RowBinary"
				: ") GROUP BY image, kind FORMAT RowBinary",
			&answer);
		for (c = cursor_over(answer.data, answer.size); !r && cursor_left(&c);)
			r = take(f, &c);
	}
	buf_free(&where);
	buf_free(&answer);
	return r;
}
