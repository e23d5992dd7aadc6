/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include "config.h"
#include "exchange/stacks.h"
#include "util/quote.h"

/* speedscope's own JSON: shared frames, and for each event the stacks as lists of them. */

#define UNUSED UINT32_MAX

/* Numbers the functions that a selection has stacks of, in the order in which they are met. */
static int number_frames(const struct stack_set *s, uint32_t *numbers, uint32_t *functions,
			 uint32_t *ret_count)
{
	struct stack_levels levels = {0};
	uint32_t count = 0;
	int r = 0;

	for (size_t i = 0; i < s->function_count; i++)
		numbers[i] = UNUSED;
	for (size_t i = 0; i < s->count_count && !r; i++) {
		r = stack_levels_read(&levels, s, s->counts[i].node);
		for (size_t k = 0; k < levels.count && !r; k++) {
			uint32_t function = s->places[levels.list[k].place].function;

			if (numbers[function] == UNUSED) {
				functions[count] = function;
				numbers[function] = count++;
			}
		}
	}
	free(levels.list);
	*ret_count = count;
	return r;
}

/* A frame is a function; its file the source's, where that is known, else the image's. */
static int put_frames(struct buf *b, const struct stack_set *s, const uint32_t *functions,
		      uint32_t count)
{
	const char **files = calloc(s->function_count + 1, sizeof(*files));

	if (!files)
		return -ENOMEM;
	for (size_t i = 0; i < s->place_count; i++)
		if (s->places[i].file && !files[s->places[i].function])
			files[s->places[i].function] = s->places[i].file;
	for (uint32_t i = 0; i < count; i++) {
		const struct stack_function *f = &s->functions[functions[i]];
		const char *file = files[functions[i]];

		buf_printf(b, "%s{\"name\":", i ? ",\n" : "");
		quote_json(b, f->name);
		if (f->kind != STACK_NOTE) {
			buf_printf(b, ",\"file\":");
			quote_json(b, file ? file : s->images[f->image].path);
		}
		buf_append_u8(b, '}');
	}
	free(files);
	return b->error;
}

static int put_samples(struct buf *b, const struct stack_set *s, const uint32_t *numbers,
		       size_t event)
{
	struct stack_levels levels = {0};
	const char *comma = "";
	int r = 0;

	for (size_t i = 0; i < s->count_count && !r; i++) {
		if (s->counts[i].event != event)
			continue;
		r = stack_levels_read(&levels, s, s->counts[i].node);
		buf_printf(b, "%s[", comma);
		comma = ",\n";
		for (size_t k = 0; k < levels.count && !r; k++)
			r = buf_printf(b, "%s%u", k ? "," : "",
				       numbers[s->places[levels.list[k].place].function]);
		buf_append_u8(b, ']');
	}
	free(levels.list);
	return r ? r : b->error;
}

/* Of a clock the time that the samples stand for; of others their number. */
static int put_profile(struct buf *b, const struct stack_set *s, const uint32_t *numbers,
		       size_t event)
{
	const struct query_event *e = &s->query->events[event];
	double weight = stacks_is_clock(e) ? stacks_units(s, event) : 1, sum = 0;
	const char *comma = "";

	buf_printf(b, "{\"type\":\"sampled\",\"name\":");
	quote_json(b, e->label);
	buf_printf(b, ",\"unit\":\"%s\",\"startValue\":0,\"samples\":[",
		   stacks_is_clock(e) ? "nanoseconds" : "none");
	int r = put_samples(b, s, numbers, event);
	buf_printf(b, "],\n\"weights\":[");
	for (size_t i = 0; i < s->count_count; i++) {
		if (s->counts[i].event != event)
			continue;
		buf_printf(b, "%s%.0f", comma, (double)s->counts[i].count * weight);
		sum += (double)s->counts[i].count * weight;
		comma = ",";
	}
	buf_printf(b, "],\"endValue\":%.0f}", sum);
	return r ? r : b->error;
}

static int put_document(struct buf *out, const struct stack_set *s,
			const struct stacks_about *about, uint32_t *numbers, uint32_t *functions)
{
	uint32_t count;
	int r = number_frames(s, numbers, functions, &count);

	if (r)
		return r;
	buf_printf(out, "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n"
			"\"exporter\":\"culprit " CULPRIT_VERSION "\",\"name\":");
	quote_json(out, about->title);
	buf_printf(out, ",\"activeProfileIndex\":0,\n\"shared\":{\"frames\":[");
	r = put_frames(out, s, functions, count);
	buf_printf(out, "]},\n\"profiles\":[");
	for (size_t i = 0; i < s->query->event_count && !r; i++) {
		if (i)
			buf_printf(out, ",\n");
		r = put_profile(out, s, numbers, i);
	}
	buf_printf(out, "]}\n");
	return r;
}

int stacks_write_speedscope(const struct stack_set *s, const struct stacks_about *about,
			    struct buf *out)
{
	uint32_t *numbers = calloc(s->function_count + 1, sizeof(*numbers));
	uint32_t *functions = calloc(s->function_count + 1, sizeof(*functions));
	int r = numbers && functions ? put_document(out, s, about, numbers, functions) : -ENOMEM;

	free(numbers);
	free(functions);
	if (r && !out->error)
		out->error = r;
	return out->error;
}
