/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "report/database/verify.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "db/kind.h"
#include "render/json.h"
#include "util/array.h"
#include "util/text.h"

struct making {
	const struct verify_options *options;
	struct verify_report *report;
	size_t room;
	bool failed; /* no memory for what was found */
};

static void keep_finding(void *arg, const char *what)
{
	struct making *m = arg;
	struct verify_report *v = m->report;
	char *copy = strdup(what);

	if (m->options->found)
		m->options->found(m->options->arg, what);
	if (copy && !array_grow(&v->damage, v->count, &m->room, sizeof(*v->damage), 16)) {
		v->damage[v->count++] = copy;
		return;
	}
	free(copy);
	m->failed = true;
}

int verify_make(const char *path, const struct verify_options *o, struct verify_report *ret,
		struct diag *diag)
{
	struct making m = {.options = o, .report = ret};

	*ret = (struct verify_report){0};
	int r = db_verify(path, &io_system, keep_finding, &m, &ret->totals, diag);
	if (m.failed)
		return diag_fail(diag, ENOMEM, "out of memory for the report");
	/* A machine without epochs is sound: its first recording was stopped before it began. */
	if (!r && !ret->totals.machines)
		r = diag_fail(diag, ENOENT, "there are no epochs in %s: is it a database?", path);
	return r;
}

void verify_free(struct verify_report *r)
{
	for (size_t i = 0; i < r->count; i++)
		free(r->damage[i]);
	free(r->damage);
}

/* Of each kind of item, how many there are, and what their counts add up to if that has a name. */
static void set_kinds(json_t *all, const struct db_verify_totals *t)
{
	for (size_t i = 0; i < db_kind_count; i++) {
		const struct db_kind *kind = db_kinds[i];
		const struct db_kind_totals *of = &t->of[kind->type];

		json_object_set_new(all, kind->json, report_json_count(of->items));
		if (kind->total.many)
			json_object_set_new(all, kind->total.many, report_json_count(of->sum));
	}
}

static int print_json(const struct verify_report *v, FILE *out)
{
	const struct db_verify_totals *t = &v->totals;
	json_t *rows = json_array();
	json_t *all = json_pack("{s:s, s:o, s:o, s:o}", "report", "verify", "epochs",
				report_json_count(t->epochs), "files", report_json_count(t->files),
				"chunks", report_json_count(t->chunks));

	set_kinds(all, t);
	for (size_t i = 0; i < v->count; i++)
		json_array_append_new(rows,
				      json_pack("{s:o}", "what", report_json_text(v->damage[i])));
	int r = json_object_set_new(all, "bytes", report_json_count(t->bytes)) ||
		json_object_set_new(all, "damaged", report_json_count(t->damaged)) ||
		json_object_set_new(all, "notes", json_array()) ||
		json_object_set_new(all, "rows", rows) || json_array_size(rows) != v->count ||
		json_dumpf(all, out, JSON_INDENT(2));
	json_decref(all);
	fputc('\n', out);
	if (!r)
		return 0;
	return ferror(out) ? -EIO : -ENOMEM;
}

static int print_csv(const struct verify_report *v, FILE *out)
{
	struct table *t = table_new("verify");

	table_add_column(t, TABLE_NAME, "what", NULL);
	for (size_t i = 0; i < v->count; i++) {
		table_add_row(t);
		table_set_text(t, 0, v->damage[i]);
	}
	int r = table_print(t, NULL, TABLE_CSV, out, 0);
	table_free(t);
	return r == -ENOMEM ? r : 0;
}

static void print_count(FILE *out, uint64_t count, const struct db_noun *noun)
{
	fprintf(out, "%llu %s, ", TEXT_COUNT(count, noun->one, noun->many));
}

static void print_totals(const struct db_verify_totals *t, FILE *out)
{
	print_count(out, t->epochs, &(struct db_noun){"epoch", "epochs"});
	print_count(out, t->files, &(struct db_noun){"file", "files"});
	print_count(out, t->chunks, &(struct db_noun){"chunk", "chunks"});
	for (size_t i = 0; i < db_kind_count; i++) {
		const struct db_kind *kind = db_kinds[i];
		const struct db_kind_totals *of = &t->of[kind->type];

		print_count(out, of->items, &kind->items);
		if (kind->total.many)
			print_count(out, of->sum, &kind->total);
	}
	fprintf(out, "%" PRIu64 " %s: %" PRIu64 " damaged\n", t->bytes,
		text_plural(t->bytes, "byte", "bytes"), t->damaged);
}

int verify_print(const struct verify_report *r, enum table_format format, FILE *out, FILE *beside)
{
	if (format == TABLE_JSON)
		return print_json(r, out);
	if (format == TABLE_CSV && print_csv(r, out))
		return -ENOMEM;
	print_totals(&r->totals, format == TABLE_CSV ? beside : out);
	return 0;
}
