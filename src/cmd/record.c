/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "cmd/cmd.h"
#include "cmd/counts.h"
#include "cmd/pids.h"
#include "cmd/progress.h"
#include "cmd/rescue.h"
#include "cmd/sampling.h"
#include "cmd/signals.h"
#include "collect/host/child.h"
#include "collect/host/rights.h"
#include "collect/session.h"
#include "util/clock.h"
#include "util/buf.h"
#include "util/log.h"
#include "util/num.h"
#include "util/text.h"

/* What a kill -9 may cost at most. */
#define FLUSH_MS 60000
#define LOOK_MS	 1000 /* between two looks whether processes live, and what was sampled */
#define GIVE_MS	 500  /* ... and whether that is enough for bursts */

/* A run each may be a second; a typing error is no reason to fill a disk. */
#define RECORD_REPEAT_MAX 900
/* Of an epoch's name, with its terminator. */
#define RECORD_EPOCH_MAX 64

struct recording {
	struct sampling_options sampling;
	bool all, quiet, verbose, view, announced;
	bool counts, bursts;	   /* the command, or the process, is counted: now and then */
	bool paths;		   /* ... by its paths */
	const char *functions;	   /* of these names; NULL: all */
	struct counting *counting; /* NULL: it is not, or not now */
	struct counting_report counted;
	struct pids pids;
	uint64_t duration_ns;				      /* 0: until the end */
	uint64_t repeat;				      /* runs of the command; 0 is 1 */
	char first[RECORD_EPOCH_MAX], last[RECORD_EPOCH_MAX]; /* epochs, of all runs */
	char **command;					      /* NULL: none */
	const char *db;
	struct child child;
	struct child_heritage heritage;	 /* the command's */
	struct sampling_summary summary; /* of the last run */
	int signals;			 /* signalfd */
	int stopped;			 /* by which one, before there was anything to sample */
	int status;			 /* of the command: of the last run that failed */
};

enum { OPT_FOR = SAMPLING_END, OPT_COUNTS, OPT_PATHS, OPT_VALUES };

/* Of a function: past that, edges are cut. Fewer where all functions are counted, as each thread
 * has a counter for each. */
#define PATHS_MAX     4096
#define PATHS_MAX_ALL 1024

static const struct cmd_option options[] = {
	{"all", 'a', NULL, "samples the whole machine, the kernel included",
	 CMD_AT(FLAG, recording, all)},
	{"pid", 'p', "PID[,PID...]", "samples these processes and their later children"},
	PIDS_TREE_OPTION(recording),
	{"output", 'o', "DB", "the database (default $CULPRIT_DB, else ./culprit.db)",
	 CMD_AT(NAME, recording, db)},
	{"for", OPT_FOR, "DURATION", "stops after this time (30s, 5m)"},
	{"repeat", 0, "N", "runs the command N times, an epoch each, and shows what varies",
	 CMD_AT(COUNT, recording, repeat), .number = RECORD_REPEAT_MAX},
	{"counts", OPT_COUNTS, "[=all]",
	 "counts executions too, in short bursts within the budget; all: every execution of the "
	 "command",
	 "all"},
	{"paths", OPT_PATHS, "[=REGEX]",
	 "counts how often each path through functions is run; REGEX: through those of such names"},
	{"view", 0, NULL, "shows all of it on a page at the end: culprit view",
	 CMD_AT(FLAG, recording, view)},
	{"values", OPT_VALUES, "[=KIND[,KIND...]]",
	 "keeps which values instructions see: loads, stores, operands, results, addresses, "
	 "strides, arguments, returns, all"},
	{"contents", 0, NULL, "with -a --values: the values themselves, not only their form",
	 CMD_AT(FLAG, recording, sampling.values.with_contents)},
	{"value-image", 0, "GLOB", "keeps values of these images only, and more of each place",
	 CMD_AT(NAME, recording, sampling.values.image)},
	{"value-sites", 0, NULL, "keeps arguments apart by the call they are of",
	 CMD_AT(FLAG, recording, sampling.values.with_sites)},
	{"quiet", 'q', NULL, "prints no table at the end", CMD_AT(FLAG, recording, quiet)},
	{"verbose", 'v', NULL,
	 "prints at the end what stacks and followed samples cost, and why some failed",
	 CMD_AT(FLAG, recording, verbose)},
	SAMPLING_OPTIONS,
	{NULL},
};

