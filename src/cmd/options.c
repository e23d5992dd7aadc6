/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "cmd/cmd.h"
#include "cmd/hints.h"
#include "cmd/pager.h"
#include "render/wrap.h"
#include "report/metrics.h"
#include "util/num.h"

#define OPTIONS_MAX   62
#define NAME_MAX_NEAR 32

/* The lines of the table are for whoever has no terminal, or a wide one. */
static void show_sentences(const char *help, int width)
{
	char *text = width && width < 100 ? strdup(help) : NULL;

	for (char *end = text; end && (end = strchr(end, '\n'));)
		*end = ' ';
	if (text)
		wrap_print(stdout, text, 0, "", width);
	else
		fputs(help, stdout);
	free(text);
}

static int show_options(const struct cmd_spec *spec)
{
	char left[64], lead[64];
	int width = pager_width();

	printf("usage: culprit %s [OPTION...]%s%s\n", spec->name, *spec->operands ? " " : "",
	       spec->operands);
	show_sentences(spec->help, width);
	fputs("\n\n", stdout);
	for (const struct cmd_option *o = spec->options; o->name; o++) {
		char letter = cmd_option_letter(o);

		snprintf(left, sizeof(left), "%c%c%s--%s%s%s", letter ? '-' : ' ',
			 letter ? letter : ' ', letter ? ", " : "  ", o->name,
			 o->argument && *o->argument != '[' ? " " : "",
			 o->argument ? o->argument : "");
		printf("  %-26s  ", left);
		snprintf(lead, sizeof(lead), "%30s", "");
		wrap_print(stdout, o->help, strlen(left) > 26 ? 4 + strlen(left) : 30, lead, width);
		putchar('\n');
	}
	printf("  %-26s  %s\n", "-h, --help", "show this");
	return CMD_OK;
}

/* getopt's forms of the list, each by its number. shorts has room for 2 characters an option. */
static void make_getopt(const struct cmd_spec *spec, struct option *longs, char *shorts)
{
	size_t n = 0;

	*shorts++ = spec->stops_at_operand ? '+' : ':';
	if (spec->stops_at_operand)
		*shorts++ = ':';
	for (const struct cmd_option *o = spec->options; o->name && n < OPTIONS_MAX; o++) {
		longs[n] = (struct option){o->name,
					   !o->argument		 ? no_argument
					   : *o->argument == '[' ? optional_argument
								 : required_argument,
					   NULL, CMD_LONG + (int)n};
		n++;
		if (cmd_option_letter(o)) {
			*shorts++ = cmd_option_letter(o);
			if (o->argument)
				*shorts++ = ':';
		}
	}
	longs[n++] = (struct option){"help", no_argument, NULL, 'h'};
	longs[n] = (struct option){NULL};
	*shorts++ = 'h';
	*shorts = 0;
}

/* A long option that there is not, or of which there are several with that beginning. */
static void describe_unknown(const struct cmd_spec *spec, const char *word, struct diag *diag)
{
	const char *names[OPTIONS_MAX + 1], *hint, *nearest;
	size_t size = strcspn(word, "="), count = 0, alike = 0;
	char option[NAME_MAX_NEAR + 3];

	snprintf(option, sizeof(option), "%.*s", (int)size, word);
	for (const struct cmd_option *o = spec->options; o->name && count < OPTIONS_MAX; o++) {
		names[count++] = o->name;
		alike += strncmp(o->name, word + 2, size - 2) == 0;
	}
	names[count] = NULL;
	hint = hints_option(spec->name, option);
	nearest = cmd_nearest(option + 2, names);
	if (hint)
		diag_fail(diag, EINVAL, "unknown option %s: %s", option, hint);
	else if (alike > 1)
		diag_fail(diag, EINVAL, "ambiguous option %s", word);
	else if (nearest)
		diag_fail(diag, EINVAL, "unknown option %s; did you mean --%s?", word, nearest);
	else
		diag_fail(diag, EINVAL, "unknown option %s", word);
}

static void describe_unknown_letter(const struct cmd_spec *spec, char letter, struct diag *diag)
{
	const char option[] = {'-', letter, 0}, *hint = hints_option(spec->name, option);

	diag_fail(diag, EINVAL, "unknown option %s%s%s", option, hint ? ": " : "",
		  hint ? hint : "");
}

