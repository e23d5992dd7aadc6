/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "report/calls/calls_view.h"
#include "report/describe.h"
#include "util/buf.h"
#include "util/num.h"

/* One function: who called it, and whom it called. */

#define THREAD_START "[thread start]"
#define NAMES_SHOWN  5

int calls_pick(const struct tree *t, const char *text, bool *ret, struct diag *diag)
{
	const struct stack_set *s = t->set;
	size_t names = tree_find_functions(t, text, ret), shown = 0;
	struct buf b;

	if (names == 1)
		return 0;
	if (!names)
		return diag_fail(diag, ENOENT,
				 "no stack contains '%s' in these epochs and this selection (see: "
				 "culprit prof)",
				 text);
	buf_init(&b, 4096);
	for (size_t i = 0; i < s->function_count; i++) {
		bool again = false;

		for (size_t j = 0; j < i && ret[i]; j++)
			again |= ret[j] && !strcmp(s->functions[i].name, s->functions[j].name);
		if (ret[i] && !again && ++shown <= NAMES_SHOWN)
			buf_printf(&b, "%s'%s'", shown > 1 ? ", " : "", s->functions[i].name);
	}
	int r = diag_fail(diag, EEXIST, "'%s' matches %zu functions: %.*s%s; say which", text,
			  shown, (int)b.size, b.data ? (char *)b.data : "",
			  shown > NAMES_SHOWN ? ", ..." : "");
	buf_free(&b);
	return r;
}

struct columns {
	int total, share, samples, role, function, site, image, build_id;
};

static void add_columns(struct table *t, struct metrics_bound *metrics, struct columns *c)
{
	c->total = table_add_column(t, TABLE_PERCENT, "percent", "total%");
	c->share = table_add_column(t, TABLE_PERCENT, "share", "of it%");
	c->samples = table_add_column(t, TABLE_COUNT, "samples", "samples");
	metrics_add_columns(metrics, t, "metrics", "");
	c->role = table_add_column(t, TABLE_NAME, "role", "role");
	c->function = table_add_column(t, TABLE_NAME, "function", "function");
	c->site = table_add_column(t, TABLE_NAME, "site", "called at");
	c->image = table_add_column(t, TABLE_NAME, "image", "image");
	c->build_id = table_add_column(t, TABLE_NAME, "build_id", NULL);
}

struct row {
	const char *role;
	uint32_t function; /* TREE_NO_FUNCTION: none */
	uint64_t samples;
	const uint64_t *counts;		      /* for each event; of what is not shown: NULL */
	const struct tree_neighbor *neighbor; /* NULL: none */
	uint32_t more;			      /* of what is not shown: how many */
};

static struct row neighbor_row(const char *role, const struct tree_neighbor *n)
{
	return (struct row){role, n->function, n->stacks[0], n->stacks, n, 0};
}

/* rank: among its like, the heaviest first. */
static bool is_shown(const struct calls_function *f, const struct row *r, size_t rank)
{
	return calls_share(f->tree, 0, r->samples) >= f->prune && (!f->limit || rank < f->limit);
}

static void leave_out(struct row *rest, const struct row *r)
{
	rest->samples = num_add_sat(rest->samples, r->samples);
	rest->more++;
}

/* Calls `take` for each row in order. The heaviest neighbours are next to the function. */
static int each_row(const struct calls_function *f, int (*take)(void *arg, const struct row *r),
		    void *arg)
{
	const struct tree_neighbors *n = f->neighbors;
	struct row rest = {.role = "caller", .function = TREE_NO_FUNCTION};
	uint32_t self = 0;
	int err = 0;

	while (!f->functions[self])
		self++;
	for (size_t i = n->caller_count; i-- > 0 && !err;) {
		struct row r = neighbor_row("caller", &n->callers[i]);

		if (is_shown(f, &r, i)) {
			err = rest.more ? take(arg, &rest) : 0;
			rest.more = 0;
			err = err ? err : take(arg, &r);
		} else {
			leave_out(&rest, &r);
		}
	}
	if (rest.more && !err)
		err = take(arg, &rest);
	if (!err)
		err = take(arg, &(struct row){"total", self, n->total[0], n->total, NULL, 0});
	if (!err)
		err = take(arg, &(struct row){"self", self, n->self[0], n->self, NULL, 0});
	rest = (struct row){.role = "callee", .function = TREE_NO_FUNCTION};
	for (size_t i = 0; i < n->callee_count && !err; i++) {
		struct row r = neighbor_row("callee", &n->callees[i]);

		if (is_shown(f, &r, i))
			err = take(arg, &r);
		else
			leave_out(&rest, &r);
	}
	return rest.more && !err ? take(arg, &rest) : err;
}

/* The row's name; of what is not shown, written to room. */
static const char *row_name(const struct calls_function *f, const struct row *r, char room[64])
{
	if (r->more) {
		snprintf(room, 64, "\xe2\x80\xa6 %" PRIu32 " more, %.2f%%", r->more,
			 calls_share(f->tree, 0, r->samples));
		return room;
	}
	return r->function == TREE_NO_FUNCTION ? THREAD_START
					       : f->tree->set->functions[r->function].name;
}

static double row_share(const struct calls_function *f, const struct row *r)
{
	uint64_t all = f->neighbors->total[0];

	return all ? 100 * (double)r->samples / (double)all : 0;
}

