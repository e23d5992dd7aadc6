/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include "report/why/why_state.h"
#include "util/array.h"
#include "util/text.h"

/* How things are said. */

#define NAME_MAX_BYTES 300 /* of a name in a sentence: those of templates have no end */

double why_share(const struct why *w, double samples)
{
	double percent = w->total > 0 ? 100 * samples / w->total : 0;

	/* Sums of parts of samples may be more by their rounding. */
	return percent > 100 ? 100 : percent;
}

void why_write_share(struct buf *to, double percent)
{
	buf_printf(to, percent < 9.95 ? "%.1f%%" : "%.0f%%", percent);
}

void why_write_name(struct buf *to, const char *name)
{
	char text[NAME_MAX_BYTES];
	size_t whole = text_escape(text, sizeof(text), name, strlen(name));

	buf_printf(to, "%s%s", text, whole >= sizeof(text) ? "..." : "");
}

void why_write_line(struct buf *to, const struct image_frame *frame)
{
	why_write_name(to, text_base_name(frame->file));
	buf_printf(to, ":%u", frame->line);
}

/* What comes before and after the cycles. */
static const struct {
	const char *verb, *reason;
} causes[CULPRIT_CAUSES] = {
	[CULPRIT_DCACHE] = {"waits", "for data that misses the caches"},
	[CULPRIT_DTLB] = {"waits", "for the translation of an address (DTB miss)"},
	[CULPRIT_ICACHE] = {"waits", "for its own code (I-cache miss)"},
	[CULPRIT_ITLB] = {"waits", "for the translation of its code's address (ITB miss)"},
	[CULPRIT_BRANCH_MISPREDICT] = {"loses", "to branches that are mispredicted"},
	[CULPRIT_STORE_BUFFER] = {"waits", "for room in the store buffer"},
	[CULPRIT_STORE_FORWARD] = {"waits", "for a store that cannot be forwarded to the load"},
	[CULPRIT_DIVIDER] = {"waits", "for the divider"},
	[CULPRIT_DEPENDENCY] = {"waits", "for an operand that is still being computed"},
	[CULPRIT_PORT] = {"waits", "for execution ports that are busy"},
	[CULPRIT_FRONT_END] = {"waits", "for instructions to be fetched and decoded"},
	[CULPRIT_LOCK] = {"waits", "for a locked operation"},
	[CULPRIT_FENCE] = {"waits", "for a fence"},
	[CULPRIT_ASSIST] = {"waits", "for microcode"},
	[CULPRIT_PAGE_FAULT] = {"loses", "to page faults"},
	[CULPRIT_SYSCALL] = {"loses", "to system calls"},
	[CULPRIT_INTERRUPTS_OFF] = {"takes", "with interrupts off"},
	[CULPRIT_UNEXPLAINED] = {"takes", "that nothing explains"},
};

const char *why_reason(enum culprit_cause cause, uint8_t level)
{
	static const char *const levels[] = {
		[2] = "for the L2 cache", [3] = "for the L3 cache", [4] = "for memory"};

	if (cause == CULPRIT_DCACHE && level >= 2 && level <= 4)
		return levels[level];
	return causes[cause].reason;
}

void why_write_cause(struct buf *to, enum culprit_cause cause, uint8_t level, double cycles,
		     bool about)
{
	if (cycles > 0)
		buf_printf(to, cycles < 9.95 ? "%s %s%.1f cycles %s" : "%s %s%.0f cycles %s",
			   causes[cause].verb, about ? "about " : "", cycles,
			   why_reason(cause, level));
	else
		buf_printf(to, "%s %s%s", causes[cause].verb,
			   strcmp(causes[cause].verb, "waits") ? "time " : "",
			   why_reason(cause, level));
}

enum frequency_confidence why_confidence(double samples)
{
	return samples >= 100 ? FREQUENCY_HIGH : samples >= 30 ? FREQUENCY_MEDIUM : FREQUENCY_LOW;
}

