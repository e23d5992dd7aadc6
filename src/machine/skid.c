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
	double back[MACHINE_SKID_LOCKED + 1];
	unsigned n = 0;

	for (unsigned c = 0; c <= MACHINE_SKID_LOCKED; c++) {
		unsigned k = n;

		if (!s->samples[c])
			continue;
		for (; k > 0 && back[k - 1] > s->shares[c][1]; k--)
			back[k] = back[k - 1];
		back[k] = s->shares[c][1];
		n++;
	}
	return n ? (back[(n - 1) / 2] + back[n / 2]) / 2 : s->shares[MACHINE_SKID_DEPENDENCY][1];
}

bool machine_skid_shows_divisions(const struct machine_skid *s)
{
	return s->samples[MACHINE_SKID_DIVISION] && s->shares[MACHINE_SKID_DIVISION][0] > 0.5;
}
