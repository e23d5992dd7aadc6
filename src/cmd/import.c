/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "cmd/cmd.h"
#include "cmd/progress.h"
#include "cmd/signals.h"
#include "exchange/import.h"
#include "image/kernel_ahead.h"
#include "util/text.h"

/* culprit import: a foreign profile as one epoch of a database. */

#define HARVEST_BYTES_MAX ((size_t)2 << 30)
#define AHEAD_BYTES	  (16 << 20) /* of a file that is worth a second CPU */

enum { OPT_FORMAT = CMD_LONG, OPT_MACHINE, OPT_PROGRAM, OPT_ROOT };

static const struct cmd_option options[] = {
	{"output", 'o', "DB", "the database (default $CULPRIT_DB, else ./culprit.db)"},
	{"format", OPT_FORMAT, "FORMAT",
	 "perf, pprof, folded, script or gmon; default: by the content"},
	{"label", 'l', "KEY=VALUE", "marks the samples; may be repeated"},
	{"machine", OPT_MACHINE, "NAME", "whose they are (default: as the file says)"},
	{"program", OPT_PROGRAM, "FILE", "whose it is, where FILE does not say (gmon.out, folded)"},
	{"root", OPT_ROOT, "DIR", "where the programs of another machine are looked for"},
	{"quiet", 'q', NULL, "says nothing at the end"},
	{NULL},
};

const struct cmd_spec cmd_import_spec = {
	.name = "import",
	.operands = "[FILE]",
	.help = "Takes a profile of another tool into a database, as one epoch: perf.data, "
		"pprof's,\n"
		"folded stacks, the text of perf script, gmon.out. FILE is perf.data by default; - "
		"is\n"
		"what comes through a pipe.",
	.options = options,
};

struct importing {
	struct import_target target;
	const char *file, *format, *program;
	bool quiet;
	bool from_pipe; /* whose other end may be what Ctrl-C is meant for */
	int signals;
	int ended_by; /* a signal; 0: none */
};

static const int endings[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, 0};

static int take_option(void *arg, int value, const char *text, struct diag *diag)
{
	struct importing *i = arg;

	switch (value) {
	case 'o':
		i->target.db = text;
		return 0;
	case 'l':
		if (i->target.label_count == IMPORT_LABELS_MAX)
			return diag_fail(diag, EINVAL, "more than %d labels", IMPORT_LABELS_MAX);
		i->target.labels[i->target.label_count++] = text;
		return 0;
	case OPT_FORMAT:
		i->format = text;
		return 0;
	case OPT_MACHINE:
		i->target.machine = text;
		return 0;
	case OPT_PROGRAM:
		i->program = text;
		return 0;
	case OPT_ROOT:
		i->target.root = text;
		return 0;
	default:
		i->quiet = true;
		return 0;
	}
}

static int watch(void *arg, const char *doing, uint64_t done, uint64_t of)
{
	struct importing *i = arg;
	int number = i->ended_by ? 0 : signals_next(i->signals);

	/* "perf record -o - | culprit import -": it ends the recording, of which the rest comes. */
	if (number == SIGINT && i->from_pipe)
		i->from_pipe = false;
	else if (number)
		i->ended_by = number;
	if (i->ended_by)
		return -ECANCELED;
	if (i->quiet)
		return 0;
	if (strcmp(doing, "reading"))
		progress_show("culprit: %s: %s, %llu of %llu", i->file, doing,
			      (unsigned long long)done, (unsigned long long)of);
	else if (of)
		progress_show("culprit: %s: reading, %llu of %llu MB", i->file,
			      (unsigned long long)(done / 1000000),
			      (unsigned long long)(of / 1000000));
	else
		progress_show("culprit: %s: reading, %llu MB", i->file,
			      (unsigned long long)(done / 1000000));
	return 0;
}

/* Ends as the signal would have ended us. */
static void end_by_signal(int number)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, number);
	signal(number, SIG_DFL);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	raise(number);
}

/* Opened here, with the rights of whoever asks; read by the child. */
static int open_input(struct importing *i, int *ret, struct diag *diag)
{
	struct stat st;
	int fd = strcmp(i->file, "-") ? open(i->file, O_RDONLY | O_CLOEXEC) : STDIN_FILENO;

	if (fd < 0)
		return diag_fail(diag, errno, "%s: %s", i->file, strerror(errno));
	if (fd == STDIN_FILENO && isatty(fd))
		return diag_fail(diag, EINVAL, "no profile comes through a terminal: name a file");
	if (!fstat(fd, &st)) {
		i->from_pipe = S_ISFIFO(st.st_mode);
		if (S_ISDIR(st.st_mode)) {
			close(fd);
			return diag_fail(diag, EISDIR,
					 "%s is a directory: name the data file in it", i->file);
		}
		if (S_ISREG(st.st_mode))
			i->target.end_ns = (uint64_t)st.st_mtim.tv_sec * 1000000000 +
					   (uint64_t)st.st_mtim.tv_nsec;
	}
	*ret = fd;
	return 0;
}