const struct cmd_spec cmd_record_spec = {
	.name = "record",
	.operands = "[--] [COMMAND [ARGUMENT...]]",
	.help = "Samples a command, processes or the whole machine into a database, until the "
		"command\n"
		"or the processes end, the time is over, or Ctrl-C.",
	.options = options,
	.stops_at_operand = true,
};

static int take_option(void *arg, int value, const char *text, struct diag *diag)
{
	struct recording *r = arg;

	if (value == 'p')
		return pids_parse(&r->pids, text, diag);
	if (value == OPT_COUNTS) {
		unsigned all;

		r->counts = true;
		r->bursts = !text;
		return text ? cmd_take_choice("counts", text, "all", &all, diag) : 0;
	}
	if (value == OPT_PATHS) {
		r->paths = true;
		r->functions = text;
		return 0;
	}
	if (value == OPT_VALUES) {
		r->sampling.values.kinds = VALUES_DEFAULT;
		return text ? values_parse_kinds(text, &r->sampling.values.kinds, diag) : 0;
	}
	if (value != OPT_FOR)
		return sampling_parse_option(&r->sampling, value, text, diag);
	if (num_parse_duration_ns(text, &r->duration_ns) || r->duration_ns == 0)
		return diag_fail(diag, EINVAL, "'%s' is not a duration like 30s or 5m", text);
	return 0;
}

/* Values come with edges. Whose a command or a process is may see what is in it. */
static int check_values(struct recording *r, struct diag *diag)
{
	struct values_options *v = &r->sampling.values;

	if (!v->kinds && (v->with_contents || v->image || v->with_sites))
		return diag_fail(diag, EINVAL,
				 "--contents, --value-image and --value-sites say which values; "
				 "add --values");
	if (!v->kinds)
		return 0;
	if (r->sampling.edges_said && !r->sampling.edges)
		return diag_fail(diag, EINVAL, "--values follows samples; leave out --no-edges");
	r->sampling.edges = SAMPLING_FOLLOW;
	r->sampling.edges_said = true;
	v->with_contents |= !r->all;
	return 0;
}

static int check_scope(const struct recording *r, struct diag *diag)
{
	if (r->all && r->pids.count)
		return diag_fail(diag, EINVAL, "-a samples everything; leave out -a or -p");
	if (!r->all && !r->pids.count && !r->command)
		return diag_fail(diag, EINVAL,
				 "say what to sample: -a, the whole machine; -p PID, a process; -- "
				 "COMMAND, a command and its children");
	if (pids_check(&r->pids, diag))
		return -EINVAL;
	if (r->counts && !r->bursts && !r->command)
		return diag_fail(
			diag, EINVAL,
			"--counts=all needs a command to run: it is counted from its start on");
	if (r->bursts && !r->command && (r->pids.count != 1 || r->pids.tree))
		return diag_fail(
			diag, EINVAL,
			"--counts needs a command to run, or one process (-p PID, without --tree)");
	if (r->paths && r->counts)
		return diag_fail(diag, EINVAL,
				 "--paths and --counts are two ways to count: leave "
				 "out one of them");
	if (r->paths && !r->command && (r->pids.count != 1 || r->pids.tree))
		return diag_fail(
			diag, EINVAL,
			"--paths needs a command to run, or one process (-p PID, without --tree)");
	if (r->repeat && !r->command)
		return diag_fail(diag, EINVAL, "--repeat needs a command to run");
	return 0;
}

static const int endings[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, 0};

static void show_progress(const struct session *s, uint64_t lasted_ns)
{
	struct session_status status;

	session_read_status(s, &status);
	progress_show("%llu s, %llu %s (Ctrl-C ends it)",
		      (unsigned long long)(lasted_ns / 1000000000),
		      TEXT_COUNT(status.samples, "sample", "samples"));
}

