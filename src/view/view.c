/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "view/view.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "exchange/stacks.h"
#include "report/describe.h"
#include "util/array.h"
#include "view/view_state.h"

/* A page's data as it is gathered, and its tables. */

#define STRINGS_MAX (1u << 24)

int view_new(const struct view_options *o, struct view **ret)
{
	struct view *v = calloc(1, sizeof(*v));
	uint32_t empty;

	if (!v)
		return -ENOMEM;
	v->options = *o;
	v->strings = intern_new(STRINGS_MAX);
	v->function_keys = intern_new(STRINGS_MAX);
	v->image_keys = intern_new(1u << 20);
	v->frame_keys = intern_new(VIEW_FRAMES_MAX);
	v->loop_keys = intern_new(VIEW_FRAMES_MAX);
	v->file_keys = intern_new(STRINGS_MAX);
	buf_init(&v->code, VIEW_JSON_MAX);
	buf_init(&v->sources, VIEW_JSON_MAX);
	if (!v->strings || !v->function_keys || !v->image_keys || !v->frame_keys || !v->loop_keys ||
	    !v->file_keys || view_add_string(v, "", &empty)) {
		view_free(v);
		return -ENOMEM;
	}
	*ret = v;
	return 0;
}

void view_free(struct view *v)
{
	if (!v)
		return;
	for (size_t i = 0; i < v->set_count; i++) {
		insights_free(v->sets[i].insights);
		stack_set_free(v->sets[i].stacks);
	}
	intern_free(v->strings);
	intern_free(v->function_keys);
	intern_free(v->image_keys);
	intern_free(v->frame_keys);
	intern_free(v->loop_keys);
	intern_free(v->file_keys);
	free(v->images);
	free(v->frames);
	free(v->places);
	free(v->loops);
	free(v->files);
	free(v->flat);
	free(v->stacked);
	free(v->events);
	free(v->node_parents);
	free(v->node_frames);
	buf_free(&v->code);
	buf_free(&v->sources);
	free(v);
}

int view_add_string(struct view *v, const char *text, uint32_t *ret)
{
	return intern_add(v->strings, text ? text : "", text ? strlen(text) : 0, ret);
}

int view_add_image(struct view *v, const struct query_image *image, uint32_t *ret)
{
	struct image_id id = image->id;
	uint32_t index;

	/* What no image explains is one, whatever process it is from. */
	if (id.kind == IMAGE_UNKNOWN)
		id = (struct image_id){.kind = IMAGE_UNKNOWN};
	int r = intern_add(v->image_keys, &id, sizeof(id), &index);
	if (!r && index == v->image_count) {
		r = array_grow(&v->images, v->image_count, &v->image_room, sizeof(*v->images), 64);
		if (!r) {
			v->images[index] = (struct view_image){
				.id = id,
				.base = UINT64_MAX,
				.set = (uint32_t)v->set_count - 1,
			};
			r = view_add_string(v,
					    id.kind == IMAGE_UNKNOWN ? RANK_UNKNOWN : image->path,
					    &v->images[index].path);
			v->image_count++;
		}
	}
	*ret = index;
	return r;
}

int view_add_frame(struct view *v, uint32_t image, uint64_t offset, uint32_t *ret)
{
	struct {
		uint64_t offset, image;
	} key = {offset, image};
	int r = intern_add(v->frame_keys, &key, sizeof(key), ret);

	if (r || *ret < v->frame_count)
		return r;
	r = array_grow(&v->frames, v->frame_count, &v->frame_room, sizeof(*v->frames), 4096);
	if (r)
		return r;
	v->frames[v->frame_count++] =
		(struct view_frame){.offset = offset, .image = image, .loop = VIEW_NONE};
	/* A page that was written has its differences to this. */
	if (offset < v->images[image].base && !v->written.frames)
		v->images[image].base = offset;
	return 0;
}

int view_add_function(struct view *v, const struct view_function *f, uint32_t *ret)
{
	return intern_add(v->function_keys, f, sizeof(*f), ret);
}

