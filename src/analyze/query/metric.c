/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "analyze/query/metric.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NESTING_MAX 64

/* A formula in reverse Polish order; operands come first here. */
enum op {
	OP_NUMBER,
	OP_EVENT,
	OP_SAMPLES,
	OP_TOTAL,
	OP_ADD,
	OP_SUB,
	OP_MUL,
	OP_DIV,
	OP_NEG,
	OP_MIN,
	OP_MAX
};

struct step {
	enum op op;
	double number;
	size_t event; /* of the metric's */
};

struct event_name {
	char *name;
	size_t at; /* in the text, for messages */
};

struct metric {
	char *text, *name;
	const char *formula; /* in text */
	struct step *steps;
	size_t step_count;
	struct event_name events[METRIC_EVENTS_MAX];
	size_t event_count;
};

struct parser {
	struct metric *m;
	const char *p;
	unsigned nesting;
	struct diag *diag;
};

static int parse_sum(struct parser *s);

static int fail(struct parser *s, const char *at, const char *what)
{
	return diag_fail(s->diag, EINVAL, "metric, position %td (%s%.12s%s): %s, in '%.300s'",
			 at - s->m->text + 1, *at ? "at '" : "its end", at, *at ? "'" : "", what,
			 s->m->text);
}

static void skip_space(struct parser *s)
{
	while (isspace((unsigned char)*s->p))
		s->p++;
}

static bool take(struct parser *s, char c)
{
	skip_space(s);
	if (*s->p != c)
		return false;
	s->p++;
	return true;
}

static int add_step(struct parser *s, const char *at, const struct step *step)
{
	if (s->m->step_count == METRIC_STEPS_MAX)
		return fail(s, at, "the formula is too long");
	s->m->steps[s->m->step_count++] = *step;
	return 0;
}

static bool is_name_character(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '.' || c == ':';
}

/* A name as it is, or between double quotes; the size of what is in it. */
static int read_name(struct parser *s, const char **ret, size_t *ret_size)
{
	const char *begin = s->p, *end;

	if (*begin == '"') {
		end = strchr(begin + 1, '"');
		if (!end)
			return fail(s, begin, "the quote is not closed");
		*ret = begin + 1;
		*ret_size = (size_t)(end - begin - 1);
		s->p = end + 1;
		return *ret_size ? 0 : fail(s, begin, "the name is empty");
	}
	for (end = begin; is_name_character(*end) || (*end == '-' && is_name_character(end[1]));)
		end++;
	*ret = begin;
	*ret_size = (size_t)(end - begin);
	s->p = end;
	return 0;
}

static int add_event(struct parser *s, enum op op, const char *name, size_t size)
{
	struct metric *m = s->m;
	struct event_name *e = m->events;

	while (e < m->events + m->event_count &&
	       (strlen(e->name) != size || memcmp(e->name, name, size) != 0))
		e++;
	if (e == m->events + METRIC_EVENTS_MAX)
		return fail(s, name, "a formula may have 8 events");
	if (e == m->events + m->event_count) {
		*e = (struct event_name){strndup(name, size), (size_t)(name - m->text)};
		if (!e->name)
			return -ENOMEM;
		m->event_count++;
	}
	return add_step(s, name, &(struct step){.op = op, .event = (size_t)(e - m->events)});
}

/* samples(EVENT), total(EVENT). */
static int parse_of_event(struct parser *s, enum op op)
{
	const char *name;
	size_t size;

	skip_space(s);
	if (*s->p != '"' && !isalpha((unsigned char)*s->p) && *s->p != '_')
		return fail(s, s->p, "expected the name of an event");
	int r = read_name(s, &name, &size);
	if (!r)
		r = add_event(s, op, name, size);
	if (!r && !take(s, ')'))
		r = fail(s, s->p, "')' is missing");
	return r;
}

static int parse_two(struct parser *s, const char *at, enum op op)
{
	int r = parse_sum(s);

	if (!r && !take(s, ','))
		r = fail(s, s->p, "expected two values, separated by a comma");
	if (!r)
		r = parse_sum(s);
	if (!r && !take(s, ')'))
		r = fail(s, s->p, "')' is missing");
	return r ? r : add_step(s, at, &(struct step){.op = op});
}

static int parse_named(struct parser *s)
{
	static const struct {
		const char *name;
		enum op op;
	} functions[] = {
		{"min", OP_MIN}, {"max", OP_MAX}, {"samples", OP_SAMPLES}, {"total", OP_TOTAL}};
	const char *at = s->p, *name;
	size_t size;
	int r = read_name(s, &name, &size);

	if (r || *at == '"' || !take(s, '('))
		return r ? r : add_event(s, OP_EVENT, name, size);
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		if (strlen(functions[i].name) != size || memcmp(functions[i].name, name, size) != 0)
			continue;
		return functions[i].op == OP_MIN || functions[i].op == OP_MAX
			       ? parse_two(s, at, functions[i].op)
			       : parse_of_event(s, functions[i].op);
	}
	return fail(s, at, "no such function; the functions are min, max, samples, total");
}

