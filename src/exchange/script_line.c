/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "exchange/script.h"

#include <string.h>

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static struct script_text trim(struct script_text t)
{
	while (t.size && is_blank(*t.at))
		t.at++, t.size--;
	while (t.size && is_blank(t.at[t.size - 1]))
		t.size--;
	return t;
}

/* Cuts a word off the front. Empty when there is none. */
static struct script_text take_word(struct script_text *t)
{
	struct script_text word;

	while (t->size && is_blank(*t->at))
		t->at++, t->size--;
	word = (struct script_text){t->at, 0};
	while (t->size && !is_blank(*t->at))
		t->at++, t->size--, word.size++;
	return word;
}

/* Digits from the front, at most as many as fit; their number in ret_digits. */
static uint64_t take_number(struct script_text *t, size_t *ret_digits)
{
	uint64_t n = 0;
	size_t digits = 0;

	for (; t->size && is_digit(*t->at) && digits < 19; t->at++, t->size--, digits++)
		n = 10 * n + (uint64_t)(*t->at - '0');
	*ret_digits = digits;
	return n;
}

static bool take_char(struct script_text *t, char c)
{
	if (!t->size || *t->at != c)
		return false;
	t->at++, t->size--;
	return true;
}

/* "123" or "123/124". */
static bool is_pid(struct script_text word, struct script_head *head)
{
	size_t digits;

	head->pid = head->tid = take_number(&word, &digits);
	if (!digits)
		return false;
	if (take_char(&word, '/')) {
		head->tid = take_number(&word, &digits);
		if (!digits)
			return false;
	}
	return !word.size;
}

/* "[000]" */
static bool is_cpu(struct script_text word)
{
	size_t digits;

	if (!take_char(&word, '['))
		return false;
	take_number(&word, &digits);
	return digits && take_char(&word, ']') && !word.size;
}

/* "123.456789:", of seconds. */
static bool is_time(struct script_text word, struct script_head *head)
{
	size_t digits;
	uint64_t seconds = take_number(&word, &digits), fraction;

	if (!digits || !take_char(&word, '.'))
		return false;
	fraction = take_number(&word, &digits);
	if (!digits || digits > 9 || !take_char(&word, ':') || word.size)
		return false;
	while (digits++ < 9)
		fraction *= 10;
	head->time_ns = seconds * 1000000000 + fraction;
	return true;
}

static bool is_number(struct script_text word, uint64_t *ret)
{
	size_t digits;
	uint64_t n = take_number(&word, &digits);

	if (!digits || word.size)
		return false;
	*ret = n;
	return true;
}

/* Behind the command: what is known of its fields, each where perf prints it. */
static void take_fields(struct script_text line, struct script_head *head)
{
	struct script_text after = line, word = take_word(&after);

	if (is_cpu(word)) {
		line = after;
		word = take_word(&after);
	}
	if (is_time(word, head)) {
		head->has_time = true;
		line = after;
		word = take_word(&after);
	}
	if (is_number(word, &head->period)) {
		head->has_period = true;
		line = after;
		word = take_word(&after);
	}
	if (word.size > 1 && word.at[word.size - 1] == ':') {
		head->event = (struct script_text){word.at, word.size - 1};
		line = after;
	}
	head->rest = trim(line);
}

/*
 * A command may have blanks and numbers in it: it ends before the first word that is a process with
 * a processor, a time or nothing behind it, or else before a processor or a time.
 */
bool script_parse_head(struct script_text line, struct script_head *ret)
{
	struct script_text left = trim(line), first = left;
	struct script_head head = {.pid = 0};

	take_word(&left);
	for (;;) {
		struct script_text before = left, after, word = take_word(&left), next;
		struct script_head unused;

		if (!word.size)
			break;
		after = left;
		next = take_word(&after);
		head.has_pid = is_pid(word, &head);
		if ((head.has_pid && (!next.size || is_cpu(next) || is_time(next, &unused))) ||
		    is_cpu(word) || is_time(word, &unused)) {
			head.comm = trim(
				(struct script_text){first.at, (size_t)(before.at - first.at)});
			take_fields(head.has_pid ? left : before, &head);
			*ret = head;
			return true;
		}
	}
	return false;
}

