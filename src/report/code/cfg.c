/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "report/code/cfg.h"

#include <errno.h>
#include <stdlib.h>
#include "report/describe.h"
#include "util/text.h"

static void note_function(const struct cfg_view *v, const struct paths_one *path,
			  struct report_header *h)
{
	report_header_note(h, "%s at 0x%llx: %llu %s, %u %s%s",
			   v->name ? v->name : "no function is known there",
			   (unsigned long long)v->function->entry,
			   TEXT_COUNT(v->total, "sample", "samples"), v->function->block_count,
			   text_plural(v->function->block_count, "block", "blocks"),
			   v->function->complete ? "" : "; jumps with unknown targets are missing");
	if (path->blocks)
		report_header_note(h, "path: one of the edges of a path that ran %llu %s",
				   TEXT_COUNT(path->count, "time", "times"));
	if (!v->estimate)
		report_header_note(h, "frequencies are a rough guess from samples alone");
}

int cfg_make(struct report_session *s, const struct cfg_options *o, struct cfg_report *ret,
	     struct report_header *h, struct diag *diag)
{
	struct cfg_view_request request = {.syntax = o->syntax};

	*ret = (struct cfg_report){0};
	int r = o->path ? paths_find_one(s, o->function, o->path, &ret->path, diag) : 0;
	r = r ?: pick_function(s, o->function, &ret->pick, diag);
	if (r)
		return r;
	r = estimates_new(&ret->estimates, s, &o->estimates, diag);
	if (r && r != -ENODATA)
		return r;
	request.query = s->query;
	request.finder = s->finder;
	request.insights = ret->estimates.all;
	request.hit = ret->pick.hit;
	r = cfg_view_new(&request, &ret->view, diag);
	if (!r && o->path)
		r = cfg_view_mark(ret->view, &ret->path, diag);
	if (r)
		return r;
	/* Without an event that tells time there are no estimates to describe. */
	if (ret->estimates.all)
		estimates_describe(&ret->estimates, h);
	else
		report_describe(h, s);
	return 0;
}

void cfg_free(struct cfg_report *r)
{
	free(r->path.blocks);
	cfg_view_free(r->view);
	estimates_free(&r->estimates);
	pick_free(&r->pick);
}

struct table *cfg_table(struct cfg_report *c, struct report_header *h)
{
	struct table *t = cfg_view_table(c->view, &c->estimates.bound);

	note_function(c->view, &c->path, h);
	metrics_describe(&c->estimates.bound, NULL, h);
	return t;
}