static int parse_number(struct parser *s)
{
	char *end;
	double number;

	errno = 0;
	number = strtod(s->p, &end);
	if (end == s->p || !isfinite(number))
		return fail(s, s->p, "this is not a number");
	if (is_name_character(*end))
		return fail(s, end, "expected an operator");
	s->p = end;
	return add_step(s, end, &(struct step){.op = OP_NUMBER, .number = number});
}

static int parse_factor(struct parser *s)
{
	const char *at;
	int r;

	if (++s->nesting > NESTING_MAX)
		return fail(s, s->p, "nested too deeply");
	skip_space(s);
	at = s->p;
	if (take(s, '-')) {
		r = parse_factor(s);
		if (!r)
			r = add_step(s, at, &(struct step){.op = OP_NEG});
	} else if (take(s, '(')) {
		r = parse_sum(s);
		if (!r && !take(s, ')'))
			r = fail(s, s->p, "')' is missing");
	} else if (isdigit((unsigned char)*at) || *at == '.') {
		r = parse_number(s);
	} else if (isalpha((unsigned char)*at) || *at == '_' || *at == '"') {
		r = parse_named(s);
	} else {
		r = fail(s, at, "expected a number, an event or '('");
	}
	s->nesting--;
	return r;
}

/* Operands with one of two operators between them, from left to right. */
static int parse_chain(struct parser *s, int (*operand)(struct parser *s), const char *operators,
		       const enum op *ops)
{
	int r = operand(s);

	while (!r) {
		const char *at, *found;

		skip_space(s);
		at = s->p;
		found = *at ? strchr(operators, *at) : NULL;
		if (!found)
			break;
		s->p++;
		r = operand(s);
		if (!r)
			r = add_step(s, at, &(struct step){.op = ops[found - operators]});
	}
	return r;
}

static int parse_term(struct parser *s)
{
	static const enum op ops[] = {OP_MUL, OP_DIV};

	return parse_chain(s, parse_factor, "*/", ops);
}

static int parse_sum(struct parser *s)
{
	static const enum op ops[] = {OP_ADD, OP_SUB};

	return parse_chain(s, parse_term, "+-", ops);
}

static int parse(struct parser *s)
{
	const char *name;
	size_t size;

	skip_space(s);
	if (*s->p != '"' && !isalpha((unsigned char)*s->p) && *s->p != '_')
		return fail(s, s->p,
			    "a metric begins with its name, as in ipc = instructions / cycles");
	int r = read_name(s, &name, &size);
	if (r)
		return r;
	s->m->name = strndup(name, size);
	if (!s->m->name)
		return -ENOMEM;
	if (!take(s, '='))
		return fail(s, s->p, "'=' is missing after the name");
	skip_space(s);
	s->m->formula = s->p;
	r = parse_sum(s);
	skip_space(s);
	if (!r && *s->p)
		r = fail(s, s->p, "expected an operator, or the end");
	return r;
}

int metric_new(const char *text, struct metric **ret, struct diag *diag)
{
	struct parser s = {.diag = diag};

	if (strlen(text) > METRIC_TEXT_MAX)
		return diag_fail(diag, EINVAL, "a metric of more than %d characters",
				 METRIC_TEXT_MAX);
	s.m = calloc(1, sizeof(*s.m));
	if (!s.m)
		return diag_fail(diag, ENOMEM, "out of memory");
	s.m->text = strdup(text);
	s.m->steps = calloc(METRIC_STEPS_MAX, sizeof(*s.m->steps));
	s.p = s.m->text;
	int r = s.m->text && s.m->steps ? parse(&s) : -ENOMEM;
	if (r == -ENOMEM)
		diag_fail(diag, ENOMEM, "out of memory");
	if (r) {
		metric_free(s.m);
		return r;
	}
	*ret = s.m;
	return 0;
}

void metric_free(struct metric *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < m->event_count; i++)
		free(m->events[i].name);
	free(m->steps);
	free(m->text);
	free(m->name);
	free(m);
}

const char *metric_name(const struct metric *m)
{
	return m->name;
}

const char *metric_formula(const struct metric *m)
{
	return m->formula;
}

static int fail_event(const struct metric *m, const struct event_name *event, const struct query *q,
		      struct diag *diag)
{
	struct buf names;

	buf_init(&names, 400);
	for (size_t i = 0; i < q->event_count; i++)
		buf_printf(&names, "%s%s", i ? ", " : "", q->events[i].label);
	int r = diag_fail(diag, ENOENT,
			  "metric %s, position %zu: there is no event '%s'; the events are: %.*s",
			  m->name, event->at + 1, event->name, (int)names.size,
			  names.size ? (char *)names.data : "none");
	buf_free(&names);
	return r;
}

