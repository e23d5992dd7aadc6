/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "image/symbols.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "image/demangle.h"
#include "image/symbol_set.h"
#include "util/arena.h"
#include "util/search.h"

#define SYMBOLS_MAGIC	   0x32595343u /* "CSY2" */
#define SYMBOLS_SOURCE_MAX 63
/* What demangled names may take together; past it, names are shown as they are in the file. */
#define SYMBOLS_TEXT_MAX (128u << 20)

/*
 * A row is 16 bytes. functions has the form that callers see, made on first use: its pages are not
 * touched, so cost nothing, until then.
 */
struct image_symbols {
	struct symbol_row *rows;
	struct image_function *functions;
	size_t count;
	char *names;
	size_t names_size;
	uint64_t names_refused;
	struct arena *text;
	char source[SYMBOLS_SOURCE_MAX + 1];
};

int image_symbols_new(const struct symbol_rows *rows, const char *source,
		      struct image_symbols **ret)
{
	struct image_symbols *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->functions = calloc(rows->count + 1, sizeof(*s->functions));
	s->text = arena_new(SYMBOLS_TEXT_MAX + rows->count * 64);
	if (!s->functions || !s->text) {
		image_symbols_free(s);
		return -ENOMEM;
	}
	s->rows = rows->list;
	s->count = rows->count;
	s->names = rows->names;
	s->names_size = rows->names_size;
	s->names_refused = rows->names_refused;
	strncpy(s->source, source, SYMBOLS_SOURCE_MAX);
	*ret = s;
	return 0;
}

void image_symbols_free(struct image_symbols *s)
{
	if (!s)
		return;
	free(s->rows);
	free(s->functions);
	free(s->names);
	arena_free(s->text);
	free(s);
}

size_t image_symbols_count(const struct image_symbols *s)
{
	return s->count;
}

const char *image_symbols_source(const struct image_symbols *s)
{
	return s->source;
}

uint64_t image_symbols_names_refused(const struct image_symbols *s)
{
	return s->names_refused;
}

static void function_fill(const struct image_symbols *s, size_t i, struct image_function *f)
{
	const struct symbol_row *row = &s->rows[i];
	char plain[DEMANGLE_MAX_RESULT];

	f->start = row->start;
	f->size = row->size;
	f->named = row->name != 0;
	f->local = row->local;
	if (row->name)
		f->name = s->names + row->name;
	else
		f->name = arena_printf(s->text, "FUN_%llx", (unsigned long long)row->start);
	if (!f->name)
		f->name = "FUN";
	f->demangled = NULL;
	if (row->name && image_demangle(f->name, plain))
		f->demangled = arena_strndup(s->text, plain, strlen(plain));
	if (!f->demangled)
		f->demangled = f->name;
}

const struct image_function *image_symbols_at(const struct image_symbols *s, size_t index)
{
	if (index >= s->count)
		return NULL;
	struct image_function *f = &s->functions[index];
	if (!f->name)
		function_fill(s, index, f);
	return f;
}

const struct image_function *image_symbols_find(const struct image_symbols *s, uint64_t address)
{
	size_t low = SEARCH_FIRST(s->count, i, s->rows[i].start > address);

	if (low == 0 || address - s->rows[low - 1].start >= s->rows[low - 1].size)
		return NULL;
	return image_symbols_at(s, low - 1);
}

/*
 * magic, source, count; for each function the gap to the one before, its size, and the size of its
 * name (0: none); then all the names, without terminators; then a bit for each function that is 1
 * when its symbol is local (8 a byte, the first lowest); then, if there are any, how many names
 * were refused.
 */
int image_symbols_save(const struct image_symbols *s, struct buf *out)
{
	uint64_t end = 0;

	buf_append_u32(out, SYMBOLS_MAGIC);
	buf_append_string(out, s->source, strlen(s->source));
	buf_append_varint(out, s->count);
	for (size_t i = 0; i < s->count && !out->error; i++) {
		const struct symbol_row *row = &s->rows[i];

		buf_append_varint(out, row->start - end);
		buf_append_varint(out, row->size);
		buf_append_varint(out, row->name ? strlen(s->names + row->name) : 0);
		end = row->start + row->size;
	}
	for (size_t i = 0; i < s->count && !out->error; i++) {
		const char *name = s->names + s->rows[i].name;

		buf_append(out, name, strlen(name));
	}
	for (size_t i = 0; i < s->count && !out->error; i += 8) {
		uint8_t bits = 0;

		for (size_t k = i; k < i + 8 && k < s->count; k++)
			bits |= (uint8_t)(s->rows[k].local << (k - i));
		buf_append_u8(out, bits);
	}
	if (s->names_refused)
		buf_append_varint(out, s->names_refused);
	return out->error;
}

