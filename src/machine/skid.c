/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "machine/skid.h"

static const char *const names[MACHINE_SKID_CASES] = {"dependency", "division", "memory",
						      "locked",	    "branch",	"width"};

const char *machine_skid_case_name(enum machine_skid_case c)
{
	return c < MACHINE_SKID_CASES ? names[c] : "?";
}

/* "cpu-clock;105;dep=12/981/4/3/1204;...": thousandths of the samples, and how many. */
void machine_skid_format(const struct machine_skid *s, char out[MACHINE_SKID_TEXT])
{
	int n = snprintf(out, MACHINE_SKID_TEXT, "%.30s;%.0f", s->event, 1000 * s->unevenness);
	for (unsigned c = 0; c < MACHINE_SKID_CASES && n < MACHINE_SKID_TEXT; c++) {
		const double *p = s->shares[c];
		if (s->samples[c])
			n += snprintf(out + n, MACHINE_SKID_TEXT - (size_t)n,
				      ";%.3s=%.0f/%.0f/%.0f/%.0f/%u", names[c], 1000 * p[0],
				      1000 * p[1], 1000 * p[2], 1000 * p[3], s->samples[c]);
	}
}

static int find_case(const char name[4])
{
	for (unsigned c = 0; c < MACHINE_SKID_CASES; c++)
		if (!strncmp(names[c], name, 3))
			return (int)c;
	return -1;
}

static bool are_shares(const double p[MACHINE_SKID_PLACES])
{
	double sum = 0;
	for (unsigned i = 0; i < MACHINE_SKID_PLACES; i++)
		sum += p[i];
	return sum > 0.98 && sum < 1.02; /* each was rounded */
}

int machine_skid_parse(const char *text, struct machine_skid *ret)
{
	struct machine_skid s = {0};
	unsigned uneven;
	int at = 0;
	if (sscanf(text, "%40[^;];%4u%n", s.event, &uneven, &at) != 2 || uneven > 1000)
		return -EINVAL;
	s.unevenness = uneven / 1000.0;
	for (text += at; *text == ';'; text += strcspn(text, ";")) {
		char name[4];
		unsigned n[MACHINE_SKID_PLACES], samples;
		double p[MACHINE_SKID_PLACES];
		if (sscanf(++text, "%3[a-z]=%4u/%4u/%4u/%4u/%9u", name, &n[0], &n[1], &n[2], &n[3],
			   &samples) != 6)
			return -EINVAL;
		for (unsigned i = 0; i < MACHINE_SKID_PLACES; i++)
			p[i] = n[i] / 1000.0;
		if (!are_shares(p))
			return -EINVAL;
		int c = find_case(name);
		if (c < 0)
			continue;
		s.samples[c] = samples;
		memcpy(s.shares[c], p, sizeof(p));
	}
	if (*text)
		return -EINVAL;
	*ret = s;
	return 0;
}

void machine_skid_default(bool precise, struct machine_skid *ret)
{
	memset(ret, 0, sizeof(*ret));
	for (unsigned c = 0; c < MACHINE_SKID_CASES; c++)
		ret->shares[c][precise ? 0 : 1] = 1;
}

double machine_skid_back(const struct machine_skid *s)
{
	double back = 0;
	unsigned cases = 0;
	for (unsigned c = 0; c <= MACHINE_SKID_LOCKED; c++) {
		if (!s->samples[c])
			continue;
		back += s->shares[c][1];
		cases++;
	}
	return cases ? back / cases : s->shares[MACHINE_SKID_DEPENDENCY][1];
}

static enum machine_skid_case case_of(const struct machine_head *h,
				      const struct machine_instruction *in)
{
	if (in->traits & MACHINE_DIVIDES)
		return MACHINE_SKID_DIVISION;
	if (in->traits & (MACHINE_LOCKED | MACHINE_FENCE))
		return MACHINE_SKID_LOCKED;
	if (h->bound == MACHINE_BOUND_MEMORY)
		return MACHINE_SKID_MEMORY;
	return h->bound == MACHINE_BOUND_MISPREDICT ? MACHINE_SKID_BRANCH : MACHINE_SKID_DEPENDENCY;
}

/* The next instruction that an interrupt can show: not the second of a fused pair, nor one that
 * takes no slot. */
static size_t next_shown(const struct machine_instruction *list, size_t count, size_t i)
{
	for (size_t k = 1; k <= count; k++) {
		size_t n = (i + k) % count;
		if (!(list[n].traits & MACHINE_FUSED))
			return n;
	}
	return i;
}

void machine_skid_expect(const struct machine_skid *s, const struct machine_instruction *list,
			 const struct machine_head *heads, size_t count, double *ret)
{
	double cycles = 0, slots = 0, stalled = 0;
	for (size_t i = 0; i < count; i++) {
		ret[i] = 0;
		cycles += heads[i].head_cycles;
		slots += heads[i].slots;
		stalled += heads[i].stall_cycles;
	}
	if (cycles <= 0 || slots <= 0)
		return;
	for (size_t i = 0; i < count; i++) {
		enum machine_skid_case c = case_of(&heads[i], &list[i]);
		const double *p = s->shares[s->samples[c] ? c : MACHINE_SKID_DEPENDENCY];
		size_t at = list[i].traits & MACHINE_FUSED && i ? i - 1 : i;
		/* The rest is on no place in particular. */
		for (unsigned k = 0; k + 1 < MACHINE_SKID_PLACES; k++) {
			ret[at] += heads[i].stall_cycles * p[k];
			at = next_shown(list, count, at);
		}
		ret[at] += heads[i].stall_cycles * p[MACHINE_SKID_PLACES - 1];
	}
	for (size_t i = 0; i < count; i++)
		ret[i] = (ret[i] + (cycles - stalled) * heads[i].slots / slots) / cycles;
}
