/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/wait.h>
#include "cmd/cmd.h"
#include "cmd/progress.h"
#include "cmd/signals.h"
#include "cmd/sim_keep.h"
#include "sim/judge.h"
#include "util/text.h"

/* culprit sim: a command on a modelled core. */

#define SETTINGS_MAX   64
#define PERIOD_DEFAULT 10000
#define WINDOW	       20000 /* instructions in detail at a time, where not all are */
#define BEFORE	       4000
#define JUDGE_LEAST    10 /* samples of an instruction that is judged */

struct simulating {
	const char *db, *core;
	uint64_t period, every, pair_window, seed, limit;
	bool pairs, judge, quiet, tell_settings;
	const char *settings[SETTINGS_MAX];
	size_t setting_count;
	int signals, ended_by;
	struct sim_keep *keep;
	struct judge *verdict;
	int failed; /* what taking a sample failed with */
};

static const struct cmd_option options[] = {
	{"core", 0, "NAME",
	 "the core that is modelled: zen2 to zen5, skylake, icelake, ... "
	 "(default: this machine's, or the nearest)",
	 CMD_AT(TEXT, simulating, core)},
	{"set", 's', "KEY=NUMBER", "changes the core, as --set l1_kbytes=64; --set help lists all"},
	{"period", 0, "N", "fetched instructions between samples; default 10000",
	 CMD_AT(COUNT, simulating, period)},
	{"pairs", 0, NULL, "pairs of instructions near each other instead of single ones",
	 CMD_AT(FLAG, simulating, pairs)},
	{"pair-window", 0, "N",
	 "how many fetched instructions a pair's halves are apart at most; "
	 "default 768",
	 CMD_AT(COUNT, simulating, pair_window), .number = 4096},
	{"every", 0, "N",
	 "simulates one of N instructions in detail, and keeps caches and "
	 "predictor warm between; default 1: all",
	 CMD_AT(COUNT, simulating, every), .number = 1000000},
	{"limit", 0, "N", "ends the command after so many instructions",
	 CMD_AT(COUNT, simulating, limit)},
	{"seed", 0, "N", "of what is chosen by chance; default 1", CMD_AT(COUNT, simulating, seed)},
	{"judge", 0, NULL, "tells at the end how near the samples come to the run's truth",
	 CMD_AT(FLAG, simulating, judge)},
	{"output", 'o', "DB", "the database (default $CULPRIT_DB, else ./culprit.db)",
	 CMD_AT(TEXT, simulating, db)},
	{"quiet", 'q', NULL, "prints nothing at the end", CMD_AT(FLAG, simulating, quiet)},
	{NULL},
};

const struct cmd_spec cmd_sim_spec = {
	.name = "sim",
	.operands = "COMMAND [ARGUMENT...]",
	.help = "Runs an x86-64 program on a modelled out-of-order core, under qemu's emulation: "
		"instruction\n"
		"samples with their events and latencies, pairs of them, and the truth of the same "
		"run. See:\nculprit inst.",
	.options = options,
	.stops_at_operand = true,
};

static int take_option(void *arg, int value, const char *text, struct diag *diag)
{
	struct simulating *s = arg;

	(void)value;
	if (!strcmp(text, "help")) {
		s->tell_settings = true;
		return 0;
	}
	if (s->setting_count == SETTINGS_MAX)
		return diag_fail(diag, EINVAL, "too many --set");
	s->settings[s->setting_count++] = text;
	return 0;
}

static int find_core(const struct simulating *s, struct sim_config *ret, struct diag *diag)
{
	enum machine_match match;
	const struct machine_core *core =
		s->core ? machine_core_by_name(s->core) : machine_core_detect(&match);
	char names[512] = "";
	int r = 0;

	for (size_t i = 0; !core && machine_core_at(i); i++)
		snprintf(names + strlen(names), sizeof(names) - strlen(names), "%s%s",
			 i ? ", " : "", machine_core_at(i)->name);
	if (!core)
		return diag_fail(diag, EINVAL, "'%s' is no core that is known: %s", s->core, names);
	sim_config_init(ret, core);
	for (size_t i = 0; i < s->setting_count && !r; i++)
		r = sim_config_set(ret, s->settings[i], diag);
	return r;
}