static void tell(const struct importing *i, const struct import_result *r)
{
	char name[128], kept[1024];

	for (uint32_t e = 0; e < r->event_count; e++) {
		text_escape(name, sizeof(name), r->events[e].name, strlen(r->events[e].name));
		fprintf(stderr, "culprit: %s: %llu samples, one in %llu on average\n", name,
			(unsigned long long)r->events[e].samples,
			(unsigned long long)r->events[e].period);
	}
	fprintf(stderr, "culprit: %llu stacks, %llu branches; lost %llu, unknown %llu\n",
		(unsigned long long)r->stacks, (unsigned long long)r->edges,
		(unsigned long long)r->lost, (unsigned long long)r->unknown);
	if (r->copies)
		fprintf(stderr,
			"culprit: %llu stacks were unwound from copies, %llu of them to their "
			"thread's start\n",
			(unsigned long long)r->copies, (unsigned long long)r->copies_whole);
	if (r->raws)
		fprintf(stderr, "culprit: %llu raw records of single samples\n",
			(unsigned long long)r->raws);
	if (r->not_kept[0]) {
		text_escape(kept, sizeof(kept), r->not_kept, strlen(r->not_kept));
		fprintf(stderr, "culprit: not kept: %s\n", kept);
	}
	if (r->images_unwritten)
		fprintf(stderr,
			"culprit: warning: symbols, code or lines of %u images are not kept, so "
			"reports "
			"have them only while their files are there: %s\n",
			r->images_unwritten, r->unwritten_why.text);
	fprintf(stderr, "culprit: files of %u of %u images are at hand; epoch %s of %s in %s\n",
		r->images_found, r->images, r->epoch, r->machine, i->target.db);
}

/* A large recording by perf takes the while that it takes to read the kernel's symbols, which it
 * nearly always has samples of. Others do not get them. */
static void look_ahead(struct importing *i, int fd)
{
	char magic[8];
	struct stat st;

	if (geteuid() == 0 && !fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size >= AHEAD_BYTES &&
	    pread(fd, magic, sizeof(magic), 0) == sizeof(magic) &&
	    memcmp(magic, "PERFILE2", sizeof(magic)) == 0)
		kernel_ahead_start("", &i->target.kernel);
}

static int import(struct importing *i, struct diag *diag)
{
	char cut[IMPORT_CUT_MAX] = "", path[PATH_MAX];
	/* Reports will look for it from elsewhere. */
	const char *found = i->program ? realpath(i->program, path) : NULL;
	struct import_source source = {.format = i->format,
				       .program = found ? found : i->program,
				       .root = i->target.root,
				       .watch = {watch, i}};
	struct import_result result;
	struct diag why = {""};
	struct buf bytes;
	int r = open_input(i, &source.fd, diag);

	if (r)
		return r;
	i->signals = signals_take(endings, diag);
	if (i->signals < 0)
		return i->signals;
	i->target.watch = source.watch;
	source.end_ns = i->target.end_ns;
	look_ahead(i, source.fd);
	buf_init(&bytes, HARVEST_BYTES_MAX);
	r = import_read(&source, &bytes, cut, &why);
	if (!r)
		r = import_store(&i->target, bytes.data, bytes.size, &result, &why);
	buf_free(&bytes);
	kernel_ahead_free(i->target.kernel);
	if (source.fd != STDIN_FILENO)
		close(source.fd);
	progress_clear();
	if (r == -ENODATA && cut[0])
		return diag_fail(diag, EBADMSG, "%s: %s, and before that it has no samples",
				 i->file, cut);
	if (r)
		return diag_fail(diag, -r, "%s: %s", i->file,
				 i->ended_by ? "stopped; nothing of it is stored" : why.text);
	if (!i->quiet)
		tell(i, &result);
	if (cut[0])
		return diag_fail(diag, EBADMSG, "%s: %s: the %llu samples before that are kept",
				 i->file, cut, (unsigned long long)result.samples);
	return 0;
}

int cmd_import(int argc, char **argv)
{
	struct importing i = {.target.db = getenv("CULPRIT_DB"), .file = "perf.data"};
	struct diag diag = {""};
	int operand, status = cmd_parse(&cmd_import_spec, argc, argv, take_option, &i, &operand);

	if (status >= 0)
		return status;
	if (operand + 1 < argc) {
		diag_fail(&diag, EINVAL, "one file at a time");
		return cmd_fail_usage("import", &diag);
	}
	if (operand < argc)
		i.file = argv[operand];
	if (!i.target.db || !*i.target.db)
		i.target.db = "culprit.db";
	if (!import(&i, &diag))
		return CMD_OK;
	cmd_fail(&diag);
	if (i.ended_by)
		end_by_signal(i.ended_by);
	return CMD_FAILURE;
}
