/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cmd/cmd.h"
#include "cmd/output.h"
#include "cmd/progress.h"
#include "cmd/report.h"
#include "view/view.h"

/* culprit view: everything on one page. */

#define CODE_DEFAULT 95

struct view_command {
	struct report_options report;
	struct view_options view;
	const char *output;
};

static const struct cmd_option options[] = {
	REPORT_DB_OPTION,
	{"output", 'o', "FILE", "writes the page to a file, which needs nothing else",
	 CMD_AT(NAME, view_command, output)},
	{"code", 0, "PERCENT", "instructions of the functions that make up this share (95)",
	 CMD_AT(PERCENT, view_command, view.code_percent)},
	{"no-code", 0, NULL, "no instructions", CMD_AT(FLAG, view_command, view.no_code)},
	{"no-source", 0, NULL, "no source text", CMD_AT(FLAG, view_command, view.no_source)},
	REPORT_METRIC_OPTION(view_command, view.metrics),
	REPORT_EPOCH_OPTION("last (default), all, NAME or its beginning, FROM..TO"),
	{"event", 0, "GLOB", "events by name", CMD_AT(TEXT, report_options, selection.event)},
	{"subject", REPORT_SUBJECT, "KEY=GLOB", SUBJECT_KEYS "; may be repeated"},
	REPORT_MACHINE_OPTION,
	{NULL},
};

const struct cmd_spec cmd_view_spec = {
	"view",
	"[DB...]",
	"Shows a profile on one page: from the whole to the instruction, beside the source. With\n"
	"several databases, their events stand side by side.",
	options,
	false,
};

/* The databases on the page, each with a session of its own. */
struct databases {
	struct report_options options[VIEW_SETS_MAX];
	struct report_session sessions[VIEW_SETS_MAX];
	size_t count;
};

static int add_database(struct databases *d, const struct view_command *c, const char *path,
			struct diag *diag)
{
	if (d->count == VIEW_SETS_MAX)
		return diag_fail(diag, EINVAL, "at most %d databases on one page", VIEW_SETS_MAX);
	d->options[d->count] = c->report;
	d->options[d->count].db = path;
	d->sessions[d->count].options = &d->options[d->count];
	d->sessions[d->count].progress = progress_show;
	d->count++;
	return 0;
}

static int list_databases(struct databases *d, const struct view_command *c, char **operands,
			  struct diag *diag)
{
	int r = 0;

	if (c->report.db || !*operands)
		r = add_database(d, c, c->report.db, diag);
	for (; *operands && !r; operands++)
		r = add_database(d, c, *operands, diag);
	return r;
}

static int make(struct view *v, struct databases *d, struct report_header *h, struct diag *diag)
{
	int r = 0;

	for (size_t i = 0; i < d->count && !r; i++) {
		struct report_session *s = &d->sessions[i];

		r = report_session_open(s, NULL, QUERY_WHOLE, diag);
		if (!r)
			r = view_add(v, s, s->path, i ? NULL : h, diag);
	}
	return r ? r : view_finish(v, h, diag);
}

static int write_file(struct view *v, const struct view_command *c, const struct report_header *h,
		      struct diag *diag)
{
	FILE *out = output_open(c->output, diag);
	struct diag why = {""};

	if (!out)
		return -EIO;
	int r = output_close(out, c->output, view_write(v, h, out, &why), diag);
	if (r && *why.text)
		*diag = why;
	return r;
}

static int show(struct view_command *c, char **operands, struct databases *d, struct diag *diag)
{
	struct report_header h = {0};
	struct view *v = NULL;
	int r = list_databases(d, c, operands, diag);

	if (!r && !c->output)
		r = diag_fail(diag, EINVAL, "name a file for the page: --output FILE");
	if (!r && view_new(&c->view, &v))
		r = diag_fail(diag, ENOMEM, "out of memory");
	if (!r)
		r = make(v, d, &h, diag);
	progress_clear();
	if (!r)
		r = write_file(v, c, &h, diag);
	view_free(v);
	report_header_free(&h);
	return r;
}

int cmd_view(int argc, char **argv)
{
	struct view_command c = {.view.code_percent = CODE_DEFAULT};
	struct databases *d = calloc(1, sizeof(*d));
	struct diag diag = {""};
	int operand, r = cmd_parse(&cmd_view_spec, argc, argv, report_take_option, &c, &operand);

	if (r < 0) {
		r = d ? show(&c, argv + operand, d, &diag)
		      : diag_fail(&diag, ENOMEM, "out of memory");
		for (size_t i = 0; d && i < d->count; i++) {
			report_tell_reader(d->sessions[i].reader);
			report_session_close(&d->sessions[i]);
		}
		r = report_finish("view", r, &diag);
	}
	metrics_free(&c.view.metrics);
	free(d);
	return r;
}
