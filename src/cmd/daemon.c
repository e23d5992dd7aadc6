/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <jansson.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "cmd/cmd.h"
#include "cmd/sampling.h"
#include "cmd/signals.h"
#include "collect/control.h"
#include "collect/host/rights.h"
#include "collect/session.h"
#include "config.h"
#include "render/json.h"
#include "util/clock.h"
#include "util/log.h"
#include "util/notify.h"
#include "util/num.h"
#include "util/text.h"

#define SOCKET_DEFAULT CULPRIT_RUN_DIR "/control"
#define SECOND_NS      1000000000ull
#define DAY_NS	       (86400 * SECOND_NS)
#define CLIENTS_MS     1000  /* between two looks at clients that are connected */
#define CLOCK_MS       10000 /* between two looks at the clock */

enum { OPT_FLUSH = SAMPLING_END, OPT_EPOCH, OPT_AGE, OPT_SIZE };

struct daemon {
	struct sampling_options sampling;
	const char *db, *socket;
	uint64_t flush_ns, epoch_ns, max_age_ns, max_bytes;
	struct session *session;
	struct control *control;
	uint64_t next_flush_ns; /* CLOCK_MONOTONIC: whatever becomes of the wall clock */
	uint64_t next_epoch_ns; /* wall clock */
	uint64_t failed_flushes;
	bool stop;
};

static const struct cmd_option options[] = {
	{"output", 'o', "DB", "the database (default " CULPRIT_STATE_DIR ")",
	 CMD_AT(TEXT, daemon, db)},
	{"flush-every", OPT_FLUSH, "DURATION", "how often it writes (default 10m)"},
	{"epoch-every", OPT_EPOCH, "DURATION",
	 "how often an epoch begins (default 1d, at 0:00 UTC)"},
	{"keep-age", OPT_AGE, "DURATION", "removes older epochs (default 30d; 0s: never)"},
	{"keep-size", OPT_SIZE, "BYTES",
	 "removes the oldest epochs beyond this size (default 1G; 0: never)"},
	{"socket", 0, "PATH", "the control socket (default " SOCKET_DEFAULT ")",
	 CMD_AT(TEXT, daemon, socket)},
	{"ticks", 0, NULL,
	 "samples on the scheduler's tick where timers are dear, without -e, -F and "
	 "--fixed-periods",
	 CMD_AT(FLAG, daemon, sampling.choose_ticks)},
	SAMPLING_OPTIONS,
	{NULL},
};

const struct cmd_spec cmd_daemon_spec = {
	.name = "daemon",
	.operands = "",
	.help = "Samples the whole machine for as long as it runs, in the foreground. SIGTERM and "
		"SIGINT\n"
		"make it write its samples and end, SIGHUP makes it write them. See "
		"culprit-ctl(1).",
	.options = options,
};

static int parse_interval(const char *text, uint64_t least_ns, uint64_t *ret, struct diag *diag)
{
	uint64_t ns;

	if (num_parse_duration_ns(text, &ns) || ns < least_ns)
		return diag_fail(diag, EINVAL,
				 "'%s' is not a duration like 10m or 1d, of at least %gs", text,
				 (double)least_ns / SECOND_NS);
	*ret = ns;
	return 0;
}

static int take_option(void *arg, int option, const char *text, struct diag *diag)
{
	struct daemon *d = arg;

	switch (option) {
	case OPT_FLUSH:
		return parse_interval(text, SECOND_NS, &d->flush_ns, diag);
	case OPT_EPOCH:
		return parse_interval(text, SECOND_NS, &d->epoch_ns, diag);
	case OPT_AGE:
		return parse_interval(text, 0, &d->max_age_ns, diag);
	case OPT_SIZE:
		if (num_parse_bytes(text, &d->max_bytes))
			return diag_fail(diag, EINVAL, "'%s' is not a size like 500M or 2G", text);
		return 0;
	default:
		return sampling_parse_option(&d->sampling, option, text, diag);
	}
}

/* Multiples of the interval since 1970: a day's epoch begins at midnight UTC. */
static uint64_t next_multiple(uint64_t now, uint64_t interval)
{
	return now - now % interval + interval;
}

static void answer_error(struct buf *out, const char *text)
{
	json_t *j = json_pack("{s:b, s:o}", "ok", 0, "error", report_json_text(text));
	char *line = j ? json_dumps(j, JSON_COMPACT) : NULL;

	buf_printf(out, "%s", line ?: "{\"ok\":false}");
	free(line);
	json_decref(j);
}

