/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <jansson.h>
#include "cmd/cmd.h"
#include "cmd/pager.h"
#include "collect/check/check.h"
#include "collect/events/event.h"
#include "render/json.h"
#include "render/table.h"
#include "render/wrap.h"
#include "util/text.h"

struct doctor {
	enum table_format format;
	bool measure, events;
	double budget_percent;
	bool usable;
	char verdict[512];
};

static const struct cmd_option options[] = {
	{"json", 0, NULL, "print JSON", CMD_AT(FORM, doctor, format), .number = TABLE_JSON},
	{"csv", 0, NULL, "comma-separated values; the verdict goes to stderr",
	 CMD_AT(FORM, doctor, format), .number = TABLE_CSV},
	{"measure", 0, NULL,
	 "also measure the core, what a sample costs and where it lands (1.5 s)",
	 CMD_AT(FLAG, doctor, measure)},
	{"events", 0, NULL, "list every event name, and whether it works here",
	 CMD_AT(FLAG, doctor, events)},
	{"budget", 0, "PERCENT", "slowdown that --measure plans for (default 1)",
	 CMD_AT(SOME_PERCENT, doctor, budget_percent)},
	{0},
};

const struct cmd_spec cmd_doctor_spec = {
	.name = "doctor",
	.operands = "",
	.help = "Says what this kernel, this user's privileges and this processor allow, and for "
		"each thing\n"
		"that is missing the command that fixes it. Exits with 0 when the whole machine "
		"can "
		"be\n"
		"sampled, else with 1.",
	.options = options,
};

static const struct check *find_row(const struct check_list *l, const char *name)
{
	for (size_t i = 0; i < l->count; i++)
		if (!strcmp(l->rows[i].name, name))
			return &l->rows[i];
	return NULL;
}

static bool is_good(const struct check_list *l, const char *name)
{
	const struct check *c = find_row(l, name);

	return c && c->state == CHECK_GOOD;
}

/* One sentence: what culprit can do here, or what stands in its way first. */
static void write_verdict(const struct check_list *l, struct doctor *d)
{
	const struct check *cycles = find_row(l, "cycles");

	d->usable = check_passed(l);
	for (size_t i = 0; i < l->count && !d->usable; i++) {
		const struct check *c = &l->rows[i];

		if (c->state != CHECK_BAD)
			continue;
		snprintf(d->verdict, sizeof(d->verdict),
			 "cannot sample the whole machine: %s: %s%s%s", c->name, c->value,
			 c->mend[0] ? "; " : "", c->mend);
		return;
	}
	snprintf(d->verdict, sizeof(d->verdict),
		 "can sample the whole machine, user and kernel, by %s%s",
		 !cycles || strncmp(cycles->value, "cycles", 6) ? "cpu-clock"
		 : cycles->state == CHECK_GOOD			? "precise cycles"
								: "cycles",
		 is_good(l, "kallsyms") ? "" : "; kernel functions have no names");
}

static void print_text(const struct check_list *l, const struct doctor *d)
{
	static const char *const marks[] = {[CHECK_FACT] = "",
					    [CHECK_GOOD] = "ok",
					    [CHECK_PARTIAL] = "partly",
					    [CHECK_BAD] = "NO"};
	static const char lead[] = "                                    ";
	int width = pager_width();
	const char *group = "";
	char value[4 * sizeof(l->rows[0].value)], mend[4 * sizeof(l->rows[0].mend)];
	char verdict[4 * sizeof(d->verdict)];

	for (size_t i = 0; i < l->count; i++) {
		const struct check *c = &l->rows[i];

		if (strcmp(group, c->group))
			printf("%s%s\n", i ? "\n" : "", c->group);
		group = c->group;
		text_escape(value, sizeof(value), c->value, strlen(c->value));
		printf("  %-6s %-26s ", marks[c->state], c->name);
		wrap_print(stdout, value, sizeof(lead) - 1, lead, width);
		/* A line to copy stays one. */
		text_escape(mend, sizeof(mend), c->mend, strlen(c->mend));
		if (mend[0])
			printf("\n  %-6s %-26s -> %s", "", "", mend);
		putchar('\n');
	}
	fputs("\nculprit ", stdout);
	text_escape(verdict, sizeof(verdict), d->verdict, strlen(d->verdict));
	wrap_print(stdout, verdict, strlen("culprit "), "", width);
	puts(".");
}

/* A JSON string of any bytes. */
static json_t *escaped(const char *s)
{
	char text[4 * sizeof(((struct doctor *)0)->verdict)];

	text_escape(text, sizeof(text), s, strlen(s));
	return json_string(text);
}