/* The image of the row's function, NULL when it has none. */
static const struct query_image *row_image(const struct calls_function *f, const struct row *r)
{
	const struct stack_set *s = f->tree->set;
	const struct stack_function *fn;

	if (r->function == TREE_NO_FUNCTION)
		return NULL;
	fn = &s->functions[r->function];
	return fn->kind == STACK_NOTE || fn->kind == STACK_UNKNOWN ? NULL : &s->images[fn->image];
}

static struct tree_node neighbor_call(const struct tree_neighbor *n)
{
	return (struct tree_node){
		.function = n->function,
		.site = n->site,
		.site_file = n->site_file,
		.site_line = n->site_line,
	};
}

static void row_site(const struct calls_function *f, const struct row *r, char *out, size_t room)
{
	const struct tree_neighbors *all = f->neighbors;
	bool callers = !strcmp(r->role, "caller"), shared = false;
	size_t count = callers ? all->caller_count : all->callee_count;
	struct tree_node call, other;

	*out = 0;
	if (!r->neighbor)
		return;
	call = neighbor_call(r->neighbor);
	for (size_t i = 0; i < count && call.site_line && !shared; i++) {
		other = neighbor_call(callers ? &all->callers[i] : &all->callees[i]);
		shared = calls_share_line(&call, &other);
	}
	calls_format_site(&call, shared, out, room);
}

struct filling {
	const struct calls_function *function;
	struct table *table;
	struct columns columns;
	struct metrics_bound metrics;
};

static int add_table_row(void *arg, const struct row *r)
{
	struct filling *f = arg;
	struct table *t = f->table;
	const struct query_image *image = row_image(f->function, r);
	char room[64], site[600];
	const char *name = row_name(f->function, r, room);

	table_add_row(t);
	row_site(f->function, r, site, sizeof(site));
	table_set_real(t, f->columns.total, calls_share(f->function->tree, 0, r->samples));
	table_set_real(t, f->columns.share, row_share(f->function, r));
	table_set_count(t, f->columns.samples, r->samples);
	if (r->counts)
		metrics_set(&f->metrics, t, r->counts);
	table_set_text(t, f->columns.role, r->role);
	table_set_text(t, f->columns.function, name);
	if (*site)
		table_set_text(t, f->columns.site, site);
	if (image)
		report_set_image(t, f->columns.image, f->columns.build_id, image);
	return 0;
}

static int bind_metrics(const struct calls_function *f, struct metrics_bound *ret,
			struct diag *diag)
{
	const struct stack_set *set = f->tree->set;

	return metrics_bind(f->metrics, set->query, set->totals, ret, diag);
}

int calls_function_table(const struct calls_function *f, struct report_header *h,
			 struct table **ret, struct diag *diag)
{
	struct filling filling = {.function = f};
	int r = bind_metrics(f, &filling.metrics, diag);

	if (r)
		return r;
	filling.table = *ret = table_new("calls");
	add_columns(filling.table, &filling.metrics, &filling.columns);
	r = each_row(f, add_table_row, &filling);
	metrics_describe(&filling.metrics, NULL, h);
	return r;
}

struct writing {
	const struct calls_function *function;
	struct metrics_bound metrics;
	FILE *out;
	bool any;
};

static int print_row(void *arg, const struct row *r)
{
	struct writing *w = arg;
	const struct query_image *image = row_image(w->function, r);
	const struct tree_neighbor *n = r->neighbor;
	char room[64], id[IMAGE_ID_TEXT_MAX];
	json_t *object = json_object();

	if (image)
		image_id_format(&image->id, id);
	json_object_set_new(object, "role", json_string(r->role));
	if (r->more)
		json_object_set_new(object, "more", report_json_count(r->more));
	else
		json_object_set_new(object, "function",
				    report_json_text(row_name(w->function, r, room)));
	json_object_set_new(object, "image", report_json_text(image ? image->path : NULL));
	json_object_set_new(object, "build_id", report_json_text(image ? id : NULL));
	json_object_set_new(object, "site",
			    n && n->site != TREE_NO_SITE ? report_json_address(n->site)
							 : json_null());
	json_object_set_new(object, "site_file", report_json_text(n ? n->site_file : NULL));
	json_object_set_new(object, "site_line",
			    n && n->site_line ? json_integer(n->site_line) : json_null());
	json_object_set_new(object, "samples", report_json_count(r->samples));
	json_object_set_new(object, "percent",
			    report_json_number(calls_share(w->function->tree, 0, r->samples)));
	json_object_set_new(object, "share", report_json_number(row_share(w->function, r)));
	if (w->metrics.metrics->count && r->counts)
		json_object_set_new(object, "metrics", metrics_json(&w->metrics, r->counts));
	fputs(w->any ? ",\n" : "\n", w->out);
	w->any = true;
	return report_json_print(object, 0, w->out);
}

int calls_function_json(const struct calls_function *f, struct report_header *h, FILE *out,
			struct diag *diag)
{
	struct writing w = {.function = f, .out = out};
	int r = bind_metrics(f, &w.metrics, diag);

	if (r)
		return r;
	metrics_describe(&w.metrics, NULL, h);
	r = report_json_print(calls_json_header(f->tree->set, h), 1, out);
	if (r)
		return r;
	fputs(",\n\"rows\":[", out);
	r = each_row(f, print_row, &w);
	fputs("\n]}\n", out);
	return r;
}