static json_t *describe_events(const struct daemon *d)
{
	json_t *list = json_array();

	for (size_t i = 0; i < d->sampling.event_count; i++)
		json_array_append_new(list, json_pack("{s:o, s:I}", "name",
						      report_json_text(d->sampling.events[i].name),
						      "period",
						      (json_int_t)session_period(d->session, i)));
	return list;
}

/* Percent, by parts: in the last window of BUDGET_WINDOW_NS. */
static void describe_budget(const struct session_status *s, json_t *out)
{
	static const char *const names[BUDGET_PARTS] = BUDGET_PART_NAMES;
	char name[64];

	json_object_set_new(out, "budget_used_percent", json_real(s->budget_window.sum));
	for (enum budget_part p = 0; p < BUDGET_PARTS; p++) {
		snprintf(name, sizeof(name), "budget_%s_percent", names[p]);
		json_object_set_new(out, name, json_real(s->budget_window.percent[p]));
	}
	json_object_set_new(out, "budget_average_percent", json_real(s->budget.sum));
	json_object_set_new(out, "budget_rate_factor", json_real(budget_factor(s->budget_step)));
}

static void add_count(json_t *out, const char *name, uint64_t value)
{
	json_object_set_new(out, name, json_integer((json_int_t)value));
}

static void add_counter(void *arg, const struct counter *c, uint64_t value)
{
	if (c->status)
		add_count(arg, c->status, value);
}

static void answer_status(const struct daemon *d, struct buf *out)
{
	struct session_status s;
	json_t *j;
	char *line;

	session_read_status(d->session, &s);
	j = json_pack("{s:b, s:o, s:s*, s:o, s:I, s:f, s:o, s:f}", "ok", 1, "database",
		      report_json_text(d->db), "epoch", s.epoch, "events", describe_events(d),
		      "cpus", (json_int_t)s.cpus, "rate_hz", s.rate_hz, "interrupt_ns",
		      s.charge_ns > 0 ? json_real(s.charge_ns) : json_null(), "budget_percent",
		      s.budget_percent);
	if (j) {
		describe_budget(&s, j);
		add_count(j, "started", s.started_ns / SECOND_NS);
		add_count(j, "failed_flushes", d->failed_flushes);
		session_each_counter(d->session, &(struct counter_taker){add_counter, j});
	}
	line = j ? json_dumps(j, JSON_COMPACT) : NULL;
	buf_printf(out, "%s", line ?: "{\"ok\":false}");
	free(line);
	json_decref(j);
}

static void answer_result(const struct daemon *d, int r, const struct diag *diag, struct buf *out)
{
	if (r)
		answer_error(out, diag->text);
	else
		answer_status(d, out);
}

static void answer(void *arg, const char *request, struct buf *out)
{
	struct daemon *d = arg;
	struct diag diag = {0};

	if (!strcmp(request, "status")) {
		answer_status(d, out);
	} else if (!strcmp(request, "flush")) {
		answer_result(d, session_flush(d->session, &diag), &diag, out);
	} else if (!strcmp(request, "epoch")) {
		answer_result(d, session_begin_epoch(d->session, &diag), &diag, out);
	} else if (!strncmp(request, "label ", 6)) {
		answer_result(d, session_label(d->session, request + 6, &diag), &diag, out);
	} else if (!strcmp(request, "stop")) {
		d->stop = true;
		answer_status(d, out);
	} else {
		answer_error(out,
			     "unknown request; the requests are status, flush, epoch, label, stop");
	}
}

/* A full disk is no reason to stop: what cannot be written now is written when there is room. */
static void report_trouble(struct daemon *d, const struct diag *diag)
{
	d->failed_flushes++;
	log_error("%s", diag->text);
}

/* Also when the clock was set back: it was never further off than an interval. */
static bool epoch_is_due(const struct daemon *d, uint64_t wall_ns)
{
	return wall_ns >= d->next_epoch_ns || d->next_epoch_ns - wall_ns > d->epoch_ns;
}

