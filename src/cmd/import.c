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
#include "image/kernel/kernel_ahead.h"
#include "render/header.h"
#include "util/text.h"

/* culprit import: a foreign profile as one epoch of a database. */

#define HARVEST_BYTES_MAX ((size_t)2 << 30)
#define AHEAD_BYTES	  (16 << 20) /* of a file that is worth a second CPU */

struct importing {
	struct import_target target;
	const char *file, *format, *program;
	bool raw, quiet;
	bool from_pipe; /* whose other end may be what Ctrl-C is meant for */
	int signals;
	int ended_by; /* a signal; 0: none */
};

static const struct cmd_option options[] = {
	{"output", 'o', "DB", "the database (default $CULPRIT_DB, else ./culprit.db)",
	 CMD_AT(TEXT, importing, target.db)},
	{"format", 0, "FORMAT", "perf, pprof, folded, script or gmon; default: by the content",
	 CMD_AT(TEXT, importing, format)},
	{"label", 'l', "KEY=VALUE", "labels the samples; may be repeated"},
	{"machine", 0, "NAME", "the machine of the samples (default: as the file says)",
	 CMD_AT(TEXT, importing, target.machine)},
	{"program", 0, "FILE", "the profiled program, where FILE does not say (gmon.out, folded)",
	 CMD_AT(TEXT, importing, program)},
	{"root", 0, "DIR", "where the programs of another machine are looked for",
	 CMD_AT(TEXT, importing, target.root)},
	{"raw", 0, NULL, "keeps the raw records of AMD's IBS too, for culprit export --raw",
	 CMD_AT(FLAG, importing, raw)},
	{"quiet", 'q', NULL, "prints nothing at the end", CMD_AT(FLAG, importing, quiet)},
	{NULL},
};

const struct cmd_spec cmd_import_spec = {
	.name = "import",
	.operands = "[FILE]",
	.help = "Imports a profile of another tool into a database, as one epoch: perf.data, "
		"pprof's,\n"
		"folded stacks, the text of perf script, gmon.out. FILE is perf.data by default; - "
		"is\n"
		"standard input.",
	.options = options,
};

static const int endings[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, 0};

/* --label is all that is not stored. */
static int take_option(void *arg, int value, const char *text, struct diag *diag)
{
	struct import_target *t = &((struct importing *)arg)->target;

	(void)value;
	return cmd_take_label(text, t->labels, &t->label_count, IMPORT_LABELS_MAX, diag);
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
		progress_show("%s: %s, %llu of %llu", i->file, doing, (unsigned long long)done,
			      (unsigned long long)of);
	else if (of)
		progress_show("%s: reading, %llu of %llu MB", i->file,
			      (unsigned long long)(done / 1000000),
			      (unsigned long long)(of / 1000000));
	else
		progress_show("%s: reading, %llu MB", i->file,
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
		return diag_fail(diag, EINVAL, "standard input is a terminal: name a file");
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
		fprintf(stderr, "culprit: %s: %llu %s, ", name,
			TEXT_COUNT(r->events[e].samples, "sample", "samples"));
		report_print_period(r->events[e].name, r->events[e].period, stderr);
		fputs(" on average\n", stderr);
	}
	fprintf(stderr, "culprit: %llu %s, %llu %s; lost %llu, unknown %llu\n",
		TEXT_COUNT(r->stacks, "stack", "stacks"),
		TEXT_COUNT(r->edges, "branch", "branches"), (unsigned long long)r->lost,
		(unsigned long long)r->unknown);
	if (r->copies)
		fprintf(stderr,
			"culprit: %llu %s unwound from copies, %llu of them to their "
			"thread's start\n",
			TEXT_COUNT(r->copies, "stack was", "stacks were"),
			(unsigned long long)r->copies_whole);
	if (r->insts)
		fprintf(stderr, "culprit: %llu instruction %s (see: culprit inst)\n",
			TEXT_COUNT(r->insts, "sample", "samples"));
	if (r->raws)
		fprintf(stderr, "culprit: %llu raw %s of single samples\n",
			TEXT_COUNT(r->raws, "record", "records"));
	if (r->not_kept[0]) {
		text_escape(kept, sizeof(kept), r->not_kept, strlen(r->not_kept));
		fprintf(stderr, "culprit: not kept: %s\n", kept);
	}
	if (r->kernel_not_told)
		fprintf(stderr, "culprit: warning: functions of the kernel have no names: the file "
				"does not say which build of it was recorded (with perf record "
				"--buildid-mmap it does)\n");
	if (r->images_unwritten)
		fprintf(stderr,
			"culprit: warning: symbols, code or lines of %u %s are not kept, so "
			"reports have them only while %s there: %s\n",
			r->images_unwritten, text_plural(r->images_unwritten, "image", "images"),
			text_plural(r->images_unwritten, "its file is", "their files are"),
			r->unwritten_why.text);
	if (r->code_refused)
		fprintf(stderr,
			"culprit: warning: code or lines of functions could not be kept, %llu %s: "
			"their image has more than is kept, or the disk is nearly full\n",
			TEXT_COUNT(r->code_refused, "time", "times"));
	fprintf(stderr, "culprit: files of %u of %u %s are available; epoch %s of %s in %s\n",
		r->images_found, r->images, text_plural(r->images, "image", "images"), r->epoch,
		r->machine, i->target.db);
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
				       .raw = i->raw,
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
				 i->ended_by ? "stopped; nothing was stored" : why.text);
	if (!i->quiet)
		tell(i, &result);
	if (cut[0])
		return diag_fail(diag, EBADMSG, "%s: %s: the %llu %s before that %s kept", i->file,
				 cut, TEXT_COUNT(result.samples, "sample", "samples"),
				 text_plural(result.samples, "is", "are"));
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