static int print_settings(const struct sim_config *c)
{
	const char *key, *help;
	unsigned value;

	for (size_t i = 0; (key = sim_config_key(c, i, &value, &help)); i++)
		printf("%-18s %8u  %s\n", key, value, help);
	return CMD_OK;
}

static void take_sample(void *arg, const struct sim *s, const struct sim_pair *pair)
{
	struct simulating *to = arg;
	int r = to->failed;

	if (!r)
		r = sim_keep_take(to->keep, s, pair);
	if (!r && to->verdict)
		r = judge_take(to->verdict, pair);
	to->failed = r;
}

static int watch(void *arg, const struct sim *sim)
{
	struct simulating *s = arg;
	uint64_t done = sim_instructions(sim);
	int number = signals_next(s->signals);

	if (number)
		s->ended_by = number;
	if (!s->quiet)
		progress_show("%llu million instructions", (unsigned long long)(done / 1000000));
	return s->ended_by || s->failed || (s->limit && done >= s->limit) ? -ECANCELED : 0;
}

static double scale_of(const struct sim_result *r)
{
	const struct sim_core_counters *c = &r->total;

	return c->observed ? (double)c->instructions / (double)c->observed : 1;
}

/* What the run was, and what of it was not followed. */
static void tell_run(const struct simulating *s, const struct sim_config *config,
		     const struct sim_result *r)
{
	const struct sim_core_counters *c = &r->total;
	double cycles = (double)c->cycles * scale_of(r);

	fprintf(stderr,
		"culprit: %s: %llu instructions in %.0f cycles, %.2f a cycle; %llu of them in "
		"detail; %llu of %llu branches mispredicted; %llu of %llu fetched instructions "
		"aborted; %llu %s\n",
		config->core.title, (unsigned long long)c->instructions, cycles,
		cycles > 0 ? (double)c->instructions / cycles : 0, (unsigned long long)c->observed,
		(unsigned long long)c->mispredicted, (unsigned long long)c->branches,
		(unsigned long long)c->aborted, (unsigned long long)c->fetched,
		TEXT_COUNT(r->threads, "thread", "threads"));
	if (r->trace.execs)
		fprintf(stderr,
			"culprit: warning: %llu %s by exec: those run on the machine itself, and "
			"are not followed\n",
			TEXT_COUNT(r->trace.execs, "program was started", "programs were started"));
	if (r->trace.threads_refused)
		fprintf(stderr, "culprit: warning: %llu %s not followed: more than %u at a time\n",
			TEXT_COUNT(r->trace.threads_refused, "thread was", "threads were"),
			WIRE_LANES);
	if (r->trace.code_full)
		fprintf(stderr,
			"culprit: warning: the program made more code than a trace holds "
			"(%u MB): what it made after that is not there\n",
			WIRE_CODE_BYTES >> 20);
	if (r->trace.damaged || c->blocks_unknown)
		fprintf(stderr,
			"culprit: warning: the trace is damaged: %llu words or records make no "
			"sense, %llu blocks are not known\n",
			(unsigned long long)r->trace.damaged,
			(unsigned long long)c->blocks_unknown);
	if (r->met_avx512)
		fprintf(stderr, "culprit: warning: the program met an instruction of AVX-512, "
				"which qemu does not have, and ended there\n");
	else if (WIFSIGNALED(r->status) && !r->stopped && !s->ended_by)
		fprintf(stderr, "culprit: warning: the command was ended by signal %d (%s)\n",
			WTERMSIG(r->status), strsignal(WTERMSIG(r->status)));
	else if (WIFEXITED(r->status) && WEXITSTATUS(r->status))
		fprintf(stderr, "culprit: the command's exit status is %d\n",
			WEXITSTATUS(r->status));
}

