/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Random sampling periods. With a constant period P a program whose loop takes P (or a simple
 * fraction or multiple) is hit at the same place for ever, and that place gets all its samples.
 * DCPI's interrupt handler draws a new period at each sample. Here only user space can change a
 * period, by an ioctl that costs an interprocessor interrupt, so one is kept for about 64 samples:
 * then redraws cost less than 1/64 of what sampling costs, whatever that is on this machine.
 *
 * Width. While a period P' = P(1+d) is kept for k samples, the place hit in a loop of length P
 * moves by dP a sample. If |d| > 1/k it goes round the loop and every place gets its share; if not,
 * the period is nearly locked and the interval says little more than one sample would. With d
 * uniform in
 * +-w that happens with probability 1/(kw), so over N samples, N/k intervals, the variance of a
 * share is 1/(Nw) times what one sample has: independent of k, and 1/w times that of independent
 * samples. A wide range is good. On the other hand an interval has P/P' times as many samples as it
 * should, a relative deviation of w/sqrt(3), which adds to the 1/sqrt(k) of sampling for work that
 * is done in one interval only. w = 1/8 keeps the second (7.2%) under the first (12.5% at k = 64)
 * at the price of a standard error 2.8 times that of independent samples on the locked program
 * alone.
 *
 * When. The ioctl restarts the period, so each interval's samples start from the redraw. Were
 * redraws at regular times, a program in step with these too would meet every nearly locked
 * interval at the same place; so the time between redraws is random as well.
 *
 * Rate. Kept for a given time, a period P' gives T/P' samples, less half a one for the period that
 * the redraw cuts short. E[1/P'] of a uniform P' is above 1/E[P'] by c = ln((1+w)/(1-w))/(2w), and
 * the loss is 1/2 in n = T/P; so the middle of the range is P * c / (1 + 1/(2n)), which makes the
 * mean rate 1/P. (What a report prints is the count of events by the samples taken, which needs no
 * such theory.)
 *
 * The generator is PCG-XSH-RR 64/32 (O'Neill 2014): one stream for each CPU and event.
 */
#include "collect/events/period.h"

#include <math.h>

static uint32_t next_u32(struct period *p)
{
	uint64_t s = p->state;
	uint32_t x = (uint32_t)((s >> 18 ^ s) >> 27);
	unsigned int turn = (unsigned int)(s >> 59);

	p->state = s * 6364136223846793005u + p->stream;
	return x >> turn | x << (-turn & 31);
}

/* Uniform in low..high; the bias of the scaling is below 1 in 2^32 for any period in use. */
static uint64_t next_in(struct period *p, uint64_t low, uint64_t high)
{
	uint64_t bits = (uint64_t)next_u32(p) << 32 | next_u32(p);

	return low + (uint64_t)(((unsigned __int128)bits * (high - low + 1)) >> 64);
}

void period_init(struct period *p, uint64_t nominal, double rate_hz, double width, uint64_t seed,
		 uint64_t stream)
{
	double interval_ns = PERIOD_DRAW_MIN_NS, c = 1, middle;

	if (rate_hz > 0 && PERIOD_SAMPLES_PER_DRAW * 1e9 / rate_hz > interval_ns)
		interval_ns = PERIOD_SAMPLES_PER_DRAW * 1e9 / rate_hz;
	/* A day: rates so low that nothing matters any more. */
	interval_ns = fmin(interval_ns, 86400e9);
	width = width > 0 ? fmin(width, PERIOD_WIDTH_MAX) : 0;
	if (width > 0)
		c = log((1 + width) / (1 - width)) / (2 * width);
	middle = (double)nominal;
	if (width > 0 && rate_hz > 0)
		middle *= c / (1 + 0.5 / (rate_hz * interval_ns / 1e9));
	p->low = (uint64_t)llround(fmax(1, middle * (1 - width)));
	p->high = (uint64_t)llround(fmax(1, middle * (1 + width)));
	p->draw_interval_ns = (uint64_t)interval_ns;
	/* Streams must be odd, and close ones must not start alike: step twice around the seed. */
	p->stream = stream << 1 | 1;
	p->state = 0;
	next_u32(p);
	p->state += seed;
	next_u32(p);
}

uint64_t period_at(uint64_t planned, double factor)
{
	return (uint64_t)fmax(1, round((double)planned / factor));
}

uint64_t period_draw(struct period *p)
{
	return next_in(p, p->low, p->high);
}

uint64_t period_draw_interval_ns(struct period *p)
{
	return next_in(p, p->draw_interval_ns / 2, p->draw_interval_ns + p->draw_interval_ns / 2);
}