/* The event of that label; else the one of that name, also without the modifiers behind it. */
static int find_event(const struct metric *m, const struct event_name *event, const struct query *q,
		      size_t *ret, struct diag *diag)
{
	size_t found = 0, size = strlen(event->name);

	for (size_t i = 0; i < q->event_count; i++) {
		if (!strcmp(q->events[i].label, event->name)) {
			*ret = i;
			return 0;
		}
	}
	for (size_t i = 0; i < q->event_count; i++) {
		const char *name = q->events[i].name;

		if (!strncmp(name, event->name, size) && (!name[size] || name[size] == ':')) {
			*ret = i;
			found++;
		}
	}
	if (found > 1)
		return diag_fail(diag, EINVAL,
				 "metric %s, position %zu: '%s' matches %zu events; write "
				 "NAME:PERIOD or NAME:MODIFIERS",
				 m->name, event->at + 1, event->name, found);
	return found ? 0 : fail_event(m, event, q, diag);
}

int metric_bind(const struct metric *m, const struct query *q, struct metric_events *ret,
		struct diag *diag)
{
	struct metric_events found = {0};
	int r = 0;

	for (size_t i = 0; i < m->event_count && !r; i++) {
		const struct query_event *e;

		r = find_event(m, &m->events[i], q, &found.index[i], diag);
		if (r)
			return r;
		e = &q->events[found.index[i]];
		found.units[i] = query_event_scale(e) * (e->period ? (double)e->period : 1);
	}
	*ret = found;
	return 0;
}

void metric_add(const struct metric *m, const struct metric_events *events, const uint64_t *counts,
		struct metric_sums *sums)
{
	for (size_t i = 0; i < m->event_count; i++) {
		size_t e = events->index[i];

		sums->samples[i] += (double)counts[e];
		sums->happened[i] += (double)counts[e] * events->units[i];
	}
}

static double apply(enum op op, double a, double b)
{
	switch (op) {
	case OP_ADD:
		return a + b;
	case OP_SUB:
		return a - b;
	case OP_MUL:
		return a * b;
	case OP_DIV:
		return b != 0 ? a / b : NAN;
	case OP_MIN:
		return isnan(a) || isnan(b) ? NAN : fmin(a, b);
	default:
		return isnan(a) || isnan(b) ? NAN : fmax(a, b);
	}
}

static double operand(const struct step *step, const struct metric_sums *sums,
		      const struct metric_sums *all)
{
	switch (step->op) {
	case OP_EVENT:
		return sums->happened[step->event];
	case OP_SAMPLES:
		return sums->samples[step->event];
	case OP_TOTAL:
		return all->happened[step->event];
	default:
		return step->number;
	}
}

bool metric_value(const struct metric *m, const struct metric_sums *sums,
		  const struct metric_sums *all, double *ret)
{
	double stack[METRIC_STEPS_MAX] = {NAN};
	size_t top = 0;

	for (size_t i = 0; i < m->step_count; i++) {
		const struct step *step = &m->steps[i];

		if (step->op <= OP_TOTAL) {
			stack[top++] = operand(step, sums, all);
		} else if (step->op == OP_NEG) {
			stack[top - 1] = -stack[top - 1];
		} else {
			top--;
			stack[top - 1] = apply(step->op, stack[top - 1], stack[top]);
		}
	}
	if (!isfinite(stack[0]))
		return false;
	*ret = stack[0];
	return true;
}

void metric_write_steps(const struct metric *m, const struct metric_events *events,
			const struct metric_sums *all, struct buf *to)
{
	static const char *const names[] = {
		[OP_ADD] = "+",	  [OP_SUB] = "-",   [OP_MUL] = "*",   [OP_DIV] = "/",
		[OP_NEG] = "neg", [OP_MIN] = "min", [OP_MAX] = "max",
	};

	for (size_t i = 0; i < m->step_count; i++) {
		const struct step *step = &m->steps[i];

		buf_append_u8(to, i ? ',' : '[');
		if (step->op == OP_EVENT)
			buf_printf(to, "[%zu,%.17g]", events->index[step->event],
				   events->units[step->event]);
		else if (step->op == OP_SAMPLES)
			buf_printf(to, "[%zu,1]", events->index[step->event]);
		else if (step->op <= OP_TOTAL && isfinite(operand(step, NULL, all)))
			buf_printf(to, "%.17g", operand(step, NULL, all));
		else if (step->op <= OP_TOTAL)
			buf_printf(to, "1e999"); /* JavaScript's infinity */
		else
			buf_printf(to, "\"%s\"", names[step->op]);
	}
	buf_append_u8(to, ']');
}
