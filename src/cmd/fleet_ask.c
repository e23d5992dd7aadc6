/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "cmd/fleet_ask.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "cmd/cmd.h"
#include "cmd/progress.h"
#include "cmd/scratch.h"
#include "report/compare/sets.h"
#include "util/buf.h"
#include "util/text.h"

enum form { BY_FUNCTION = 1, HAS_SETS = 2 };

static const struct report {
	const char *name;
	int (*run)(int argc, char **argv);
	unsigned form;
} reports[] = {
	{"prof", cmd_prof, BY_FUNCTION},
	{"diff", cmd_diff, BY_FUNCTION | HAS_SETS},
	{"stats", cmd_stats, BY_FUNCTION | HAS_SETS},
	{"calls", cmd_calls, 0},
	{"list", cmd_list, 0},
	{"calc", cmd_calc, 0},
	{"stalls", cmd_stalls, 0},
	{"summary", cmd_summary, 0},
	{"why", cmd_why, 0},
	{"cfg", cmd_cfg, 0},
	{"view", cmd_view, 0},
	{"export", cmd_export, 0},
};

struct asking {
	struct fleet_server *server;
	const struct fleet_selection *selection;
	enum fleet_detail detail;
	char *scratch;
	char *argv[SETS_MAX + 256];
	int argc;
	char *owned[SETS_MAX]; /* arguments that are ours */
	int owned_count;
	struct diag *diag;
};

static const struct report *find_report(const char *name)
{
	for (size_t i = 0; i < sizeof(reports) / sizeof(reports[0]); i++)
		if (!strcmp(reports[i].name, name))
			return &reports[i];
	return NULL;
}

bool fleet_ask_knows(const char *report)
{
	return find_report(report) != NULL;
}

/* What of it is finer than a function. */
static bool wants_everything(char **words)
{
	static const char *const fine[] = {"--inclusive", "--cpi",	"line",
					   "loop",	  "file",	"block",
					   "instruction", "--by=line",	"--by=loop",
					   "--by=file",	  "--by=block", "--by=instruction"};

	for (; *words; words++)
		for (size_t i = 0; i < sizeof(fine) / sizeof(fine[0]); i++)
			if (!strcmp(*words, fine[i]))
				return true;
	return false;
}

static int add_word(struct asking *a, char *word)
{
	if (a->argc + 1 == (int)(sizeof(a->argv) / sizeof(a->argv[0])))
		return diag_fail(a->diag, E2BIG, "the command line has too many words");
	a->argv[a->argc++] = word;
	a->argv[a->argc] = NULL;
	return 0;
}

static int add_owned(struct asking *a, char *word)
{
	if (!word || a->owned_count == SETS_MAX) {
		free(word);
		return diag_fail(a->diag, ENOMEM, "more than %d sets", SETS_MAX);
	}
	a->owned[a->owned_count++] = word;
	return add_word(a, word);
}

static void tell(const struct fleet_fetched *f)
{
	progress_clear();
	if (f->forged)
		fprintf(stderr,
			"culprit: %llu %s not what the number in the fleet says: not taken\n",
			TEXT_COUNT(f->forged, "name is", "names are"));
	if (f->chunks_refused)
		fprintf(stderr, "culprit: %llu %s left out, of a newer culprit or damaged\n",
			TEXT_COUNT(f->chunks_refused, "chunk is", "chunks are"));
	if (f->unnamed)
		fprintf(stderr,
			"culprit: %llu %s left out, as the fleet has no name for their event or "
			"frames: a push is under way\n",
			TEXT_COUNT(f->unnamed, "sample is", "samples are"));
}

/* Fetches one part of the fleet into a database in the scratch directory. */
static int fetch(struct asking *a, const struct fleet_selection *selection, const char *name,
		 char **ret_path)
{
	struct fleet_fetched fetched;
	char *path;
	int r;

	if (asprintf(&path, "%s/%s", a->scratch, name) < 0)
		return diag_fail(a->diag, ENOMEM, "out of memory");
	progress_show("asking the fleet");
	r = fleet_fetch(a->server, selection, a->detail, path, &fetched, a->diag);
	tell(&fetched);
	if (r)
		free(path);
	else
		*ret_path = path;
	return r;
}

static bool is_set(const char *word)
{
	static const char *const keys[] = {"build=", "machines=", "since=", "until=", "label:"};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (!strncmp(word, keys[i], strlen(keys[i])))
			return true;
	return false;
}