/* What getopt refused: argv[optind - 1] is the word, optopt the letter or the long one's value. */
static int fail_option(const struct cmd_spec *spec, int kind, char **argv)
{
	const char *word = argv[optind - 1];
	struct diag diag;

	if (kind == ':')
		diag_fail(&diag, EINVAL, "%s needs an argument", word);
	else if (!strncmp(word, "--", 2) && optopt)
		diag_fail(&diag, EINVAL, "%.*s takes no argument", (int)strcspn(word, "="), word);
	else if (!strncmp(word, "--", 2))
		describe_unknown(spec, word, &diag);
	else
		describe_unknown_letter(spec, (char)optopt, &diag);
	return cmd_fail_usage(spec->name, &diag);
}

/* A word that names something, to a command that reads a database. */
static bool may_be_database(const struct cmd_spec *spec, const char *word)
{
	for (const struct cmd_option *o = spec->options; o->name; o++)
		if (strcmp(o->name, "input") == 0)
			return access(word, F_OK) == 0;
	return false;
}

int cmd_take_percent(const char *option, const char *text, double *ret, struct diag *diag)
{
	int r = num_parse_percent(text, ret);

	if (r == -ERANGE && strspn(text, "0.%") == strlen(text)) {
		*ret = 0;
		r = 0;
	}
	if (r)
		return diag_fail(diag, EINVAL, "--%s '%s' is not a percentage from 0 to 100",
				 option, text);
	return 0;
}

int cmd_take_label(const char *text, const char **labels, size_t *count, size_t max,
		   struct diag *diag)
{
	if (!strchr(text, '=') || *text == '=')
		return diag_fail(diag, EINVAL, "--label '%s' is not KEY=VALUE", text);
	if (*count == max)
		return diag_fail(diag, E2BIG, "more than %zu labels", max);
	labels[(*count)++] = text;
	return 0;
}

static int take_some_percent(const struct cmd_option *o, const char *text, double *ret,
			     struct diag *diag)
{
	if (num_parse_percent(text, ret))
		return diag_fail(diag, EINVAL,
				 "--%s '%s' is not a percentage above 0, of at most 100", o->name,
				 text);
	return 0;
}

static int take_count(const struct cmd_option *o, const char *text, uint64_t *ret,
		      struct diag *diag)
{
	uint64_t n;

	if (!num_parse_u64(text, &n) && n && (!o->number || n <= o->number)) {
		*ret = n;
		return 0;
	}
	if (!o->number)
		return diag_fail(diag, EINVAL, "--%s '%s' is not a number from 1", o->name, text);
	return diag_fail(diag, EINVAL, "--%s '%s' is not a number from 1 to %" PRIu64, o->name,
			 text, o->number);
}

int cmd_take_choice(const char *option, const char *text, const char *names, unsigned *ret,
		    struct diag *diag)
{
	char listed[1024];
	unsigned number = 0;
	size_t used = 0;

	for (const char *at = names; *at; number++) {
		size_t size = strcspn(at, " ");

		if (size == strlen(text) && !memcmp(at, text, size)) {
			*ret = number;
			return 0;
		}
		used += (size_t)snprintf(listed + used, sizeof(listed) - used, "%s%.*s",
					 number ? ", " : "", (int)size, at);
		at += size + (at[size] == ' ');
	}
	return diag_fail(diag, EINVAL, "--%s '%s' is not %s%s", option, text,
			 number > 1 ? "one of " : "", listed);
}

static int take_name(const struct cmd_option *o, const char *text, const char **ret,
		     struct diag *diag)
{
	*ret = text;
	return *text ? 0
		     : diag_fail(diag, EINVAL, "the %s's name is empty",
				 strcmp(o->argument, "DB") ? "file" : "database");
}

static int take_form(const struct cmd_option *o, unsigned *ret, struct diag *diag)
{
	if (*ret)
		return diag_fail(diag, EINVAL, "one of --json and --csv, once");
	*ret = (unsigned)o->number;
	return 0;
}

