/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "cmd/cmd.h"
#include "cmd/output.h"
#include "cmd/progress.h"
#include "cmd/report.h"
#include "cmd/signals.h"
#include "view/serve.h"
#include "view/view.h"

/* culprit view: everything on one page. */

#define CODE_DEFAULT 95

struct view_command {
	struct report_options report;
	struct view_options view;
	const char *output;
	bool no_open;
};

static const struct cmd_option options[] = {
	REPORT_DB_OPTION,
	{"output", 'o', "FILE", "writes the page to a file, which needs nothing else",
	 CMD_AT(NAME, view_command, output)},
	{"no-open", 0, NULL, "prints the address, but opens no browser",
	 CMD_AT(FLAG, view_command, no_open)},
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
	"Shows a profile on one page: from the whole to the instruction, beside the source. "
	"Without\n"
	"--output it is served to this machine alone, at an address that is printed, and opened. "
	"With\n"
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

struct serving {
	struct view *view;
	const struct view_command *command;
};

static int give_more(void *arg, uint32_t function, struct buf *out)
{
	const struct serving *s = arg;
	struct diag why;

	const int r = view_more(s->view, function, out, &why);
	progress_clear();
	return r;
}

/* In the user's own browser: root's would be another, and should not look at what is foreign. */
static void open_browser(const char *url)
{
	char *argv[] = {"xdg-open", (char *)url, NULL};
	posix_spawn_file_actions_t actions;
	pid_t child;

	if (geteuid() == 0 || (!getenv("DISPLAY") && !getenv("WAYLAND_DISPLAY")) ||
	    posix_spawn_file_actions_init(&actions))
		return;
	posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
	if (!posix_spawnp(&child, argv[0], &actions, NULL, argv, environ))
		waitpid(child, NULL, 0);
	posix_spawn_file_actions_destroy(&actions);
}

static void tell_url(void *arg, const char *url)
{
	const struct serving *s = arg;

	printf("%s\n", url);
	fflush(stdout);
	fprintf(stderr, "culprit: the page is served to this machine alone, until Ctrl-C\n");
	if (!s->command->no_open)
		open_browser(url);
}

static int serve(struct view *v, const struct view_command *c, const struct report_header *h,
		 struct diag *diag)
{
	static const int endings[] = {SIGINT, SIGTERM, SIGHUP, 0};
	struct serving s = {v, c};
	struct serve_request q = {.more = give_more, .ready = tell_url, .arg = &s};
	struct buf page;
	int r;

	q.signals = signals_take(endings, diag);
	if (q.signals < 0)
		return q.signals;
	buf_init(&page, SIZE_MAX);
	view_mark_written(v);
	r = view_page(v, h, &page);
	q.page = &page;
	r = r ? diag_fail(diag, -r, "cannot make the page: %s", strerror(-r))
	      : serve_page(&q, diag);
	buf_free(&page);
	close(q.signals);
	return r;
}

static int show(struct view_command *c, char **operands, struct databases *d, struct diag *diag)
{
	struct report_header h = {0};
	struct view *v = NULL;
	int r = list_databases(d, c, operands, diag);

	c->view.later = !c->output;
	if (!r && view_new(&c->view, &v))
		r = diag_fail(diag, ENOMEM, "out of memory");
	if (!r)
		r = make(v, d, &h, diag);
	progress_clear();
	if (!r)
		r = c->output ? write_file(v, c, &h, diag) : serve(v, c, &h, diag);
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