static bool is_plain(const char *text)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				    "_./:,+@%=-";

	return *text && text[strspn(text, plain)] == 0;
}

/* Bytes that a terminal or a pipe may spoil are written as $'\xNN'. */
static void write_quoted(struct buf *to, const char *text)
{
	char escaped[8];

	buf_printf(to, "$'");
	for (; *text; text++) {
		if (*text == '\'' || *text == '\\')
			snprintf(escaped, sizeof(escaped), "\\%c", *text);
		else if (*text >= ' ' && *text < 0x7f)
			snprintf(escaped, sizeof(escaped), "%c", *text);
		else
			snprintf(escaped, sizeof(escaped), "\\x%02x", (unsigned char)*text);
		buf_printf(to, "%s", escaped);
	}
	buf_printf(to, "'");
}

/* An argument for a shell, after a space. */
static void write_argument(struct buf *to, const char *text)
{
	size_t size = strlen(text);

	buf_printf(to, " ");
	if (is_plain(text))
		buf_printf(to, "%s", text);
	else if (!strchr(text, '\'') && text_escape_controls(NULL, 0, text, size) == size)
		buf_printf(to, "'%s'", text);
	else
		write_quoted(to, text);
}

static void write_option(struct buf *to, const char *name, const char *value)
{
	if (!value)
		return;
	buf_printf(to, " %s", name);
	write_argument(to, value);
}

void why_begin_evidence(const struct why *w, struct buf *to, const char *command)
{
	const struct report_options *o = w->session->options;

	buf_printf(to, "culprit %s", command);
	write_option(to, "-i", o->db);
	write_option(to, "--epoch", o->epoch);
	write_option(to, "--machine", o->machine);
	write_option(to, "--event", o->selection.event);
	for (size_t i = 0; i < o->selection.subject_count; i++)
		write_option(to, "--subject", o->selection.subjects[i]);
}

static bool is_one_of_several(const struct why *w, const char *name)
{
	size_t same = 0;

	for (size_t i = 0; i < w->functions->row_count && same < 2; i++)
		same += w->functions->rows[i].function &&
			!strcmp(w->functions->rows[i].function, name);
	return same > 1;
}

void why_write_function(const struct why *w, struct buf *to, const struct query_image *image,
			const char *name, uint64_t start)
{
	char id[IMAGE_ID_TEXT_MAX], address[32];

	if (!name || is_one_of_several(w, name)) {
		image_id_format(&image->id, id);
		write_option(to, "--image", id);
		snprintf(address, sizeof(address), "0x%" PRIx64, start);
		name = address;
	}
	if (*name == '-')
		buf_printf(to, " --");
	write_argument(to, name);
}

const char *why_keep(struct why *w, const char *text)
{
	return text ? arena_strndup(w->memory, text, strlen(text)) : NULL;
}

int why_set_image(struct why *w, struct why_sentence *s, const struct query_image *image)
{
	char id[IMAGE_ID_TEXT_MAX];

	image_id_format(&image->id, id);
	s->image = why_keep(w, image->path);
	s->build_id = why_keep(w, id);
	return s->image && s->build_id ? 0 : -ENOMEM;
}

static const char *keep_buf(struct why *w, struct buf *b)
{
	const char *kept = b->error ? NULL : arena_strndup(w->memory, (char *)b->data, b->size);

	buf_free(b);
	return kept;
}

int why_add(struct why *w, const struct why_sentence *s, double weight, struct buf *text,
	    struct buf *evidence)
{
	struct why_candidate c = {*s, weight};

	c.sentence.text = keep_buf(w, text);
	c.sentence.evidence = keep_buf(w, evidence);
	if (!c.sentence.text || !c.sentence.evidence)
		return -ENOMEM;
	if (array_grow_short(&w->found, w->found_count, sizeof(*w->found)))
		return -ENOMEM;
	w->found[w->found_count++] = c;
	return 0;
}