/* Until the next thing is due that no descriptor tells of. Without any this wakes once a flush. */
static int ms_to_wait(const struct recording *r, uint64_t end, uint64_t next_flush)
{
	bool shows_progress = !r->command && !r->quiet;
	bool watches_pids = r->pids.count && !r->command;
	bool gives = r->counting && counting_wants_samples(r->counting);

	return clock_ms_until(end < next_flush ? end : next_flush, clock_monotonic_ns(),
			      gives			       ? GIVE_MS
			      : shows_progress || watches_pids ? LOOK_MS
							       : FLUSH_MS);
}

/* Samples until the command or the processes have ended, the time is over, or a signal came. */
static int sample(struct recording *r, struct session *s, struct diag *diag)
{
	struct pollfd fds[2] = {{.fd = r->signals, .events = POLLIN},
				{.fd = r->command ? r->child.pidfd : -1, .events = POLLIN}};
	uint64_t end = r->duration_ns ? clock_monotonic_ns() + r->duration_ns : UINT64_MAX;
	uint64_t began = clock_monotonic_ns(), next_flush = began + FLUSH_MS * 1000000ull;

	for (;;) {
		int ready = session_wait(s, fds, 2, ms_to_wait(r, end, next_flush));

		if (r->counting)
			counts_give_samples(r->counting, s);
		/* A command has the terminal for itself. */
		if (!r->command && !r->quiet)
			show_progress(s, clock_monotonic_ns() - began);
		if (ready < 0 && ready != -EINTR)
			return diag_fail(diag, -ready, "cannot wait: %s", strerror(-ready));
		if (ready > 0 || clock_monotonic_ns() >= end ||
		    (r->pids.count && !r->command && !pids_any_alive(&r->pids)))
			return 0;
		if (clock_monotonic_ns() >= next_flush) {
			struct diag why;

			/* A full disk is no reason to stop: it is tried again. */
			if (session_flush(s, &why))
				log_error(
					"%s; sampling goes on, and writing is retried every minute",
					why.text);
			next_flush = clock_monotonic_ns() + FLUSH_MS * 1000000ull;
		}
	}
}

/* How long the command ran, for reports that compare runs. */
static int note_wall(struct session *s, uint64_t began_ns)
{
	char text[32];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)(clock_monotonic_ns() - began_ns));
	return session_fact(s, "wall_ns", text);
}

/* The command has ended, or is ended. */
static void end_command(struct recording *r, struct session *s, uint64_t began_ns)
{
	struct pollfd ended = {.fd = r->child.pidfd, .events = POLLIN};
	int status;

	/* Stopped before the command was done: it was ours, so it goes with us. */
	if (poll(&ended, 1, 0) == 0)
		kill(r->child.pid, SIGTERM);
	else if (note_wall(s, began_ns))
		log_warning("how long the command ran could not be stored");
	status = r->counting ? counting_wait(r->counting) : -1;
	if (status < 0)
		status = child_reap(&r->child);
	if (status)
		r->status = status;
}

/* A signal asks for the end before the command has begun: then it never does. */
static bool is_stopped(struct recording *r)
{
	if (!r->stopped)
		r->stopped = signals_next(r->signals);
	return r->stopped;
}

static int begin(struct recording *r, struct session *s, struct diag *diag)
{
	int err = pids_follow(&r->pids, s, diag);

	if (!err && r->command && !r->all)
		err = session_follow(s, r->child.pid, diag);
	return err ?: session_start(s, diag);
}

static int run(struct recording *r, struct session *s, struct diag *diag)
{
	uint64_t began_ns = 0;
	int err = is_stopped(r) ? 0 : begin(r, s, diag);

	if (err || is_stopped(r)) {
		if (r->command)
			child_cancel(&r->child);
		return err;
	}
	if (r->counting && !r->bursts) {
		err = r->command ? counting_start(r->counting, r->child.pid, diag)
				 : counting_start_running(r->counting, r->pids.list[0], diag);
		if (err) {
			if (r->command)
				child_cancel(&r->child);
			return err;
		}
	}
	if (r->command) {
		began_ns = clock_monotonic_ns();
		err = child_release(&r->child, diag);
		if (err)
			return err;
	}
	pids_tell_descendants(&r->pids, s);
	if (r->bursts)
		err = counting_start_bursts(r->counting,
					    r->command ? r->child.pid : r->pids.list[0],
					    r->sampling.budget_percent, diag);
	err = err ?: sample(r, s, diag);
	if (r->command)
		end_command(r, s, began_ns);
	return err;
}

