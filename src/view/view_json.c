/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "analyze/culprits/culprits.h"
#include "util/quote.h"
#include "util/text.h"
#include "view/view_state.h"

/*
 * The page's data as one JSON object. Texts are indexes of "strings"; what there are many of is in
 * columns, one array a field. Addresses are differences to their image's base, which is text: a
 * number of JavaScript holds 53 bits.
 */

/* The lines above every report, as they stand there. */
static void put_about(struct buf *b, const struct report_header *h)
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

/* When it was: people know no profile by its machine's number. */
static void put_title(struct buf *b, const struct report_header *h)
{
	char day[16] = "", last[16] = "", title[256] = "";
	size_t size = 0;

	if (h->end_ns > h->start_ns) {
		text_format_time(h->start_ns, "%F", day, sizeof(day));
		text_format_time(h->end_ns, "%F", last, sizeof(last));
		size = text_format_time(h->start_ns, "%F %T", title, sizeof(title));
		text_format_time(h->end_ns, strcmp(day, last) ? " to %F %T UTC" : " to %T UTC",
				 title + size, sizeof(title) - size);
	}
	buf_printf(b, "\"title\":");
	quote_json(b, *title ? title : h->epoch_count ? h->epochs[h->epoch_count - 1] : "culprit");
	buf_printf(b, ",\"machine\":");
	quote_json(b, h->machine ? h->machine : "");
}

static void put_sets(const struct view *v, struct buf *b)
{
	buf_printf(b, ",\n\"sets\":[");
	for (size_t i = 0; i < v->set_count; i++) {
		const struct stack_quality *q = &v->sets[i].stacks->quality;

		buf_printf(b, "%s{\"name\":%u,\"stacks\":%" PRIu64 ",\"complete\":%" PRIu64 "}",
			   i ? "," : "", v->sets[i].name, q->stacks, q->complete);
	}
	buf_printf(b, "],\n\"events\":[");
	for (size_t i = 0; i < v->event_count; i++) {
		const struct view_event *e = &v->events[i];

		buf_printf(b,
			   "%s{\"name\":%u,\"plain\":%u,\"set\":%u,\"ns\":%.9g,\"units\":%.17g,"
			   "\"period\":%" PRIu64 ",\"total\":%" PRIu64 ",\"idle\":%" PRIu64 "}",
			   i ? "," : "", e->name, e->plain, e->set, e->sample_ns, e->units,
			   e->period, e->total, e->idle);
	}
	buf_append_u8(b, ']');
}

static void put_strings(const struct view *v, size_t from, struct buf *b)
{
	size_t size;

	buf_printf(b, ",\n\"strings\":[");
	for (uint32_t i = (uint32_t)from; i < intern_count(v->strings); i++) {
		if (i > from)
			buf_append_u8(b, ',');
		quote_json(b, intern_get(v->strings, i, &size));
	}
	buf_append_u8(b, ']');
}

/* Path, identity, base, kind. */
static void put_images(const struct view *v, struct buf *b)
{
	char id[IMAGE_ID_TEXT_MAX];

	buf_printf(b, ",\n\"images\":[");
	for (size_t i = 0; i < v->image_count; i++) {
		const struct view_image *m = &v->images[i];

		image_id_format(&m->id, id);
		buf_printf(b, "%s%u,\"%s\",\"0x%" PRIx64 "\",%u", i ? "," : "", m->path, id,
			   m->base == UINT64_MAX ? 0 : m->base, m->id.kind);
	}
	buf_append_u8(b, ']');
}

/* Functions: name, image, flags, start as text or 0; places: function, file, line. */
static void put_functions(const struct view *v, const struct view_sizes *from, struct buf *b)
{
	buf_printf(b, ",\n\"functions\":[");
	for (uint32_t i = (uint32_t)from->functions; i < intern_count(v->function_keys); i++) {
		size_t size;
		const struct view_function *f = intern_get(v->function_keys, i, &size);

		buf_printf(b, "%s%u,%u,%u", i > from->functions ? "," : "", f->name, f->image,
			   f->flags);
		if (f->start)
			buf_printf(b, ",\"0x%" PRIx64 "\"", f->start);
		else
			buf_append(b, ",0", 2);
	}
	buf_printf(b, "],\n\"places\":[");
	for (size_t i = from->places; i < v->place_count; i++)
		buf_printf(b, "%s%u,%u,%u", i > from->places ? "," : "", v->places[i].function,
			   v->places[i].file, v->places[i].line);
	buf_append_u8(b, ']');
}

#define PUT_COLUMN(b, name, from, count, format, value)                         \
	do {                                                                    \
		buf_printf(b, ",\n\"" name "\":[");                             \
		for (size_t i = from; i < (count); i++)                         \
			buf_printf(b, "%s" format, i > from ? "," : "", value); \
		buf_append_u8(b, ']');                                          \
	} while (0)

