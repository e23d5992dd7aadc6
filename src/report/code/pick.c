/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "report/code/pick.h"

#include <errno.h>
#include <string.h>
#include "analyze/calls/stack_set.h"
#include "report/code/list_table.h"
#include "report/describe.h"
#include "util/num.h"
#include "util/text.h"

void pick_free(struct pick *p)
{
	functions_free(p->functions);
	*p = (struct pick){0};
}

static int find_functions(struct report_session *s, const char *what, struct functions **ret,
			  struct diag *diag)
{
	struct rank_source source = report_session_source(s);
	uint64_t address;
	int r;

	if (strncmp(what, "0x", 2) == 0 && num_parse_u64(what, &address) == 0)
		return functions_by_address(s->query, &source, address, ret, diag);
	r = functions_by_name(s->query, &source, what, ret, diag);
	if (!r && !(*ret)->count)
		r = functions_counted(s->query, s->reader, &source, what, *ret, diag);
	return r;
}

/* The file of a function of that name that an interpreter runs, which only stacks know. */
static const char *find_interpreted(const struct stack_set *s, const char *what)
{
	const char *found = NULL;

	for (size_t i = 0; i < s->function_count; i++) {
		const struct stack_function *f = &s->functions[i];

		if (s->images[f->image].id.kind != IMAGE_SCRIPT || !strstr(f->name, what))
			continue;
		if (!found || !strcmp(f->name, what))
			found = s->images[f->image].path;
	}
	return found;
}

/* -ENOENT with the reason, when it is such a function; 0 when it is none. */
static int fail_interpreted(const struct report_session *s, const char *what, struct diag *diag)
{
	const struct stack_options plain = {0};
	struct rank_source source = report_session_source(s);
	struct stack_set *stacks = NULL;
	struct query *q = NULL;
	const char *file = NULL;
	int r = query_new(&s->options->selection, QUERY_WHOLE, &q, NULL);

	if (!r)
		r = stack_set_new(q, &stacks, NULL);
	if (!r)
		r = query_read(q, s->reader, NULL);
	if (!r && !stack_set_finish(stacks, &plain, &source, NULL))
		file = find_interpreted(stacks, what);
	if (file)
		diag_fail(diag, ENOENT,
			  "'%s' is in %s, which an interpreter runs: its samples are the "
			  "interpreter's, so it has none by instruction or line. For its time, its "
			  "callers and the lines of its calls: culprit calls '%s'",
			  what, file, what);
	stack_set_free(stacks);
	query_free(q);
	return file ? -ENOENT : 0;
}

static int fail_none(const struct report_session *s, const struct functions *f, const char *what,
		     struct diag *diag)
{
	int r = fail_interpreted(s, what, diag);

	if (r)
		return r;
	if (f->images_without_symbols)
		return diag_fail(diag, ENOENT, "no samples in '%s'; %llu %s no symbols%s: %s", what,
				 TEXT_COUNT(f->images_without_symbols, "image has", "images have"),
				 text_plural(f->images_without_symbols, "", ", one because"),
				 f->symbols_reason.text);
	return diag_fail(
		diag, ENOENT,
		"no samples in '%s' in these epochs and this selection%s (see: culprit prof)", what,
		f->has_counts ? "; what was counted is shown only of files that have samples" : "");
}

struct table *pick_choices(const struct pick *p, const struct report_session *s,
			   struct report_header *h)
{
	report_describe(h, s);
	return list_table_choices(s->query, p->functions);
}

int pick_function(struct report_session *s, const char *what, struct pick *ret, struct diag *diag)
{
	*ret = (struct pick){0};
	int r = report_session_read(s, NULL, QUERY_WHOLE, diag);
	if (!r)
		r = find_functions(s, what, &ret->functions, diag);
	if (r)
		return r;
	if (!ret->functions->count)
		return fail_none(s, ret->functions, what, diag);
	if (ret->functions->count > 1)
		return diag_fail(diag, EEXIST,
				 "'%s' matches %zu functions: select one by its full name, "
				 "--image, or its address and --image",
				 what, ret->functions->count);
	ret->hit = &ret->functions->list[0];
	return 0;
}