/* The words that were typed, for the record. */
static char *join(char **words, int count)
{
	struct buf b;

	buf_init(&b, 4096);
	for (int i = 0; i < count; i++)
		buf_printf(&b, "%s%s", i ? " " : "", words[i]);
	if (b.error)
		b.size = b.size < 4000 ? b.size : 4000;
	if (!buf_reserve(&b, 1))
		b.size = b.size ? b.size - 1 : 0;
	if (b.data)
		b.data[b.size] = 0;
	return (char *)b.data;
}

/* What varied between the runs. */
static int show_stats(const struct recording *r)
{
	char range[2 * RECORD_EPOCH_MAX + 2];
	char *argv[] = {"stats", "-i", (char *)r->db, "--each", "--limit", "20", range, NULL};

	snprintf(range, sizeof(range), "%s..%s", r->first, r->last);
	return cmd_stats(7, argv);
}

static int show_table(const struct recording *r)
{
	/* Its own epoch, which is not 'last' when it has no samples. */
	char *epoch = *r->last ? (char *)r->last : "last";
	char *argv[] = {"prof", "-i", (char *)r->db, "--epoch", epoch, "--limit", "20", NULL};

	if (strcmp(r->first, r->last) != 0)
		return show_stats(r);
	return cmd_prof(7, argv);
}

/* Until Ctrl-C. */
static int show_page(const struct recording *r)
{
	char range[2 * RECORD_EPOCH_MAX + 2];
	char *argv[] = {"view", "-i", (char *)r->db, "--epoch", range, NULL};

	snprintf(range, sizeof(range), "%s..%s", r->first, r->last);
	return cmd_view(5, *r->last ? argv : (char *[]){"view", "-i", (char *)r->db, NULL});
}

/* The table first; what else there is to know of the sampling behind it. */
static int show_result(const struct recording *r)
{
	struct diag diag;
	int failed = rights_begin(false, &diag) ? cmd_fail(&diag) : r->quiet ? 0 : show_table(r);

	fflush(stdout);
	if (!r->quiet)
		sampling_tell_quality(&r->summary, r->verbose);
	if (!failed && r->view)
		failed = show_page(r);
	return failed ? CMD_FAILURE : r->status;
}

static void note_epoch(struct recording *r, const struct session *s)
{
	struct session_status status;

	session_read_status(s, &status);
	snprintf(r->last, sizeof(r->last), "%s", status.epoch ? status.epoch : "");
	if (!*r->first)
		memcpy(r->first, r->last, sizeof(r->first));
}

/* Also after an error: what was sampled is kept. */
static int finish(struct session *s, int r, struct diag *diag)
{
	struct diag why;
	int finished = session_finish(s, &why);

	if (!finished)
		return 0;
	rescue_samples(s, &why);
	if (!r)
		*diag = why;
	else if (session_unwritten(s))
		log_error("%s", why.text);
	return finished;
}

/* What was counted is stored with the samples. */
static int store_counts(struct recording *r, struct session *s, int err, struct diag *diag)
{
	struct diag why;
	int stored = counts_store(r->counting, s, r->all, &r->counted, &why);

	if (stored && !err)
		*diag = why;
	return err ?: stored;
}

static void tell_end(const struct recording *r)
{
	if (!r->quiet)
		sampling_summarize(&r->summary, r->db);
	if (r->counting)
		counts_tell(&r->counted, r->quiet, r->verbose);
}