static int number(uint32_t index)
{
	return index == VIEW_NONE ? -1 : (int)index;
}

static void put_frames(const struct view *v, const struct view_sizes *from, struct buf *b)
{
	const struct view_frame *f = v->frames;
	const struct view_loop *l = v->loops;

	PUT_COLUMN(b, "frameImage", from->frames, v->frame_count, "%u", f[i].image);
	PUT_COLUMN(b, "frameOffset", from->frames, v->frame_count, "%" PRId64,
		   (int64_t)(f[i].offset - v->images[f[i].image].base));
	PUT_COLUMN(b, "framePlace", from->frames, v->frame_count, "%u", f[i].first_place);
	PUT_COLUMN(b, "framePlaces", from->frames, v->frame_count, "%u", f[i].place_count);
	PUT_COLUMN(b, "frameLoop", from->frames, v->frame_count, "%d", number(f[i].loop));
	PUT_COLUMN(b, "loopParent", from->loops, v->loop_count, "%d", number(l[i].parent));
	PUT_COLUMN(b, "loopFrame", from->loops, v->loop_count, "%u", l[i].frame);
	PUT_COLUMN(b, "loopIrreducible", from->loops, v->loop_count, "%d", l[i].irreducible);
}

/* The parent of a node as the difference of their numbers, which is mostly small; 0: none. */
static unsigned distance(const struct view *v, size_t node)
{
	return v->node_parents[node] == VIEW_NONE ? 0 : (unsigned)(node - v->node_parents[node]);
}

static void put_samples(const struct view *v, struct buf *b)
{
	PUT_COLUMN(b, "flatFrame", 0u, v->flat_count, "%u", v->flat[i].at);
	PUT_COLUMN(b, "flatEvent", 0u, v->flat_count, "%u", v->flat[i].event);
	PUT_COLUMN(b, "flatCount", 0u, v->flat_count, "%" PRIu64, v->flat[i].count);
	PUT_COLUMN(b, "nodeUp", 0u, v->node_count, "%u", distance(v, i));
	PUT_COLUMN(b, "nodeFrame", 0u, v->node_count, "%u", v->node_frames[i]);
	PUT_COLUMN(b, "selfNode", 0u, v->stacked_count, "%u", v->stacked[i].at);
	PUT_COLUMN(b, "selfEvent", 0u, v->stacked_count, "%u", v->stacked[i].event);
	PUT_COLUMN(b, "selfCount", 0u, v->stacked_count, "%" PRIu64, v->stacked[i].count);
}

static void put_metrics(const struct view *v, struct buf *b)
{
	const struct metrics *m = &v->options.metrics;

	buf_printf(b, ",\n\"metrics\":[");
	for (size_t i = 0; i < m->count; i++) {
		buf_printf(b, "%s{\"name\":", i ? "," : "");
		quote_json(b, metric_name(m->list[i]));
		buf_printf(b, ",\"formula\":");
		quote_json(b, metric_formula(m->list[i]));
		buf_append_u8(b, '}');
	}
	buf_printf(b, "],\n\"causes\":[");
	for (unsigned c = 0; c < CULPRIT_CAUSES; c++)
		buf_printf(b, "%s[\"%s\",\"%s\"]", c ? "," : "", culprit_name(c), culprit_title(c));
	buf_append_u8(b, ']');
}

static int put_list(struct buf *b, const char *name, const struct buf *list)
{
	buf_printf(b, ",\n\"%s\":[", name);
	buf_append(b, list->data, list->size);
	buf_append_u8(b, ']');
	if (list->error)
		b->error = list->error;
	return b->error;
}

int view_json(const struct view *v, const struct report_header *h, struct buf *out)
{
	const struct view_sizes all = {0};

	buf_append_u8(out, '{');
	put_title(out, h);
	put_about(out, h);
	put_sets(v, out);
	put_strings(v, 0, out);
	put_images(v, out);
	put_functions(v, &all, out);
	put_frames(v, &all, out);
	put_samples(v, out);
	put_metrics(v, out);
	put_list(out, "code", &v->code);
	put_list(out, "sources", &v->sources);
	buf_printf(out, "}\n");
	return out->error;
}

int view_json_more(const struct view *v, struct buf *out)
{
	const struct view_sizes *w = &v->written;
	/* A comma stands before each source but the first. */
	const size_t skip =
		w->sources && v->sources.size > w->sources ? w->sources + 1 : w->sources;

	buf_printf(out, "{\"from\":[%zu,%zu,%zu,%zu,%zu]", w->strings, w->functions, w->places,
		   w->frames, w->loops);
	put_strings(v, w->strings, out);
	put_functions(v, w, out);
	put_frames(v, w, out);
	put_list(out, "code", &v->code);
	buf_printf(out, ",\n\"sources\":[");
	buf_append(out, v->sources.data + skip, v->sources.size - skip);
	buf_printf(out, "]}\n");
	return out->error;
}
