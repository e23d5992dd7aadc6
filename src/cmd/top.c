/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "cmd/top.h"
#include "cmd/hints.h"
#include "cmd/progress.h"
#include "cmd/report.h"
#include "cmd/signals.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/scratch.h"
#include "cmd/cmd.h"
#include "collect/host/rights.h"
#include "render/screen.h"
#include "util/num.h"

/* culprit top: samples, and shows where the time goes while it goes. */

#define DELAY_DEFAULT_NS  2000000000ull
#define WINDOW_DEFAULT_NS 10000000000ull
#define WINDOW_MIN_NS	  1000000000ull

static const struct cmd_option options[] = {
	{"delay", 'd', "SECONDS", "between two refreshes (default 2)"},
	{"window", 'w', "SECONDS", "how far back the samples shown go (default 10)"},
	{"iterations", 'n', "N", "ends after N refreshes", CMD_AT(COUNT, top, iterations)},
	{"batch", 'b', NULL, "prints one table after another; the default without a terminal",
	 CMD_AT(FLAG, top, batch)},
	{"pid", 'p', "PID[,PID...]", "samples these processes and their later children only"},
	PIDS_TREE_OPTION(top),
	{"by", 0, "WHAT", "function (default), image, file, line, loop, process, thread, subject",
	 RANK_NAMES, CMD_AT(CHOICE, top, view.rank.by)},
	{"sort", 0, "COLUMN", "an event, or a column's name; default: the first event",
	 CMD_AT(TEXT, top, view.sort)},
	{"function", 0, "REGEX", "only functions whose (demangled) name matches",
	 CMD_AT(TEXT, top, view.rank.function)},
	{"idle", 0, NULL, "includes the kernel's idle functions",
	 CMD_AT(FLAG, top, view.rank.idle)},
	{"limit", 0, "N", "only the first N rows of a printed table", CMD_AT(COUNT, top, limit)},
	REPORT_METRIC_OPTION(top, view.metrics),
	{"json", 0, NULL, "one JSON object a line; implies --batch", CMD_AT(FORM, top, format),
	 .number = TABLE_JSON},
	{"csv", 0, NULL, "comma-separated values; implies --batch", CMD_AT(FORM, top, format),
	 .number = TABLE_CSV},
	SAMPLING_OPTIONS,
	{NULL},
};

const struct cmd_spec cmd_top_spec = {
	"top",
	"",
	"Samples the whole machine and shows where the time goes, refreshed every few\n"
	"seconds. h shows the keys, q quits. Nothing is stored.",
	options,
	false,
};

static int parse_seconds(const char *text, uint64_t least_ns, uint64_t *ret_ns, struct diag *diag)
{
	size_t size = strlen(text);
	char with_unit[64];
	uint64_t ns;

	/* A number alone means seconds. */
	snprintf(with_unit, sizeof(with_unit), "%s%s", text,
		 size && text[size - 1] >= '0' && text[size - 1] <= '9' ? "s" : "");
	if (size + 2 > sizeof(with_unit) || num_parse_duration_ns(with_unit, &ns) ||
	    ns < least_ns || ns > TOP_DELAY_MAX_NS)
		return diag_fail(diag, EINVAL, "'%s' is not a time from %g seconds to an hour",
				 text, (double)least_ns / 1e9);
	*ret_ns = ns;
	return 0;
}

static int take_option(void *arg, int value, const char *text, struct diag *diag)
{
	struct top *t = arg;

	switch (value) {
	case 'd':
		return parse_seconds(text, TOP_DELAY_MIN_NS, &t->delay_ns, diag);
	case 'w':
		return parse_seconds(text, WINDOW_MIN_NS, &t->window_ns, diag);
	case 'p':
		return pids_parse(&t->pids, text, diag);
	}
	return sampling_parse_option(&t->sampling, value, text, diag);
}