/* last: no events are to be opened after this run. */
static int record(struct recording *r, const char *words, bool last, struct diag *diag)
{
	struct session_config config = {
		.db_path = r->db,
		.scoped = !r->all,
		.tree = r->pids.tree,
		.command = words,
	};
	struct session *s = NULL;
	int err, finished;

	/* Whose the run is pays for it; a whole machine was not asked. */
	if (!r->sampling.edges_said && r->command && !r->all && !r->paths &&
	    (!r->counts || r->bursts))
		r->sampling.edges = SAMPLING_FOLLOW_IF_POSSIBLE;
	sampling_fill_config(&r->sampling, &config);
	if (r->counting)
		counts_fill_config(r->counting, &config);
	err = session_new(&config, &s, diag);
	if (!err && r->sampling.values.kinds && chmod(r->db, 0700) < 0)
		err = diag_fail(diag, errno, "cannot keep others from the values in %s: %s", r->db,
				strerror(errno));
	if (!err && last)
		err = rights_settle(diag);
	if (!err && r->command)
		err = child_start(r->command, &r->heritage, &r->child, diag);
	if (err) {
		session_free(s);
		return err;
	}
	/* Of several runs the first says how they are sampled. */
	if (!r->announced)
		sampling_announce(&r->sampling, s);
	r->announced = true;
	err = run(r, s, diag);
	progress_clear();
	if (!r->stopped)
		note_epoch(r, s);
	if (r->counting && !r->stopped)
		err = store_counts(r, s, err, diag);
	finished = r->stopped ? 0 : finish(s, err, diag);
	sampling_take_summary(s, &r->summary);
	if (!err && !finished && !r->stopped)
		tell_end(r);
	session_free(s);
	return err ?: finished;
}

static int count_and_record(struct recording *r, const char *words, bool last, struct diag *diag)
{
	int err = r->counts || r->paths ? counting_new(&r->counting, diag) : 0;

	if (!err && r->paths)
		err = counting_count_paths(r->counting, r->functions ? PATHS_MAX : PATHS_MAX_ALL,
					   r->functions, diag);
	err = err ?: record(r, words, last, diag);
	counting_free(r->counting);
	r->counting = NULL;
	return err;
}

/* A signal asks for the end: of this run, and of those that were to come. */
static bool was_stopped(const struct recording *r)
{
	struct pollfd signals = {.fd = r->signals, .events = POLLIN};

	return r->stopped || poll(&signals, 1, 0) > 0;
}

static int sample_and_store(struct recording *r, const char *words, struct diag *diag)
{
	uint64_t runs = r->repeat ? r->repeat : 1;

	child_note_heritage(&r->heritage);
	r->signals = signals_take(endings, diag);
	int err = r->signals < 0 ? r->signals : 0;
	if (!err && r->command)
		err = child_check(r->command[0], diag);
	if (!err)
		err = sampling_choose_events(&r->sampling, diag);
	for (uint64_t i = 0; !err && i < runs && !was_stopped(r); i++) {
		if (r->repeat > 1)
			log_notice("run %llu of %llu", (unsigned long long)i + 1,
				   (unsigned long long)r->repeat);
		err = count_and_record(r, words, i + 1 == runs, diag);
	}
	return err;
}

/* As a shell says of a program that the signal ended. */
static int tell_stopped(const struct recording *r)
{
	log_notice("stopped before sampling began%s",
		   r->command ? "; the command was not run" : "");
	return 128 + r->stopped;
}

int cmd_record(int argc, char **argv)
{
	struct recording r = {.db = getenv("CULPRIT_DB")};
	struct diag diag = {0};
	char *words = join(argv, argc);
	int operand, status;

	sampling_init(&r.sampling);
	status = cmd_parse(&cmd_record_spec, argc, argv, take_option, &r, &operand);
	if (status < 0) {
		if (!r.db || !*r.db)
			r.db = "culprit.db";
		r.command = operand < argc ? argv + operand : NULL;
		if (check_values(&r, &diag) || check_scope(&r, &diag))
			status = cmd_fail_usage("record", &diag);
		else if (sample_and_store(&r, words, &diag))
			status = cmd_fail(&diag);
		else if (r.stopped && !*r.first)
			status = tell_stopped(&r);
		else
			status = r.quiet && !r.view ? r.status : show_result(&r);
	}
	sampling_free(&r.sampling);
	free(words);
	return status;
}
