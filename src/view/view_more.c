/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include "view/view_state.h"

/* What a page that was written asks for later: the instructions of one function, with the names,
 * places, loops and source that these add. */

void view_mark_written(struct view *v)
{
	v->written = (struct view_sizes){
		.strings = intern_count(v->strings),
		.functions = intern_count(v->function_keys),
		.places = v->place_count,
		.frames = v->frame_count,
		.loops = v->loop_count,
		.sources = v->sources.size,
	};
}

int view_more(struct view *v, uint32_t function, struct buf *out, struct diag *diag)
{
	struct view_code *code = NULL;
	struct view_set *set;
	size_t size;
	const struct view_function *f;
	int r;

	if (v->options.no_code || function >= intern_count(v->function_keys))
		return diag_fail(diag, ENOENT, "no such function");
	f = intern_get(v->function_keys, function, &size);
	set = &v->sets[v->images[f->image].set];
	r = view_code_choose_one(v, set, function, &code);
	if (!r)
		r = view_name_frames(v);
	buf_clear(&v->code);
	if (!r)
		r = view_code_write(v, code);
	if (!r && !v->options.no_source)
		r = view_read_sources(v);
	view_code_free(code);
	if (!r)
		r = view_json_more(v, out);
	return r ? diag_fail(diag, -r, "the code of this function cannot be had") : 0;
}
