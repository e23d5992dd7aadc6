/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>
#include "report/paths/paths_state.h"
#include "util/num.h"
#include "util/text.h"

#define CANDIDATES_MAX 8 /* that are named */

int paths_read(struct report_session *s, struct path_tally *t, struct diag *diag)
{
	int r = path_tally_init(t) ? diag_fail(diag, ENOMEM, "out of memory") : 0;

	r = r ?: report_session_open(s, NULL, QUERY_WHOLE, diag);
	if (r)
		return r;
	s->query->path = path_tally_add;
	s->query->path_arg = t;
	r = query_read(s->query, s->reader, diag);
	s->query->path = NULL;
	if (r == -ENOMEM || (!r && path_tally_finish(t)))
		return diag_fail(diag, ENOMEM, "out of memory for paths");
	if (!r && !t->row_count)
		return diag_fail(diag, ENODATA,
				 "no paths were counted in this selection: culprit record --paths "
				 "counts those of a command or a process");
	return r;
}

int paths_name_functions(struct report_session *s, struct paths_report *r)
{
	const struct path_tally *t = &r->tally;
	const struct image_symbols *symbols = NULL;
	uint32_t image = UINT32_MAX;

	r->names = calloc(t->function_count + 1, sizeof(*r->names));
	if (!r->names)
		return -ENOMEM;
	for (size_t i = 0; i < t->function_count; i++) {
		const struct path_function *f = &t->functions[i];
		const struct image_function *known;

		if (f->image != image &&
		    image_find_symbols(s->finder, &t->images[f->image].id, t->images[f->image].path,
				       &symbols, NULL))
			symbols = NULL;
		image = f->image;
		known = symbols ? image_symbols_find(symbols, f->entry) : NULL;
		r->names[i] = known ? known->demangled : NULL;
	}
	return 0;
}

/* How a function may be meant, the surest way first. */
enum meant { BY_ADDRESS, BY_NAME, BY_PART, BY_PATTERN, MEANT };

struct wanted {
	const char *what;
	uint64_t address;
	bool is_address, is_pattern;
	regex_t pattern;
};

static bool is_meant(const struct paths_report *r, size_t i, const struct wanted *w, enum meant how)
{
	const char *name = r->names[i];

	if (how == BY_ADDRESS)
		return w->is_address && r->tally.functions[i].entry == w->address;
	if (!name || w->is_address)
		return false;
	return how == BY_NAME	? !strcmp(name, w->what)
	       : how == BY_PART ? strstr(name, w->what) != NULL
				: w->is_pattern && !regexec(&w->pattern, name, 0, NULL, 0);
}

static int fail_several(const struct paths_report *r, const struct wanted *w, enum meant how,
			size_t count, struct diag *diag)
{
	char text[400] = "";
	size_t at = 0, named = 0;

	for (size_t i = 0; i < r->tally.function_count && named < CANDIDATES_MAX; i++) {
		char name[64], line[128];
		const char *known = r->names[i] ? r->names[i] : "";
		int size;

		if (!is_meant(r, i, w, how))
			continue;
		text_escape(name, sizeof(name), known, strlen(known));
		size = snprintf(line, sizeof(line), "%s%s (0x%llx)", named++ ? ", " : "", name,
				(unsigned long long)r->tally.functions[i].entry);
		if (at + (size_t)size + 1 > sizeof(text))
			break;
		memcpy(text + at, line, (size_t)size + 1);
		at += (size_t)size;
	}
	return diag_fail(diag, EEXIST,
			 "'%s' may be any of %zu functions that have paths: %s%s; select one by "
			 "its full name, or its address and --image",
			 w->what, count, text, count > named ? ", ..." : "");
}

static int find(const struct paths_report *r, const struct wanted *w, size_t *ret,
		struct diag *diag)
{
	for (int how = 0; how < MEANT; how++) {
		size_t count = 0;

		for (size_t i = 0; i < r->tally.function_count; i++)
			if (is_meant(r, i, w, (enum meant)how) && !count++)
				*ret = i;
		if (count > 1)
			return fail_several(r, w, (enum meant)how, count, diag);
		if (count)
			return 0;
	}
	return diag_fail(diag, ENOENT,
			 "no paths were counted of a function '%s' (see: culprit paths "
			 "--procedures)",
			 w->what);
}

int paths_find_function(const struct paths_report *r, const char *what, size_t *ret,
			struct diag *diag)
{
	struct wanted w = {.what = what};
	int err;

	w.is_address = !strncmp(what, "0x", 2) && !num_parse_u64(what, &w.address);
	w.is_pattern = !w.is_address && !regcomp(&w.pattern, what, REG_EXTENDED | REG_NOSUB);
	err = find(r, &w, ret, diag);
	if (w.is_pattern)
		regfree(&w.pattern);
	return err;
}

static int copy_path(const struct paths_report *r, size_t function, uint64_t number,
		     struct paths_one *ret, struct diag *diag)
{
	const struct path_function *f = &r->tally.functions[function];
	const struct db_path_item *p = &r->tally.rows[f->first + number - 1];

	*ret = (struct paths_one){.image = r->tally.images[f->image].id,
				  .function = f->entry,
				  .to = p->to,
				  .count = p->count,
				  .block_count = p->block_count,
				  .end = p->end,
				  .blocks = calloc(p->block_count, sizeof(uint64_t))};
	if (!ret->blocks)
		return diag_fail(diag, ENOMEM, "out of memory");
	memcpy(ret->blocks, p->blocks, p->block_count * sizeof(uint64_t));
	return 0;
}

int paths_check_number(const struct path_function *f, uint64_t number, struct diag *diag)
{
	if (number && number <= f->count)
		return 0;
	return diag_fail(diag, ENOENT, "the function has no path %llu: %llu %s run",
			 (unsigned long long)number, TEXT_COUNT(f->count, "was", "were"));
}

int paths_find_one(struct report_session *s, const char *function, uint64_t number,
		   struct paths_one *ret, struct diag *diag)
{
	struct paths_report found = {0};
	size_t of;
	int r = paths_read(s, &found.tally, diag);

	if (!r && paths_name_functions(s, &found))
		r = diag_fail(diag, ENOMEM, "out of memory");
	r = r ?: paths_find_function(&found, function, &of, diag);
	r = r ?: paths_check_number(&found.tally.functions[of], number, diag);
	r = r ?: copy_path(&found, of, number, ret, diag);
	paths_free(&found);
	return r;
}
