/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "cmd/pick.h"

#include <errno.h>
#include <string.h>
#include "cmd/list_table.h"
#include "util/num.h"

void pick_free(struct pick *p)
{
	functions_free(p->functions);
	query_free(p->query);
	image_finder_free(p->finder);
	report_close(p->reader);
	*p = (struct pick){0};
}

int pick_operand(const struct report_options *o, int argc, char **argv, int operand,
		 const char **ret, struct diag *diag)
{
	const char *what = operand < argc ? argv[operand++] : o->function;

	if (!what || !*what)
		return diag_fail(diag, EINVAL, "which function? culprit prof ranks them");
	if (operand < argc)
		return diag_fail(diag, EINVAL, "one function at a time");
	if (o->function && what != o->function)
		return diag_fail(diag, EINVAL, "FUNCTION or --function: one of them");
	*ret = what;
	return 0;
}

int pick_describe(const struct pick *p, struct report_header *h)
{
	return report_describe(h, p->reader, p->query, p->finder);
}

static int find_functions(struct pick *p, const char *what, struct diag *diag)
{
	struct rank_source source = report_source(p->finder);
	uint64_t address;

	if (strncmp(what, "0x", 2) == 0 && num_parse_u64(what, &address) == 0)
		return functions_by_address(p->query, &source, address, &p->functions, diag);
	return functions_by_name(p->query, &source, what, &p->functions, diag);
}

static int fail_none(const struct functions *f, const char *what, struct diag *diag)
{
	if (f->images_without_symbols)
		return diag_fail(diag, ENOENT,
				 "no samples in '%s'; %zu images have no symbols, one because: %s",
				 what, f->images_without_symbols, f->symbols_reason.text);
	return diag_fail(
		diag, ENOENT,
		"no samples in '%s' in these epochs and this selection (see: culprit prof)", what);
}

/* Several functions are meant: shows them, so that the user can say which. */
static int show_choices(const struct pick *p, const struct report_options *o, const char *what,
			struct diag *diag)
{
	struct report_header h = {0};
	struct table *t = NULL;
	int r = pick_describe(p, &h);

	if (!r)
		r = list_table_choices(p->query, p->functions, &t);
	if (r < 0)
		diag_fail(diag, -r, "out of memory");
	else
		r = report_print(t, &h, o->format);
	table_free(t);
	report_header_free(&h);
	if (r < 0)
		return r;
	return diag_fail(
		diag, EEXIST,
		"'%s' may be any of %zu functions: say which by its whole name, --image, or "
		"its address and --image",
		what, p->functions->count);
}

int pick_function(const struct report_options *o, const char *what, struct pick *ret,
		  struct diag *diag)
{
	const struct db_epoch *const *epochs;
	const char *path;
	size_t count;
	int r;

	*ret = (struct pick){0};
	r = query_new(&o->selection, QUERY_WHOLE, &ret->query, diag);
	if (!r)
		r = report_open(o, &path, &ret->reader, diag);
	if (!r)
		r = query_read(ret->query, ret->reader, diag);
	if (r)
		return r;
	epochs = db_reader_selected(ret->reader, &count);
	r = image_finder_new(path, count ? epochs[0]->machine : NULL, &ret->finder);
	if (r)
		return diag_fail(diag, -r, "cannot look for symbols: %s", strerror(-r));
	r = find_functions(ret, what, diag);
	if (r)
		return r;
	if (!ret->functions->count)
		return fail_none(ret->functions, what, diag);
	if (ret->functions->count > 1)
		return show_choices(ret, o, what, diag);
	ret->hit = &ret->functions->list[0];
	return 0;
}