static bool is_hex(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'f');
}

static bool take_address(struct script_text *t, uint64_t *ret)
{
	struct script_text after = *t, word = take_word(&after);
	uint64_t n = 0;

	if (!word.size || word.size > 16)
		return false;
	for (size_t i = 0; i < word.size; i++) {
		char c = word.at[i];

		if (!is_hex(c))
			return false;
		n = n << 4 | (uint64_t)(is_digit(c) ? c - '0' : c - 'a' + 10);
	}
	*ret = n;
	*t = after;
	return true;
}

/* The parentheses at the end, which may have others in them: "(/tmp/x (deleted))". */
static bool take_dso(struct script_text *t, struct script_text *ret)
{
	size_t depth = 0;

	if (!t->size || t->at[t->size - 1] != ')')
		return false;
	for (size_t i = t->size; i-- > 0;) {
		depth += t->at[i] == ')';
		depth -= t->at[i] == '(';
		if (depth)
			continue;
		/* Else they are of a function's arguments, as of one that is alone. */
		if (i && !is_blank(t->at[i - 1]))
			return false;
		*ret = (struct script_text){t->at + i + 1, t->size - i - 2};
		*t = trim((struct script_text){t->at, i});
		return true;
	}
	return false;
}

/* "+0x1f" at the end of a symbol. */
static void cut_offset(struct script_text *t)
{
	size_t i = t->size;

	while (i && is_hex(t->at[i - 1]))
		i--;
	if (i >= 4 && i < t->size && !memcmp(t->at + i - 3, "+0x", 3))
		t->size = i - 3;
}

bool script_parse_frame(struct script_text line, struct script_frame *ret)
{
	struct script_frame frame = {.address = 0};
	struct script_text left = trim(line);
	bool has_address, has_dso;

	has_address = take_address(&left, &frame.address);
	left = trim(left);
	has_dso = take_dso(&left, &frame.dso);
	if (!has_address && !has_dso)
		return false;
	cut_offset(&left);
	frame.symbol = left;
	frame.inlined = has_dso && frame.dso.size == 7 && !memcmp(frame.dso.at, "inlined", 7);
	*ret = frame;
	return true;
}

/* Cuts a line off the front, without its end. False when there is none. */
static bool next_line(struct script_text *text, struct script_text *ret)
{
	const char *end = text->size ? memchr(text->at, '\n', text->size) : NULL;
	size_t size = end ? (size_t)(end - text->at) : text->size;

	if (!text->size)
		return false;
	*ret = (struct script_text){text->at, size};
	text->at += size + (end != NULL);
	text->size -= size + (end != NULL);
	return true;
}

static bool ends_in_count(struct script_text line)
{
	size_t digits = 0;

	while (digits < line.size && is_digit(line.at[line.size - 1 - digits]))
		digits++;
	return digits && digits + 1 < line.size && line.at[line.size - 1 - digits] == ' ';
}

const char *script_text_kind(const char *start, size_t size)
{
	struct script_text text = {start, size}, line, next = {start, 0};
	struct script_head head;
	struct script_frame frame;
	bool whole;

	do {
		if (!next_line(&text, &line))
			return NULL;
	} while (!trim(line).size || *line.at == '#');
	whole = text.size || start[size - 1] == '\n';
	next_line(&text, &next);
	if (script_parse_head(line, &head) &&
	    (head.has_time || head.event.size ||
	     (next.size && is_blank(*next.at) && script_parse_frame(next, &frame))))
		return "script";
	/* A first line of which the end is not in sight may be one of many frames. */
	if (whole ? ends_in_count(trim(line)) : memchr(line.at, ';', line.size) != NULL)
		return "folded";
	return NULL;
}
