/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "cmd/hints.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

struct hint {
	const char *names;    /* by spaces */
	const char *commands; /* of an option, by spaces */
	const char *text;
};

static const struct hint options[] = {
	{"-g --call-graph", "record top daemon",
	 "stacks are taken by default, wherever possible; culprit calls shows them"},
	{"-c --count", "record top daemon", "a period belongs to its event: -e EVENT:PERIOD"},
	{"-C --cpu", "record top daemon",
	 "every CPU is sampled; taskset restricts a command to some"},
	{"-t --tid", "record top", "-p PID samples all threads of a process"},
	{"-u --uid", "record top", "-a samples all users; culprit prof --subject selects"},
	{"-G --cgroup", "record top daemon",
	 "cgroups are always kept apart: record -a, then culprit prof --subject cgroup=GLOB"},
	{"-b -j --branch-any --branch-filter", "record",
	 "--edges follows branches, also where the processor records none"},
	{"-D --delay", "record", "start it later: (sleep 5; culprit record ...)"},
	{"-d --duration --timeout", "record", "--for DURATION stops it after so long, as in 30s"},
	{"-z --compression-level", "record", "databases are always compressed"},
	{"-m --mmap-pages", "record top daemon",
	 "samples are counted in the kernel, without such "
	 "a buffer"},
	{"-r --realtime", "record", "no sample waits for the collector, so it needs no priority"},
	{"-i --input", "record daemon", "the database to write is -o DB"},
	{"-o --output", "prof list calls",
	 "the database to read is -i DB; the report goes to standard output"},
	{"-o --output", "top", "top stores nothing; culprit record -a does"},
	{"-a --all-cpus", "top daemon", "it always samples the whole machine"},
	{"-p --pid", "daemon",
	 "it samples the whole machine; culprit record -p PID samples processes"},
	{"-g --call-graph --children -G --inverted", "prof",
	 "culprit calls shows who called what, and prof --inclusive adds up what was called"},
	{"--no-children", "prof", "that is the default, without --inclusive"},
	{"--children --no-children", "calls", "total% includes what was called, self% does not"},
	{"-G --inverted --bottom-up", "calls", "--callers shows the tree bottom up"},
	{"-g --call-graph --top-down --tree", "calls",
	 "that is the default; --callers is bottom up"},
	{"--callees", "calls", "callers and callees of one: culprit calls FUNCTION"},
	{"--flame --flamegraph", "calls", "--html FILE makes a page with a flame graph"},
	{"--folded", "calls", "culprit export --folded FILE writes folded stacks"},
	{"--percent-limit", "calls", "--prune PERCENT leaves out lines with a smaller share"},
	{"--max-stack", "calls", "--depth N shows at most N levels"},
	{"-s", "prof top", "rows are chosen with --by, their order with --sort"},
	{"-F --fields", "prof",
	 "columns come with --by, --metric and --event; --csv has all of them"},
	{"-d --dso --dsos", "prof list calls", "--image GLOB selects images"},
	{"-C --comm --comms", "prof list calls", "--subject 'comm=GLOB' selects by command name"},
	{"-S --symbol --symbols --symbol-filter", "prof calls",
	 "--function REGEX selects functions"},
	{"-s --symbol", "list", "the function is named without an option: culprit list FUNCTION"},
	{"--pid --tid", "prof list calls",
	 "--subject pid=PID selects, of what was recorded with --per-process"},
	{"--percent-limit --max-stack", "prof", "--limit N shows the first N rows"},
	{"--stdio --tui --stdio2 --gtk", "prof list calls top",
	 "tables are printed as text, through a pager on a terminal; there are --json and --csv"},
	{"-v --verbose", "prof list calls",
	 "the header says how a report was made; culprit epochs and doctor have more"},
	{"-D --dump-raw-trace", "prof",
	 "culprit export has the counts; --raw, of imports, the "
	 "records"},
};

static const struct hint commands[] = {
	{"report", NULL, "culprit prof ranks functions, and more with --by"},
	{"annotate", NULL, "culprit list FUNCTION shows source and instructions"},
	{"script", NULL, "culprit export writes profiles for other programs, and prof has --json"},
	{"stat", NULL,
	 "culprit samples events instead of counting them: culprit record -e EVENT, "
	 "culprit summary, and culprit stats for what varies between runs"},
	{"evlist buildid-list", NULL,
	 "culprit epochs shows what was recorded, prof --by image of "
	 "what"},
	{"archive", NULL, "a database is a directory that contains its symbols: copy it"},
	{"trace", NULL, "culprit record -e GROUP:TRACEPOINT:1 samples what passes a tracepoint"},
	{"config", NULL, "there is nothing to configure but $CULPRIT_DB"},
	{"version -v", NULL, "culprit --version"},
	{"status flush epoch label stop", NULL, "culprit ctl controls the daemon"},
	{"verify compact", NULL, "use culprit db"},
	{"flamegraph flame", NULL, "culprit calls --html FILE"},
};

static const struct hint columns[] = {
	{"dso", NULL, "use --by image"},
	{"comm", NULL, "use --by thread for thread names, --by subject for commands"},
	{"sym symbol", NULL, "use --by function"},
	{"srcline", NULL, "use --by line"},
	{"srcfile", NULL, "use --by file"},
	{"pid", NULL, "use --by process, of what was recorded with --per-process"},
	{"tid", NULL, "use --by thread, which tells threads apart by name"},
	{"cgroup", NULL, "use --by subject"},
	{"overhead", NULL, "use --sort percent"},
};

static bool has_word(const char *words, const char *word)
{
	size_t size = strlen(word);

	for (; size && *words; words += strspn(words, " ")) {
		size_t next = strcspn(words, " ");

		if (next == size && !memcmp(words, word, size))
			return true;
		words += next;
	}
	return false;
}

static const char *find(const struct hint *list, size_t count, const char *name,
			const char *command)
{
	for (size_t i = 0; i < count; i++)
		if (has_word(list[i].names, name) &&
		    (!command || has_word(list[i].commands, command)))
			return list[i].text;
	return NULL;
}

const char *hints_option(const char *command, const char *option)
{
	return find(options, sizeof(options) / sizeof(options[0]), option, command);
}

const char *hints_command(const char *name)
{
	return find(commands, sizeof(commands) / sizeof(commands[0]), name, NULL);
}

const char *hints_sort(const char *column)
{
	char first[16];

	/* perf's is a list. */
	snprintf(first, sizeof(first), "%.*s", (int)strcspn(column, ","), column);
	return find(columns, sizeof(columns) / sizeof(columns[0]), first, NULL);
}
