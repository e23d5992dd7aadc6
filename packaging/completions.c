/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Makes the completions of a shell from the tables that the command line is parsed by, at build
 *time:
 *
 *	completions bash|zsh|fish TEMPLATE >FILE
 *
 * A line @TABLE@ of the template becomes what is known of commands and options.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cmd/cmd.h"

static const struct command {
	const struct cmd_spec *spec;
	const char *help;
} commands[] = {
#define CMD(name, help) {&cmd_##name##_spec, help},
#include "cmd/commands.inc"
#undef CMD
};

#define COUNT (sizeof(commands) / sizeof(commands[0]))

static void stop(const char *what)
{
	fprintf(stderr, "completions: %s\n", what);
	exit(1);
}

static bool takes_argument(const struct cmd_option *o)
{
	return o->argument && *o->argument != '[';
}

/* What completes an option's argument: its words, or one of these. */
static const char *argument_kind(const struct cmd_option *o)
{
	static const char *const files[] = {"DB", "FILE", "PATH", "DIR"};

	if (o->values)
		return o->values;
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		if (!strncmp(o->argument, files[i], strlen(files[i])))
			return "@files";
	return strncmp(o->argument, "PID", 3) ? "@none" : "@pids";
}

/* What completes an operand: "@files", "@commands", "@none"; or words, which are written to out. */
static const char *operand_kind(const struct cmd_spec *s, char out[256])
{
	size_t n = 0;

	if (!strcmp(s->name, "help"))
		return "@commands";
	if (!*s->operands)
		return "@none";
	if (!islower(*s->operands))
		return strstr(s->operands, "FUNCTION") ? "@none" : "@files";
	/* "verify|compact [DB]": the words of which one comes first. */
	for (const char *p = s->operands; *p && *p != ' ' && n < 255; p++)
		out[n++] = *p == '|' ? ' ' : *p;
	out[n] = 0;
	return out;
}

/* For bash and zsh: functions of one case each. */
static void print_options_case(const struct cmd_spec *s)
{
	printf("\t%s) echo \"", s->name);
	for (const struct cmd_option *o = s->options; o->name; o++) {
		if (cmd_option_letter(o))
			printf("-%c ", cmd_option_letter(o));
		printf("--%s ", o->name);
	}
	puts("-h --help\" ;;");
}

static void print_cases(void)
{
	char words[256];

	printf("_culprit_commands=\"");
	for (size_t i = 0; i < COUNT; i++)
		printf("%s%s", i ? " " : "", commands[i].spec->name);
	puts("\"\n_culprit_options() { # COMMAND\n\tcase $1 in");
	for (size_t i = 0; i < COUNT; i++)
		print_options_case(commands[i].spec);
	puts("\tesac\n}\n_culprit_argument() { # COMMAND OPTION: nothing for one that takes none\n"
	     "\tcase $1,$2 in");
	for (size_t i = 0; i < COUNT; i++)
		for (const struct cmd_option *o = commands[i].spec->options; o->name; o++) {
			if (!takes_argument(o))
				continue;
			printf("\t%s,--%s", commands[i].spec->name, o->name);
			if (cmd_option_letter(o))
				printf(" | %s,-%c", commands[i].spec->name, cmd_option_letter(o));
			printf(") echo \"%s\" ;;\n", argument_kind(o));
		}
	puts("\tesac\n}\n_culprit_operand() { # COMMAND\n\tcase $1 in");
	for (size_t i = 0; i < COUNT; i++)
		printf("\t%s) echo \"%s\" ;;\n", commands[i].spec->name,
		       operand_kind(commands[i].spec, words));
	puts("\tesac\n}");
}

/* Between single quotes. */
static void print_quoted(const char *text)
{
	putchar('\'');
	for (; *text; text++)
		printf(*text == '\'' || *text == '\\' ? "\\%c" : "%c", *text);
	putchar('\'');
}

static void print_fish_option(const char *command, const struct cmd_option *o)
{
	const char *kind = takes_argument(o) ? argument_kind(o) : NULL;

	printf("complete -c culprit -n '__culprit_is %s' -l %s", command, o->name);
	if (cmd_option_letter(o))
		printf(" -s %c", cmd_option_letter(o));
	if (kind && !strcmp(kind, "@files"))
		printf(" -r -F");
	else if (kind && !strcmp(kind, "@pids"))
		printf(" -x -a '(__fish_complete_pids)'");
	else if (kind && !strcmp(kind, "@none"))
		printf(" -x");
	else if (kind)
		printf(" -x -a '%s'", kind);
	printf(" -d ");
	print_quoted(o->help);
	putchar('\n');
}

static void print_fish(void)
{
	static const struct cmd_option help = {"help", 'h', NULL, "show this"};
	char words[256];

	for (size_t i = 0; i < COUNT; i++) {
		const struct cmd_spec *s = commands[i].spec;
		const char *kind = operand_kind(s, words);

		printf("complete -c culprit -n __culprit_has_none -f -a %s -d ", s->name);
		print_quoted(commands[i].help);
		putchar('\n');
		for (const struct cmd_option *o = s->options; o->name; o++)
			print_fish_option(s->name, o);
		print_fish_option(s->name, &help);
		if (!strcmp(kind, "@none"))
			printf("complete -c culprit -n '__culprit_is %s' -f\n", s->name);
		else if (!strcmp(kind, "@commands"))
			printf("complete -c culprit -n '__culprit_is %s' -f -a '(__culprit_all)'\n",
			       s->name);
		else if (*kind != '@')
			printf("complete -c culprit -n '__culprit_is %s' -f -a '%s'\n", s->name,
			       kind);
	}
	printf("function __culprit_all\n\tstring split ' ' '");
	for (size_t i = 0; i < COUNT; i++)
		printf("%s%s", i ? " " : "", commands[i].spec->name);
	puts("'\nend");
}

int main(int argc, char **argv)
{
	char line[1024];
	bool any = false;
	FILE *in;

	if (argc != 3)
		stop("usage: completions bash|zsh|fish TEMPLATE");
	in = fopen(argv[2], "re");
	if (!in)
		stop("cannot open the template");
	while (fgets(line, sizeof(line), in)) {
		if (strcmp(line, "@TABLE@\n") != 0) {
			fputs(line, stdout);
			continue;
		}
		any = true;
		if (!strcmp(argv[1], "fish"))
			print_fish();
		else
			print_cases();
	}
	fclose(in);
	if (!any)
		stop("the template has no line @TABLE@");
	return fflush(stdout) || ferror(stdout);
}