/* One KEY=VALUE of a set. */
static int take_key(struct fleet_selection *s, const char *pair, struct diag *diag)
{
	const char *value = strchr(pair, '=');
	size_t key = value ? (size_t)(value++ - pair) : 0;

	if (key == 5 && !strncmp(pair, "build", key))
		s->build = value;
	else if (key == 8 && !strncmp(pair, "machines", key))
		s->machines = value;
	else if (key == 5 && !strncmp(pair, "since", key))
		s->since = value;
	else if (key == 5 && !strncmp(pair, "until", key))
		s->until = value;
	else if (key > 6 && !strncmp(pair, "label:", 6) && s->label_count < FLEET_LABELS_MAX)
		s->labels[s->label_count++] = pair + 6;
	else
		return diag_fail(
			diag, EINVAL,
			"'%s' is none of build=, machines=, since=, until=, label:KEY=", pair);
	return 0;
}

/* The set's database has its text as name, so that the report shows that. */
static int add_set(struct asking *a, const struct fleet_selection *selection, const char *text)
{
	char *name = strdup(text), *path = NULL, *word = NULL;
	int r;

	if (!name)
		return diag_fail(a->diag, ENOMEM, "out of memory");
	for (char *c = name; *c; c++)
		if (*c == '=')
			*c = ':';
		else if (strchr("/,@", *c) || (unsigned char)*c < ' ')
			*c = '_';
	name[strnlen(name, 200)] = 0;
	r = fetch(a, selection, name, &path);
	if (!r && asprintf(&word, "./%s@all", name) < 0)
		word = NULL;
	if (!r)
		r = add_owned(a, word);
	free(path);
	free(name);
	return r;
}

static int add_written_set(struct asking *a, char *text)
{
	struct fleet_selection selection = *a->selection;
	char *copy = strdup(text), *at = copy;
	int r = copy ? 0 : diag_fail(a->diag, ENOMEM, "out of memory");

	for (char *pair; !r && (pair = strsep(&at, ","));)
		r = take_key(&selection, pair, a->diag);
	if (!r)
		r = add_set(a, &selection, text);
	free(copy);
	return r;
}

static int add_machines(struct asking *a)
{
	struct buf names;
	int r;

	buf_init(&names, 64u << 20);
	r = fleet_scope_machines(a->server, a->selection->machines, &names, a->diag);
	for (size_t at = 0; !r && at < names.size;) {
		const char *name = (const char *)names.data + at;
		struct fleet_selection selection = *a->selection;

		selection.machines = name;
		r = add_set(a, &selection, name);
		at += strlen(name) + 1;
	}
	buf_free(&names);
	return r;
}

/* The report's command line: of sets, or of the one database that has all. */
static int make_words(struct asking *a, const struct report *report, bool by_machine, char **words)
{
	bool sets = by_machine;
	char *path;
	int r = add_word(a, words[0]);

	for (char **w = words + 1; *w && !r; w++) {
		bool set = report->form & HAS_SETS && is_set(*w);

		sets |= set;
		r = set ? add_written_set(a, *w) : add_word(a, *w);
	}
	if (!r && by_machine)
		r = add_machines(a);
	if (r || sets)
		return r;
	if (report->form & HAS_SETS)
		return diag_fail(a->diag, EINVAL,
				 "name sets of the fleet: build=ID, machines=GLOB, since=TIME, "
				 "label:KEY=GLOB, with commas between them");
	r = fetch(a, a->selection, "fleet", &path);
	if (!r)
		r = add_word(a, "-i");
	if (!r)
		r = add_owned(a, path);
	if (!r)
		r = add_word(a, "--epoch");
	return r ? r : add_word(a, "all");
}

int fleet_ask(struct fleet_server *server, const struct fleet_selection *selection, bool by_machine,
	      char **words, int *ret_status, struct diag *diag)
{
	const struct report *report = find_report(words[0]);
	bool coarse = report->form & BY_FUNCTION && !wants_everything(words);
	struct asking a = {.server = server,
			   .selection = selection,
			   .detail = coarse ? FLEET_FUNCTIONS : FLEET_EVERYTHING,
			   .diag = diag};
	int lock = -1, r;

	if (by_machine && strcmp(words[0], "stats"))
		return diag_fail(diag, EINVAL, "--by-machine is for stats");
	r = scratch_make("culprit-fleet", &a.scratch, &lock, diag);
	if (!r)
		r = make_words(&a, report, by_machine, words);
	/* Sets are named as they were written, which is a path from there. */
	if (!r && report->form & HAS_SETS && chdir(a.scratch))
		r = diag_fail(diag, errno, "cannot enter %s: %s", a.scratch, strerror(errno));
	if (!r)
		*ret_status = report->run(a.argc, a.argv);
	fflush(stdout);
	scratch_remove(a.scratch);
	if (lock >= 0)
		close(lock);
	for (int i = 0; i < a.owned_count; i++)
		free(a.owned[i]);
	free(a.scratch);
	return r;
}
