/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "sim/sample.h"

static uint64_t draw(struct sim_sampler *s)
{
	/* Marsaglia's xorshift. */
	s->random ^= s->random << 13;
	s->random ^= s->random >> 7;
	s->random ^= s->random << 17;
	return s->random;
}

static void arm(struct sim_sampler *s)
{
	s->left = s->period ? 1 + draw(s) % (2 * s->period - 1) : 0;
}

void sim_sampler_init(struct sim_sampler *s, uint64_t period, unsigned window, uint64_t seed)
{
	s->period = period;
	s->window = window;
	s->random = seed * 2 + 1;
	s->position = 0;
	s->due = 0;
	s->waiting_count = 0;
	s->refused = 0;
	for (unsigned i = 0; i < 8; i++)
		draw(s);
	arm(s);
}

static void find_due(struct sim_sampler *s)
{
	s->due = 0;
	for (unsigned i = 0; i < s->waiting_count; i++)
		if (!s->due || s->waiting[i].due < s->due)
			s->due = s->waiting[i].due;
}

/* Those whose other half this is. */
static void end_pairs(struct sim_sampler *s, const struct sim_half *half)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < s->waiting_count; i++) {
		if (s->waiting[i].due != s->position) {
			s->waiting[kept++] = s->waiting[i];
			continue;
		}
		struct sim_pair pair = {
			.first = s->waiting[i].half,
			.other = *half,
			.distance = (uint32_t)(s->position - s->waiting[i].at),
			.cycles = half->fetch - s->waiting[i].half.fetch,
		};
		s->take(s->arg, &pair);
	}
	s->waiting_count = kept;
	find_due(s);
}

void sim_sampler_take(struct sim_sampler *s, const struct sim_half *half)
{
	if (s->position == s->due)
		end_pairs(s, half);
	if (s->left || !s->period)
		return;
	arm(s);
	if (!s->window) {
		const struct sim_pair single = {.first = *half};

		s->take(s->arg, &single);
	} else if (s->waiting_count < SAMPLE_WAITING) {
		s->waiting[s->waiting_count].half = *half;
		s->waiting[s->waiting_count].at = s->position;
		s->waiting[s->waiting_count++].due = s->position + 1 + draw(s) % s->window;
		find_due(s);
	} else {
		s->refused++;
	}
}

void sim_sampler_drop(struct sim_sampler *s)
{
	s->waiting_count = 0;
	s->due = 0;
}