static int store(const struct cmd_option *o, const char *text, void *to, struct diag *diag)
{
	switch (o->kind) {
	case CMD_FLAG:
		*(bool *)to = true;
		return 0;
	case CMD_SET:
		*(unsigned *)to = (unsigned)o->number;
		return 0;
	case CMD_FORM:
		return take_form(o, to, diag);
	case CMD_TEXT:
		*(const char **)to = text;
		return 0;
	case CMD_NAME:
		return take_name(o, text, to, diag);
	case CMD_COUNT:
		return take_count(o, text, to, diag);
	case CMD_PERCENT:
		return cmd_take_percent(o->name, text, to, diag);
	case CMD_SOME_PERCENT:
		return take_some_percent(o, text, to, diag);
	case CMD_CHOICE:
		return cmd_take_choice(o->name, text, o->values, to, diag);
	case CMD_METRIC:
		return metrics_take(to, text, diag);
	case CMD_TAKEN:
		break;
	}
	return -EINVAL;
}

/* By what getopt returned: its number, or its letter. */
static const struct cmd_option *find_option(const struct cmd_spec *spec, int value)
{
	const struct cmd_option *o = spec->options;

	if (value >= CMD_LONG)
		return o + value - CMD_LONG;
	while (cmd_option_letter(o) != value)
		o++;
	return o;
}

int cmd_parse(const struct cmd_spec *spec, int argc, char **argv,
	      int (*take)(void *arg, int value, const char *text, struct diag *diag), void *arg,
	      int *ret_operand)
{
	struct option longs[OPTIONS_MAX + 2];
	char shorts[2 * OPTIONS_MAX + 4];
	const struct cmd_option *o;
	struct diag diag = {""};
	int value, r;

	make_getopt(spec, longs, shorts);
	optind = 0; /* glibc: starts over, with another command line */
	opterr = 0;
	while ((value = getopt_long(argc, argv, shorts, longs, NULL)) != -1) {
		if (value == 'h')
			return show_options(spec);
		if (value == '?' || value == ':')
			return fail_option(spec, value, argv);
		o = find_option(spec, value);
		r = o->kind == CMD_TAKEN ? take(arg, o->value, optarg, &diag)
					 : store(o, optarg, (char *)arg + o->at, &diag);
		if (r)
			return cmd_fail_usage(spec->name, &diag);
	}
	if (!ret_operand && optind < argc) {
		diag_fail(&diag, EINVAL, "unexpected argument '%s'%s", argv[optind],
			  may_be_database(spec, argv[optind]) ? "; name a database with -i" : "");
		return cmd_fail_usage(spec->name, &diag);
	}
	if (ret_operand)
		*ret_operand = optind;
	return -1;
}

/* Damerau's distance of adjacent swaps, by dynamic programming over three rows. */
static size_t edit_distance(const char *a, const char *b)
{
	size_t rows[3][NAME_MAX_NEAR + 1] = {0}, cost, best;
	size_t a_size = strlen(a), b_size = strlen(b);
	size_t *before = rows[0], *last = rows[1], *now = rows[2], *swap;

	if (a_size > NAME_MAX_NEAR || b_size > NAME_MAX_NEAR)
		return SIZE_MAX;
	for (size_t j = 0; j <= b_size; j++)
		last[j] = j;
	for (size_t i = 1; i <= a_size; i++) {
		now[0] = i;
		for (size_t j = 1; j <= b_size; j++) {
			cost = a[i - 1] != b[j - 1];
			best = last[j - 1] + cost;
			if (last[j] + 1 < best)
				best = last[j] + 1;
			if (now[j - 1] + 1 < best)
				best = now[j - 1] + 1;
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
			    before[j - 2] + 1 < best)
				best = before[j - 2] + 1;
			now[j] = best;
		}
		swap = before;
		before = last;
		last = now;
		now = swap;
	}
	return last[b_size];
}

const char *cmd_nearest(const char *name, const char *const *names)
{
	size_t nearest_distance = SIZE_MAX, distance;
	const char *nearest = NULL;

	for (; *names; names++) {
		distance = edit_distance(name, *names);
		/* Near: at most a third of it is wrong, or it is a beginning. */
		if (distance > (strlen(*names) + 2) / 3 &&
		    (strlen(name) < 2 || strncmp(name, *names, strlen(name))))
			continue;
		if (distance < nearest_distance) {
			nearest_distance = distance;
			nearest = *names;
		}
	}
	return nearest;
}