/* In a row of tables, Ctrl-Z is as always. SIGTTOU would stop what gives the terminal back. */
static int take_signals(struct top *t, struct diag *diag)
{
	static const int in_a_row[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH, SIGCONT, 0};
	static const int on_screen[] = {SIGINT,	 SIGTERM,  SIGHUP,  SIGQUIT,
					SIGTSTP, SIGWINCH, SIGCONT, 0};
	sigset_t output;

	t->signals = signals_take(t->batch ? in_a_row : on_screen, diag);
	if (t->signals < 0)
		return t->signals;
	sigemptyset(&output);
	sigaddset(&output, SIGTTOU);
	sigprocmask(SIG_BLOCK, &output, NULL);
	return 0;
}

bool top_is_end(int signal)
{
	return signal == SIGINT || signal == SIGTERM || signal == SIGHUP || signal == SIGQUIT;
}

/* A picture may lack an event that has no sample in it; one that is not sampled is an error. */
static int check_metrics(const struct top *t, struct diag *diag)
{
	const struct sampling_options *s = &t->sampling;
	struct query_event events[EVENTS_MAX];
	struct query sampled = {.events = events, .event_count = s->event_count};
	uint64_t none[EVENTS_MAX] = {0};
	struct metrics_bound bound;

	for (size_t i = 0; i < s->event_count; i++)
		events[i] =
			(struct query_event){.name = s->events[i].name, .label = s->events[i].name};
	return metrics_bind(&t->view.metrics, &sampled, none, &bound, diag);
}

static int start(struct top *t, const char *db, struct diag *diag)
{
	struct session_config config = {
		.db_path = db, .scoped = t->pids.count > 0, .tree = t->pids.tree};

	sampling_fill_config(&t->sampling, &config);
	int r = session_new(&config, &t->session, diag);
	if (!r)
		r = rights_settle(diag);
	if (!r)
		r = top_view_init(&t->view, db, diag);
	if (!r)
		r = pids_follow(&t->pids, t->session, diag);
	if (!r)
		r = session_start(t->session, diag);
	if (r)
		return r;
	sampling_announce(&t->sampling, t->session);
	pids_tell_descendants(&t->pids, t->session);
	top_window_init(&t->window, t->session, t->window_ns);
	return 0;
}

static int run(struct top *t, struct diag *diag)
{
	char *db = NULL;
	int lock = -1, r = sampling_choose_events(&t->sampling, diag);

	if (!r)
		r = check_metrics(t, diag);
	if (!r)
		r = take_signals(t, diag);
	if (!r)
		r = scratch_make("culprit-top", &db, &lock, diag);
	if (!r)
		r = start(t, db, diag);
	if (!r)
		r = t->batch ? top_run_batch(t, diag) : top_run_screen(t, diag);
	top_view_free(&t->view);
	session_free(t->session);
	scratch_remove(db);
	if (lock >= 0)
		close(lock);
	free(db);
	if (t->signals >= 0)
		close(t->signals);
	return r;
}

int cmd_top(int argc, char **argv)
{
	struct top t = {
		.delay_ns = DELAY_DEFAULT_NS,
		.window_ns = WINDOW_DEFAULT_NS,
		.signals = -1,
		.view.session.progress = progress_show,
	};
	struct diag diag = {""};
	int status;

	sampling_init(&t.sampling);
	status = cmd_parse(&cmd_top_spec, argc, argv, take_option, &t, NULL);
	if (status < 0) {
		t.batch |= t.format != TABLE_TEXT || !screen_is_possible();
		if (t.view.sort)
			t.view.sort_hint = hints_sort(t.view.sort);
		t.sampling.per_process |= t.view.rank.by == RANK_PROCESS;
		/* A look at what is there now does not wait for servers. */
		unsetenv("DEBUGINFOD_URLS");
		if (pids_check(&t.pids, &diag))
			status = cmd_fail_usage("top", &diag);
		else if (run(&t, &diag))
			status = cmd_fail(&diag);
		else
			status = CMD_OK;
	}
	metrics_free(&t.view.metrics);
	sampling_free(&t.sampling);
	return status;
}