/* Lets it go. */
static int print_object(json_t *all)
{
	int r = all && !json_dumpf(all, stdout, JSON_INDENT(2)) ? 0 : -ENOMEM;

	if (!r)
		putchar('\n');
	json_decref(all);
	return r;
}

static int print_json(const struct check_list *l, const struct doctor *d)
{
	json_t *rows = json_array(), *all;
	struct utsname host;

	for (size_t i = 0; i < l->count; i++) {
		const struct check *c = &l->rows[i];

		json_array_append_new(
			rows, json_pack("{s:s, s:s, s:s, s:o, s:o}", "group", c->group, "name",
					c->name, "state", check_state_name(c->state), "value",
					escaped(c->value), "mend", report_json_text(c->mend)));
	}
	all = json_pack("{s:s, s:o, s:b, s:o, s:[], s:o}", "report", "doctor", "machine",
			escaped(uname(&host) ? "" : host.nodename), "usable", (int)d->usable,
			"verdict", escaped(d->verdict), "notes", "rows", rows);
	return print_object(all);
}

/* Prints it and lets it go. */
static int finish_csv(struct table *t)
{
	int r = table_print(t, NULL, TABLE_CSV, stdout, 0);

	table_free(t);
	return r == -ENOMEM ? r : 0; /* whoever flushes the output tells of the rest */
}

static int print_csv(const struct check_list *l, const struct doctor *d)
{
	char verdict[4 * sizeof(d->verdict)];
	static const char *const keys[] = {"group", "name", "state", "value", "mend"};
	struct table *t = table_new("doctor");

	for (int k = 0; k < 5; k++)
		table_add_column(t, TABLE_NAME, keys[k], NULL);
	for (size_t i = 0; i < l->count; i++) {
		const struct check *c = &l->rows[i];
		const char *const cells[] = {c->group, c->name, check_state_name(c->state),
					     c->value, c->mend};

		table_add_row(t);
		for (int k = 0; k < 5; k++)
			table_set_text(t, k, cells[k]);
	}
	text_escape(verdict, sizeof(verdict), d->verdict, strlen(d->verdict));
	fprintf(stderr, "culprit %s.\n", verdict);
	return finish_csv(t);
}

static int fail_memory(void)
{
	struct diag diag;

	diag_fail(&diag, ENOMEM, "out of memory");
	return cmd_fail(&diag);
}

static void print_event(void *arg, const char *kind, const char *name, bool usable)
{
	char text[1024];

	(void)arg;
	text_escape(text, sizeof(text), name, strlen(name));
	printf("%-3s %-10s %s\n", usable ? "ok" : "-", kind, text);
}

static void add_event(void *arg, const char *kind, const char *name, bool usable)
{
	json_array_append_new(arg, json_pack("{s:s, s:o, s:b}", "kind", kind, "name", escaped(name),
					     "usable", (int)usable));
}

static void tabulate_event(void *arg, const char *kind, const char *name, bool usable)
{
	table_add_row(arg);
	table_set_text(arg, 0, kind);
	table_set_text(arg, 1, name);
	table_set_count(arg, 2, usable);
}

static int list_events_csv(void)
{
	struct table *t = table_new("events");

	table_add_column(t, TABLE_NAME, "kind", NULL);
	table_add_column(t, TABLE_NAME, "name", NULL);
	table_add_column(t, TABLE_COUNT, "usable", NULL);
	event_each_name(tabulate_event, t);
	return finish_csv(t);
}

static int list_events(const struct doctor *d)
{
	json_t *rows, *all;

	if (d->format == TABLE_CSV)
		return list_events_csv();
	if (d->format == TABLE_TEXT) {
		event_each_name(print_event, NULL);
		return 0;
	}
	rows = json_array();
	event_each_name(add_event, rows);
	all = json_pack("{s:s, s:[], s:o}", "report", "events", "notes", "rows", rows);
	return print_object(all);
}

int cmd_doctor(int argc, char **argv)
{
	struct check_list list = {.root = ""};
	struct doctor d = {.budget_percent = 1};
	int status = cmd_parse(&cmd_doctor_spec, argc, argv, NULL, &d, NULL);

	if (status >= 0)
		return status;
	if (d.events)
		return list_events(&d) ? fail_memory() : CMD_OK;
	check_kernel(&list);
	check_privilege(&list);
	check_sampling(&list);
	check_symbols(&list);
	check_core(&list, d.measure);
	if (d.measure)
		check_cost(&list, d.budget_percent);
	write_verdict(&list, &d);
	if (d.format == TABLE_TEXT)
		print_text(&list, &d);
	else if (d.format == TABLE_CSV ? print_csv(&list, &d) : print_json(&list, &d))
		return fail_memory();
	return d.usable ? CMD_OK : CMD_FAILURE;
}