static int load_rows(struct symbol_rows *l, struct cursor *c)
{
	uint64_t end = 0;

	l->names_size = 1;
	for (size_t i = 0; i < l->count; i++) {
		uint64_t gap = cursor_varint(c), size = cursor_varint(c), name = cursor_varint(c);

		if (c->error)
			return c->error;
		if (gap > UINT64_MAX - end || size == 0 || size > UINT32_MAX ||
		    size > UINT64_MAX - (end + gap) || name > SYMBOL_NAME_MAX ||
		    l->names_size > UINT32_MAX / 2)
			return -EBADMSG;
		l->list[i].start = end + gap;
		l->list[i].size = (uint32_t)size;
		l->list[i].name = name ? (uint32_t)l->names_size : 0;
		if (name)
			l->names_size += name + 1;
		end = l->list[i].start + size;
	}
	/* Each name has a byte or more, so its terminator at most doubles it. */
	return l->names_size - 1 > 2 * (uint64_t)cursor_left(c) ? -EBADMSG : 0;
}

/* The rows have the offsets of the names; the difference of two is a name and its terminator. */
static int load_names(struct symbol_rows *l, struct cursor *c)
{
	size_t at = 1, next;

	l->names = malloc(l->names_size);
	if (!l->names)
		return -ENOMEM;
	l->names[0] = 0;
	for (size_t i = 0; i < l->count; i++) {
		if (!l->list[i].name)
			continue;
		for (next = i + 1; next < l->count && !l->list[next].name; next++)
			;
		size_t end = next < l->count ? l->list[next].name : l->names_size;
		const void *name = cursor_bytes(c, end - at - 1);
		if (!name || memchr(name, 0, end - at - 1))
			return -EBADMSG;
		memcpy(l->names + at, name, end - at - 1);
		l->names[end - 1] = 0;
		at = end;
		i = next - 1;
	}
	return 0;
}

static int load_bindings(struct symbol_rows *l, struct cursor *c)
{
	for (size_t i = 0; i < l->count; i += 8) {
		uint8_t bits = cursor_u8(c);

		for (size_t k = i; k < i + 8 && k < l->count; k++)
			l->list[k].local = bits >> (k - i) & 1;
	}
	return c->error;
}

int image_symbols_load(const void *data, size_t size, struct image_symbols **ret, struct diag *diag)
{
	struct cursor c = cursor_over(data, size);
	struct symbol_rows l = {0};
	char source[SYMBOLS_SOURCE_MAX + 1];
	int r = -EBADMSG;
	uint32_t magic = cursor_u32(&c);
	size_t source_size = 0;
	const char *from = cursor_string(&c, SYMBOLS_SOURCE_MAX, &source_size);
	uint64_t count = cursor_varint(&c);

	if (!from || c.error || magic != SYMBOLS_MAGIC || count > cursor_left(&c) / 3)
		goto out;
	memcpy(source, from, source_size);
	source[source_size] = 0;
	l.count = count;
	l.list = calloc(count + 1, sizeof(*l.list));
	r = l.list ? load_rows(&l, &c) : -ENOMEM;
	if (!r)
		r = load_names(&l, &c);
	if (!r)
		r = load_bindings(&l, &c);
	if (!r && cursor_left(&c) && !(l.names_refused = cursor_varint(&c)))
		r = -EBADMSG;
	if (!r && (c.error || cursor_left(&c)))
		r = -EBADMSG;
	if (!r)
		r = image_symbols_new(&l, source, ret);
	if (!r)
		return 0;
out:
	free(l.list);
	free(l.names);
	if (r == -ENOMEM)
		return diag_fail(diag, ENOMEM, "out of memory while loading symbols");
	return diag_fail(diag, EBADMSG, "saved symbols are damaged");
}