static void keep_house(struct daemon *d)
{
	uint64_t now = clock_monotonic_ns(), wall = clock_wall_ns();
	struct diag diag;
	int r = 0;

	if (epoch_is_due(d, wall)) {
		d->next_epoch_ns = next_multiple(wall, d->epoch_ns);
		r = session_begin_epoch(d->session, &diag);
	} else if (now >= d->next_flush_ns) {
		r = session_flush(d->session, &diag);
	} else {
		return;
	}
	d->next_flush_ns = now + d->flush_ns;
	if (!r)
		r = session_tidy(d->session, d->max_age_ns, d->max_bytes, &diag);
	if (r)
		report_trouble(d, &diag);
}

/* Clients are waited for only so long; else until something is due, or the clock may be set. */
static int ms_to_wait(const struct daemon *d, bool clients)
{
	int most = clock_ms_until(d->next_flush_ns, clock_monotonic_ns(),
				  clients ? CLIENTS_MS : CLOCK_MS);

	return clock_ms_until(d->next_epoch_ns, clock_wall_ns(), most);
}

static int serve(struct daemon *d, int signals, struct diag *diag)
{
	struct pollfd fds[CONTROL_CLIENTS_MAX + 2];

	while (!d->stop) {
		size_t n = control_poll_fds(d->control, fds, CONTROL_CLIENTS_MAX + 1);
		int wait_ms = ms_to_wait(d, n > 1);

		fds[n++] = (struct pollfd){.fd = signals, .events = POLLIN};
		int ready = session_wait(d->session, fds, n, wait_ms);

		if (ready < 0 && ready != -EINTR)
			return diag_fail(diag, -ready, "cannot wait: %s", strerror(-ready));
		control_serve(d->control, clock_monotonic_ns(), answer, d);
		/* SIGHUP asks for a flush, the others for the end. */
		int signal = signals_next(signals);

		if (signal == SIGHUP)
			d->next_flush_ns = 0;
		else if (signal)
			d->stop = true;
		keep_house(d);
	}
	return 0;
}

static int run(struct daemon *d, struct diag *diag)
{
	struct session_config config = {.db_path = d->db};
	static const int taken[] = {SIGINT, SIGTERM, SIGHUP, 0};
	int signals = signals_take(taken, diag), r = signals < 0 ? signals : 0, finished = 0;

	sampling_fill_config(&d->sampling, &config);
	/* The socket first: a second daemon must find that out before it touches anything. */
	if (!r)
		r = control_new(d->socket, &d->control, diag);
	if (!r)
		r = session_new(&config, &d->session, diag);
	/* All events are open, and nothing of other users' has been looked at yet. */
	if (!r)
		r = rights_limit("", RIGHTS_TO_RUN, diag);
	if (!r)
		r = session_start(d->session, diag);
	if (!r) {
		sampling_announce(&d->sampling, d->session);
		log_notice("collecting into %s; control at %s", d->db, d->socket);
		d->next_flush_ns = clock_monotonic_ns() + d->flush_ns;
		d->next_epoch_ns = next_multiple(clock_wall_ns(), d->epoch_ns);
		notify_manager("READY=1");
		r = serve(d, signals, diag);
		notify_manager("STOPPING=1");
		finished = session_finish(d->session, r ? NULL : diag);
		if (finished && !r && session_unwritten(d->session))
			diag_fail(diag, EIO, "%s; %llu %s lost", diag->text,
				  TEXT_COUNT(session_unwritten(d->session), "sample is",
					     "samples are"));
	}
	session_free(d->session);
	control_free(d->control);
	return r ?: finished;
}

int cmd_daemon(int argc, char **argv)
{
	struct daemon d = {
		.db = CULPRIT_STATE_DIR,
		.socket = SOCKET_DEFAULT,
		.flush_ns = 600 * SECOND_NS,
		.epoch_ns = DAY_NS,
		.max_age_ns = 30 * DAY_NS,
		.max_bytes = 1ull << 30,
	};
	struct diag diag = {0};
	int status, r;

	sampling_init(&d.sampling);
	status = cmd_parse(&cmd_daemon_spec, argc, argv, take_option, &d, NULL);
	if (status < 0) {
		/* What it writes is for its own group. */
		umask(027);
		r = rights_limit("", RIGHTS_TO_OPEN, &diag);
		if (!r)
			r = sampling_choose_events(&d.sampling, &diag);
		if (!r)
			r = run(&d, &diag);
		status = r ? cmd_fail(&diag) : CMD_OK;
	}
	sampling_free(&d.sampling);
	return status;
}
