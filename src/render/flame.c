/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "render/flame.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "render/flame_page.h"
#include "util/buf.h"
#include "util/hash.h"
#include "util/quote.h"

/* Of each of the data block's arrays. */
#define ARRAY_MAX_BYTES ((size_t)1 << 30)

struct flame {
	size_t event_count, events_added;
	struct buf events, metrics; /* as JSON, like all of these but strings */
	struct buf up, frame;
	struct buf *self; /* for each event */
	struct buf functions;
	struct intern *strings, *function_keys;
	uint32_t depth, contexts; /* of the last context; how many there are */
};

int flame_new(size_t event_count, struct flame **ret)
{
	struct flame *f;

	if (!event_count || event_count > FLAME_EVENTS_MAX)
		return -EINVAL;
	f = calloc(1, sizeof(*f));
	if (!f)
		return -ENOMEM;
	f->event_count = event_count;
	f->strings = intern_new(3 * FLAME_FUNCTIONS_MAX);
	f->function_keys = intern_new(FLAME_FUNCTIONS_MAX);
	f->self = calloc(event_count, sizeof(*f->self));
	if (!f->strings || !f->function_keys || !f->self) {
		flame_free(f);
		return -ENOMEM;
	}
	buf_init(&f->events, ARRAY_MAX_BYTES);
	buf_init(&f->metrics, ARRAY_MAX_BYTES);
	buf_init(&f->up, ARRAY_MAX_BYTES);
	buf_init(&f->frame, ARRAY_MAX_BYTES);
	buf_init(&f->functions, ARRAY_MAX_BYTES);
	for (size_t i = 0; i < event_count; i++)
		buf_init(&f->self[i], ARRAY_MAX_BYTES);
	*ret = f;
	return 0;
}

void flame_free(struct flame *f)
{
	if (!f)
		return;
	intern_free(f->strings);
	intern_free(f->function_keys);
	for (size_t i = 0; i < f->event_count && f->self; i++)
		buf_free(&f->self[i]);
	free(f->self);
	buf_free(&f->events);
	buf_free(&f->metrics);
	buf_free(&f->up);
	buf_free(&f->frame);
	buf_free(&f->functions);
	free(f);
}

int flame_add_event(struct flame *f, const char *name, double sample_ns)
{
	if (f->events_added++)
		buf_append_u8(&f->events, ',');
	buf_printf(&f->events, "{\"name\":");
	quote_json(&f->events, name);
	buf_printf(&f->events, ",\"ns\":%.9g}", sample_ns);
	return f->events.error;
}

int flame_add_metric(struct flame *f, const char *name, const char *steps)
{
	buf_printf(&f->metrics, "%s{\"name\":", f->metrics.size ? "," : "");
	quote_json(&f->metrics, name);
	return buf_printf(&f->metrics, ",\"steps\":%s}", steps);
}

static int add_string(struct flame *f, const char *text, uint32_t *ret)
{
	return intern_add(f->strings, text ? text : "", text ? strlen(text) : 0, ret);
}

int flame_add_function(struct flame *f, const struct flame_function *function, uint32_t *ret)
{
	uint32_t key[5], count = intern_count(f->function_keys);
	int r = add_string(f, function->name, &key[0]);

	if (!r)
		r = add_string(f, function->image, &key[1]);
	if (!r)
		r = add_string(f, function->file, &key[2]);
	key[3] = function->line;
	key[4] = function->kind;
	if (!r)
		r = intern_add(f->function_keys, key, sizeof(key), ret);
	if (r || *ret < count)
		return r;
	return buf_printf(&f->functions, "%s%u,%u,%u,%u,%u", count ? "," : "", key[0], key[1],
			  key[2], key[3], key[4]);
}

int flame_add_context(struct flame *f, uint32_t depth, uint32_t function, const uint64_t *samples)
{
	const char *comma = f->contexts ? "," : "";
	uint32_t room = f->contexts ? f->depth + 1 : 0;

	if (depth > room || function >= intern_count(f->function_keys))
		return -EINVAL;
	if (f->contexts == FLAME_CONTEXTS_MAX)
		return -ENOSPC;
	int r = buf_printf(&f->up, "%s%u", comma, room - depth);
	if (!r)
		r = buf_printf(&f->frame, "%s%u", comma, function);
	for (size_t i = 0; i < f->event_count && !r; i++)
		r = buf_printf(&f->self[i], "%s%" PRIu64, comma, samples[i]);
	f->depth = depth;
	f->contexts++;
	return r;
}

static void put_array(struct buf *b, const char *name, const struct buf *values)
{
	buf_printf(b, ",\n\"%s\":[", name);
	buf_append(b, values->data, values->size);
	buf_append_u8(b, ']');
	if (values->error)
		b->error = values->error;
}

static void put_strings(struct buf *b, const struct intern *strings)
{
	size_t size;

	buf_printf(b, ",\n\"strings\":[");
	for (uint32_t i = 0; i < intern_count(strings); i++) {
		if (i)
			buf_append_u8(b, ',');
		quote_json(b, intern_get(strings, i, &size));
	}
	buf_append_u8(b, ']');
}

/* The lines above every report, as they stand there. */
static void put_header(struct buf *b, const struct report_header *h)
{
	char *text = NULL, *line, *rest;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	bool any = false;

	buf_printf(b, ",\n\"about\":[");
	if (!out || report_header_print(h, out, 0))
		b->error = -ENOMEM;
	if (out && fclose(out))
		b->error = -ENOMEM;
	rest = text;
	while (!b->error && (line = strsep(&rest, "\n"))) {
		if (!*line)
			continue;
		if (any)
			buf_append_u8(b, ',');
		quote_json(b, line);
		any = true;
	}
	buf_append_u8(b, ']');
	free(text);
}

int flame_write(const struct flame *f, const struct flame_look *look, const struct report_header *h,
		FILE *out)
{
	struct buf b;
	int r, written;

	buf_init(&b, 8 * ARRAY_MAX_BYTES);
	buf_printf(&b, "{\"title\":");
	quote_json(&b, look->title);
	buf_printf(&b, ",\n\"summary\":");
	quote_json(&b, look->summary);
	buf_printf(&b, ",\n\"direction\":\"%s\"", look->bottom_up ? "up" : "down");
	put_header(&b, h);
	put_array(&b, "events", &f->events);
	put_array(&b, "metrics", &f->metrics);
	put_strings(&b, f->strings);
	put_array(&b, "functions", &f->functions);
	put_array(&b, "up", &f->up);
	put_array(&b, "frame", &f->frame);
	buf_printf(&b, ",\n\"self\":[");
	for (size_t i = 0; i < f->event_count; i++) {
		buf_printf(&b, "%s[", i ? "," : "");
		buf_append(&b, f->self[i].data, f->self[i].size);
		buf_append_u8(&b, ']');
		b.error = b.error ? b.error : f->self[i].error;
	}
	buf_printf(&b, "]}");
	r = b.error;
	errno = 0;
	if (!r) {
		fwrite(flame_page_head, 1, flame_page_head_size, out);
		fwrite(b.data, 1, b.size, out);
		fwrite(flame_page_tail, 1, flame_page_tail_size, out);
	}
	written = errno;
	buf_free(&b);
	return r ? r : ferror(out) ? -(written ? written : EIO) : 0;
}