static int add_events(struct view *v, struct view_set *set)
{
	const struct query *q = set->session->query;

	set->first_event = (uint32_t)v->event_count;
	for (size_t e = 0; e < q->event_count; e++) {
		const double units = stacks_units(set->stacks, e);
		struct view_event *event;

		if (array_grow(&v->events, v->event_count, &v->event_room, sizeof(*v->events), 8))
			return -ENOMEM;
		event = &v->events[v->event_count];
		*event = (struct view_event){
			.set = (uint32_t)(set - v->sets),
			.units = units,
			.sample_ns = stacks_is_clock(&q->events[e]) ? units : 0,
			.period = q->events[e].period,
			.total = set->stacks->totals[e],
			.idle = set->stacks->idle[e],
		};
		v->event_count++;
		if (view_add_string(v, q->events[e].label, &event->name) ||
		    view_add_string(v, q->events[e].name, &event->plain))
			return -ENOMEM;
	}
	return 0;
}

static int explain(int r, struct diag *diag)
{
	if (r == -ENOSPC || r == -E2BIG)
		return diag_fail(
			diag, E2BIG,
			"more functions, addresses or stacks than a page should hold; select "
			"less (--epoch, --event, --subject)");
	return r ? diag_fail(diag, -r, "cannot make the page: %s", strerror(-r)) : 0;
}

static void describe(const struct view_set *set, struct report_header *h)
{
	report_describe(h, set->session);
	report_describe_stacks(h, set->stacks);
}

int view_add(struct view *v, struct report_session *s, const char *name, struct report_header *h,
	     struct diag *diag)
{
	const struct rank_source source = report_session_source(s);
	const struct stack_options stacks = {0};
	struct view_set *set = &v->sets[v->set_count];
	int r;

	if (v->set_count == VIEW_SETS_MAX)
		return diag_fail(diag, E2BIG, "at most %d databases on one page", VIEW_SETS_MAX);
	v->set_count++;
	set->session = s;
	r = report_session_open(s, NULL, QUERY_WHOLE, diag);
	if (!r)
		r = stack_set_new(s->query, &set->stacks, diag);
	if (!r)
		r = query_read(s->query, s->reader, diag);
	if (!r)
		r = stack_set_finish(set->stacks, &stacks, &source, diag);
	if (r)
		return r;
	r = view_add_string(v, name, &set->name);
	if (!r)
		r = add_events(v, set);
	if (!r)
		r = view_add_samples(v, set);
	if (!r)
		r = view_add_stacks(v, set);
	if (h && !r)
		describe(set, h);
	return explain(r, diag);
}

static void note_limits(const struct view *v, struct report_header *h)
{
	const struct view_counts *c = &v->counts;

	if (c->functions_refused)
		report_header_note(
			h,
			"instructions of %llu functions only, %llu more would be too many "
			"for a page: see culprit list",
			(unsigned long long)c->functions, (unsigned long long)c->functions_refused);
	if (c->sources_refused)
		report_header_note(
			h, "source of %llu files only, %llu more are too large for a page",
			(unsigned long long)c->sources, (unsigned long long)c->sources_refused);
}

int view_finish(struct view *v, struct report_header *h, struct diag *diag)
{
	struct view_code *code[VIEW_SETS_MAX] = {0};
	int r = 0;

	for (size_t i = 0; i < v->set_count && !v->options.no_code && !v->options.later && !r; i++)
		r = view_code_choose(v, &v->sets[i], &code[i]);
	if (!r)
		r = view_name_frames(v);
	for (size_t i = 0; i < v->set_count && !r; i++)
		if (code[i])
			r = view_code_write(v, code[i]);
	if (!r && !v->options.no_source)
		r = view_read_sources(v);
	for (size_t i = 0; i < v->set_count; i++)
		view_code_free(code[i]);
	v->counts.contexts = v->node_count;
	v->counts.scopes = v->frame_count;
	if (h)
		note_limits(v, h);
	return explain(r, diag);
}

struct view_counts view_counts(const struct view *v)
{
	return v->counts;
}