static void tell_verdict(const struct simulating *s, const struct sim *sim,
			 const struct sim_config *config)
{
	struct judge_verdict v;
	unsigned window = s->pairs ? (unsigned)s->pair_window : 0;

	judge_end(s->verdict, sim_read_truth(sim), s->period, window, config->core.issue_width,
		  JUDGE_LEAST, &v);
	fprintf(stderr,
		"culprit: of %llu instructions with %d samples or more %.1f%% are within "
		"1/sqrt(k); retired %+.2f%%, data cache misses %+.2f%% off\n",
		(unsigned long long)v.instructions, JUDGE_LEAST, 100 * v.within,
		100 * v.retired_error, 100 * v.dcache_error);
	if (v.pairs)
		fprintf(stderr,
			"culprit: wasted slots by %llu pairs: %+.2f%% off in all, correlation by "
			"instruction %.3f (of latency alone: %.3f)\n",
			(unsigned long long)v.pairs, 100 * v.wasted_error, v.wasted_correlation,
			v.latency_correlation);
}

static int run(struct simulating *s, const struct sim_config *config, char **argv, struct sim *sim,
	       struct diag *diag)
{
	struct import_target target = {.db = s->db};
	struct import_result stored;
	struct sim_result result = {0};
	double scale;
	int r = sim_run(sim, argv, &result, diag);

	progress_clear();
	if (!r && s->failed)
		r = diag_fail(diag, -s->failed, "cannot keep the samples: %s",
			      strerror(-s->failed));
	if (r)
		return r;
	if (!result.total.observed && result.total.instructions)
		return diag_fail(diag, ENODATA,
				 "only %llu instructions ran, none of them in detail: take a "
				 "smaller --every",
				 (unsigned long long)result.total.instructions);
	if (!result.total.observed)
		return diag_fail(diag, ENODATA,
				 "qemu could not run it: no instruction ran (its exit status is "
				 "%d)",
				 WIFEXITED(result.status) ? WEXITSTATUS(result.status) : -1);
	scale = scale_of(&result);
	r = sim_keep_end(s->keep, sim, &result, (double)s->period * scale, scale,
			 config->core.issue_width, config->core.name, &target, &stored, diag);
	if (!s->quiet || s->judge)
		tell_run(s, config, &result);
	if (s->judge)
		tell_verdict(s, sim, config);
	if (!r && !s->quiet)
		fprintf(stderr, "culprit: %llu instruction %s; costs by %s; epoch %s in %s\n",
			TEXT_COUNT(stored.insts, "sample", "samples"), sim_costs(sim), stored.epoch,
			s->db);
	return r;
}

static const char *comm_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static int simulate(struct simulating *s, const struct sim_config *config, char **argv,
		    struct diag *diag)
{
	static const int endings[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, 0};
	struct sim_options o = {
		.config = *config,
		.schedule = {s->every, WINDOW, BEFORE},
		.period = s->period,
		.pair_window = s->pairs ? (unsigned)s->pair_window : 0,
		.seed = s->seed,
		.take = take_sample,
		.watch = watch,
		.arg = s,
	};
	struct sim *sim = NULL;
	int r = sim_keep_new(comm_of(argv[0]), &s->keep);

	s->verdict = s->judge ? judge_new() : NULL;
	if (r || (s->judge && !s->verdict))
		r = diag_fail(diag, ENOMEM, "out of memory");
	if (!r)
		r = s->signals = signals_take(endings, diag);
	if (r >= 0)
		r = sim_new(&o, &sim, diag);
	if (!r)
		r = run(s, config, argv, sim, diag);
	sim_free(sim);
	sim_keep_free(s->keep);
	judge_free(s->verdict);
	return r;
}

int cmd_sim(int argc, char **argv)
{
	struct simulating s = {.db = getenv("CULPRIT_DB"),
			       .period = PERIOD_DEFAULT,
			       .every = 1,
			       .seed = 1,
			       .pair_window = SIM_PAIR_WINDOW};
	struct sim_config config;
	struct diag diag = {""};
	int operand, status = cmd_parse(&cmd_sim_spec, argc, argv, take_option, &s, &operand);

	if (status >= 0)
		return status;
	if (find_core(&s, &config, &diag))
		return cmd_fail_usage("sim", &diag);
	if (s.tell_settings)
		return print_settings(&config);
	if (operand == argc) {
		diag_fail(&diag, EINVAL, "no command to run");
		return cmd_fail_usage("sim", &diag);
	}
	if (!s.db || !*s.db)
		s.db = "culprit.db";
	return simulate(&s, &config, argv + operand, &diag) ? cmd_fail(&diag) : CMD_OK;
}
