/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Where a function's cycles went, by cause: Figure 4 of Anderson et al., SOSP 1997. */
#include <math.h>
#include "analyze/insight_state.h"

static void add_culprits(struct insight_summary *s, const struct insight_instruction *in,
			 double samples_per_cycle)
{
	for (uint32_t i = 0; i < in->culprits.count; i++) {
		const struct culprit *c = &in->culprits.list[i];
		if (c->is_static) {
			s->fixed[c->cause].low += c->low * samples_per_cycle;
			s->fixed[c->cause].high += c->high * samples_per_cycle;
			s->fixed[c->cause].likely += c->likely * samples_per_cycle;
		} else {
			s->dynamic[c->cause].low += c->low * samples_per_cycle;
			s->dynamic[c->cause].high += c->high * samples_per_cycle;
			s->dynamic[c->cause].likely += c->likely * samples_per_cycle;
		}
	}
	s->gain += in->culprits.gain * samples_per_cycle;
}

/*
 * What no culprit has is execution. Instructions of which it is not known how often they ran have
 * no culprits: all of theirs is unexplained.
 */
void insight_summarize(struct insight *r)
{
	struct insight_summary *s = &r->summary;
	double explained = 0;
	for (size_t i = 0; i < r->instruction_count; i++) {
		const struct insight_instruction *in = &r->instructions[i];
		s->samples += in->charged;
		if (in->cpi.value > 0)
			add_culprits(s, in, in->charged / in->cpi.value);
		else
			s->dynamic[CULPRIT_UNEXPLAINED].likely += in->charged;
	}
	for (unsigned c = 0; c < CULPRIT_CAUSES; c++)
		explained += s->fixed[c].likely + s->dynamic[c].likely;
	s->dynamic[CULPRIT_UNEXPLAINED].low = s->dynamic[CULPRIT_UNEXPLAINED].high =
		s->dynamic[CULPRIT_UNEXPLAINED].likely;
	s->execution = fmax(0, s->samples - explained);
}

void insight_summary_add(struct insight_summary *to, const struct insight_summary *from)
{
	to->samples += from->samples;
	for (unsigned c = 0; c < CULPRIT_CAUSES; c++) {
		to->fixed[c].low += from->fixed[c].low;
		to->fixed[c].high += from->fixed[c].high;
		to->fixed[c].likely += from->fixed[c].likely;
		to->dynamic[c].low += from->dynamic[c].low;
		to->dynamic[c].high += from->dynamic[c].high;
		to->dynamic[c].likely += from->dynamic[c].likely;
	}
	to->execution += from->execution;
	to->gain += from->gain;
}
