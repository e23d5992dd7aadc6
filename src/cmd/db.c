/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "cmd/report.h"
#include "db/writer.h"
#include "report/database/verify.h"
#include "util/text.h"

/* culprit db: looks after a database. */

static const struct cmd_option options[] = {
	REPORT_DB_OPTION,
	REPORT_EPOCH_OPTION("compact: all (default), last, NAME, FROM..TO"),
	REPORT_FORM_OPTION("json", TABLE_JSON, "verify: one JSON object"),
	REPORT_FORM_OPTION("csv", TABLE_CSV,
			   "verify: what is damaged, a row each; totals go to stderr"),
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

static void print_finding(void *arg, const char *what)
{
	char text[2048];

	(void)arg;
	text_escape(text, sizeof(text), what, strlen(what));
	printf("damaged: %s\n", text);
}

static int verify(const struct report_options *o, const char *path)
{
	/* What is damaged stands in the other forms' output. */
	const struct verify_options found = {o->format == TABLE_TEXT ? print_finding : NULL, NULL};
	struct verify_report made;
	struct diag diag = {""};
	int r = verify_make(path, &found, &made, &diag);

	if ((!r || r == -EBADMSG) && verify_print(&made, o->format, stdout, stderr))
		r = diag_fail(&diag, ENOMEM, "out of memory for the report");
	verify_free(&made);
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
	struct report_session s = {.options = o};
	struct diag diag = {""};
	size_t count = 0;

	if (!o->epoch)
		o->epoch = "all";
	int r = report_session_select(&s, NULL, QUERY_WHOLE, &diag);
	if (!r)
		epochs = db_reader_selected(s.reader, &count);
	for (size_t i = 0; i < count && r == 0; i++) {
		size_t first = 0;

		while (strcmp(epochs[first]->machine, epochs[i]->machine) != 0)
			first++;
		if (first == i) /* a machine not seen before */
			r = compact_machine(s.path, epochs[i]->machine, epochs, count, &diag);
	}
	return report_end(&s, NULL, r > 0 ? CMD_OK : r, &diag);
}

int cmd_db(int argc, char **argv)
{
	struct report_options o = {0};
	struct diag diag = {""};
	const char *path, *what;
	int operand, status = cmd_parse(&cmd_db_spec, argc, argv, NULL, &o, &operand);

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
		diag_fail(&diag, EINVAL, "unexpected argument '%s'", argv[operand + 2]);
		return cmd_fail_usage(cmd_db_spec.name, &diag);
	}
	if (!strcmp(what, "compact"))
		return compact(&o);
	if (report_find_db(o.db, &path, &diag) < 0)
		return cmd_fail(&diag);
	return verify(&o, path);
}
