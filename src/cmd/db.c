/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include "cmd/report.h"
#include "db/writer.h"
#include "util/text.h"

/* culprit db: looks after a database. */

static const struct cmd_option options[] = {
	REPORT_DB_OPTION,
	{"epoch", REPORT_EPOCH, "EPOCHS", "compact: all (default), last, NAME, FROM..TO",
	 "last all"},
	{"json", REPORT_JSON, NULL, "verify: one JSON object"},
	{"csv", REPORT_CSV, NULL, "verify: what is damaged, a row each; totals go to stderr"},
	{NULL},
};

const struct cmd_spec cmd_db_spec = {
	"db",
	"verify|compact [DB]",
	"verify reads every byte of a database and names what is damaged;\n"
	"compact merges the files of each epoch into one.",
	options,
	false,
};

static int take_option(void *arg, int value, const char *text, struct diag *diag)
{
	return report_take_option(arg, value, text, diag);
}

static void print_finding(void *arg, const char *what)
{
	char text[2048];

	(void)arg;
	text_escape(text, sizeof(text), what, strlen(what));
	printf("damaged: %s\n", text);
}

static void add_finding(void *arg, const char *what)
{
	char text[2048];

	text_escape(text, sizeof(text), what, strlen(what));
	json_array_append_new(arg, json_pack("{s:s}", "what", text));
}

static int print_json(const struct db_verify_totals *t, json_t *rows)
{
	json_t *all = json_pack(
		"{s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:[], s:O}", "report",
		"verify", "epochs", (json_int_t)t->epochs, "files", (json_int_t)t->files, "chunks",
		(json_int_t)t->chunks, "rows_stored", (json_int_t)t->rows, "samples",
		(json_int_t)t->samples, "edges", (json_int_t)t->edges, "passes",
		(json_int_t)t->passes, "stacks", (json_int_t)t->stacks, "raw_records",
		(json_int_t)t->raws, "bytes", (json_int_t)t->bytes, "damaged",
		(json_int_t)t->damaged, "notes", "rows", rows);
	int r = all ? json_dumpf(all, stdout, JSON_INDENT(2)) : -1;

	json_decref(all);
	if (r == 0)
		putchar('\n');
	return r;
}

static void tabulate_finding(void *arg, const char *what)
{
	struct table *t = arg;

	if (!table_add_row(t))
		table_set_name(t, 0, what, strlen(what));
}

static void print_totals(const struct db_verify_totals *t, FILE *out)
{
	fprintf(out,
		"%" PRIu64 " epochs, %" PRIu64 " files, %" PRIu64 " chunks, %" PRIu64
		" rows, %" PRIu64 " samples, %" PRIu64 " edges, %" PRIu64 " passes, %" PRIu64
		" stacks, %" PRIu64 " raw records, %" PRIu64 " bytes: %" PRIu64 " damaged\n",
		t->epochs, t->files, t->chunks, t->rows, t->samples, t->edges, t->passes, t->stacks,
		t->raws, t->bytes, t->damaged);
}

/* As text what is damaged is told when it is found, which may take long. */
static int find_damage(enum table_format format, const char *path, json_t *rows,
		       struct table *table, struct db_verify_totals *t, struct diag *diag)
{
	int r;

	if (format == TABLE_JSON)
		r = db_verify(path, &io_system, add_finding, rows, t, diag);
	else if (format == TABLE_CSV)
		r = db_verify(path, &io_system, tabulate_finding, table, t, diag);
	else
		r = db_verify(path, &io_system, print_finding, NULL, t, diag);
	/* One that has none yet is sound: its first recording was stopped before it began. */
	if (!r && !t->machines)
		r = diag_fail(diag, ENOENT, "there are no epochs in %s: is it a database?", path);
	return r;
}

static int verify(const struct report_options *o, const char *path)
{
	struct db_verify_totals t = {0};
	struct diag diag = {""};
	json_t *rows = json_array();
	struct table *table = table_new("verify");
	int r = -ENOMEM;

	if (rows && table) {
		table_add_column(table, TABLE_NAME, "what", NULL);
		r = find_damage(o->format, path, rows, table, &t, &diag);
	} else {
		diag_fail(&diag, ENOMEM, "out of memory");
	}
	if (!r || r == -EBADMSG) {
		if (o->format == TABLE_JSON ? print_json(&t, rows) < 0
		    : o->format == TABLE_CSV
			    ? table_print(table, NULL, TABLE_CSV, stdout, 0) == -ENOMEM
			    : 0)
			r = diag_fail(&diag, ENOMEM, "out of memory for the report");
		else if (o->format != TABLE_JSON)
			print_totals(&t, o->format == TABLE_CSV ? stderr : stdout);
	}
	json_decref(rows);
	table_free(table);
	return r < 0 ? cmd_fail(&diag) : CMD_OK;
}

/* The chosen epochs of one machine. */
static int compact_machine(const char *path, const char *machine,
			   const struct db_epoch *const *epochs, size_t count, struct diag *diag)
{
	struct db_writer *w;
	int r = db_writer_open(path, machine, &io_system, &w, diag);

	if (r < 0)
		return r;
	for (size_t i = 0; i < count && r == 0; i++)
		if (!strcmp(epochs[i]->machine, machine))
			r = db_writer_compact(w, epochs[i]->name, diag);
	db_writer_free(w);
	return r;
}

static int compact(struct report_options *o)
{
	const struct db_epoch *const *epochs;
	struct db_reader *reader;
	struct diag diag = {""};
	const char *path;
	size_t count;
	int r;

	if (!o->epoch)
		o->epoch = "all";
	if (report_open(o, &path, &reader, &diag) < 0)
		return cmd_fail(&diag);
	epochs = db_reader_selected(reader, &count);
	r = 0;
	for (size_t i = 0; i < count && r == 0; i++) {
		size_t first = 0;

		while (strcmp(epochs[first]->machine, epochs[i]->machine) != 0)
			first++;
		if (first == i) /* a machine not seen before */
			r = compact_machine(path, epochs[i]->machine, epochs, count, &diag);
	}
	report_close(reader);
	return r < 0 ? cmd_fail(&diag) : CMD_OK;
}

int cmd_db(int argc, char **argv)
{
	struct report_options o = {0};
	struct diag diag = {""};
	const char *path, *what;
	int operand, status = cmd_parse(&cmd_db_spec, argc, argv, take_option, &o, &operand);

	if (status >= 0)
		return status;
	what = operand < argc ? argv[operand] : "";
	if (strcmp(what, "compact") != 0 && strcmp(what, "verify") != 0) {
		diag_fail(&diag, EINVAL, "say either verify or compact");
		return cmd_fail_usage(cmd_db_spec.name, &diag);
	}
	/* The database may be named without -i, as it is the object of the sentence here. */
	if (operand + 1 < argc)
		o.db = argv[operand + 1];
	if (operand + 2 < argc) {
		diag_fail(&diag, EINVAL, "'%s' is one word too many", argv[operand + 2]);
		return cmd_fail_usage(cmd_db_spec.name, &diag);
	}
	if (!strcmp(what, "compact"))
		return compact(&o);
	if (report_find_db(o.db, &path, &diag) < 0)
		return cmd_fail(&diag);
	return verify(&o, path);
}
