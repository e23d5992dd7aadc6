/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "collect/cost/clock_meter.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "util/array.h"
#include "util/clock.h"
#include "util/num.h"

#define GAP_NS	   200000000ull
#define SLICES	   3	 /* the one in the middle is a reading: an interrupt makes one longer */
#define ROUNDS	   1000	 /* of 64 additions: 20 us */
#define QUARTILES  1.349 /* deviations from one quartile of a normal distribution to the other */
#define MEDIAN_OFF 1.253 /* deviation of its median over that of its mean */

double clock_meter_read(void)
{
#ifdef __x86_64__
	double took[SLICES];

	for (int i = 0; i < SLICES; i++) {
		uint64_t x = 1, y = 3, start = clock_monotonic_ns();

		for (uint64_t k = 0; k < ROUNDS; k++)
			__asm__ volatile(".rept 64\nadd %1,%0\n.endr" : "+r"(x) : "r"(y));
		took[i] = (double)(clock_monotonic_ns() - start);
	}
	array_sort(took, SLICES, sizeof(*took), num_compare_double);
	return took[SLICES / 2] > 0 ? 64.0 * ROUNDS * 1e9 / took[SLICES / 2] : 0;
#else
	return 0;
#endif
}

/* Every other one, and from now on half as often. */
static void thin_out(struct clock_meter *m)
{
	for (size_t i = 0; i < m->count / 2; i++)
		m->hz[i] = m->hz[2 * i];
	m->count /= 2;
	m->gap_ns *= 2;
}

void clock_meter_take(struct clock_meter *m, double hz)
{
	if (!(hz > 0))
		return;
	if (m->count == CLOCK_METER_READINGS)
		thin_out(m);
	m->hz[m->count++] = hz;
}

void clock_meter_look(struct clock_meter *m, uint64_t now_ns)
{
	if (now_ns < m->next_ns)
		return;
	clock_meter_take(m, clock_meter_read());
	m->gap_ns = m->gap_ns ? m->gap_ns : GAP_NS;
	m->next_ns = now_ns + m->gap_ns;
}

double clock_meter_hz(const struct clock_meter *m, double *ret_deviation)
{
	double sorted[CLOCK_METER_READINGS];
	const size_t n = m->count;

	*ret_deviation = 0;
	if (!n)
		return 0;
	memcpy(sorted, m->hz, n * sizeof(*sorted));
	array_sort(sorted, n, sizeof(*sorted), num_compare_double);
	*ret_deviation = MEDIAN_OFF * log(sorted[n - 1 - n / 4] / sorted[n / 4]) / QUARTILES /
			 sqrt((double)n);
	return (sorted[n / 2] + sorted[(n - 1) / 2]) / 2;
}

void clock_meter_begin(struct clock_meter *m, uint64_t now_ns, uint64_t interrupts)
{
	*m = (struct clock_meter){.begun_ns = now_ns, .interrupts = interrupts};
}

double clock_meter_interrupted(const struct clock_meter *m, uint64_t now_ns, uint64_t interrupts,
			       unsigned cpus, double cost_ns)
{
	if (!cpus || now_ns <= m->begun_ns || interrupts < m->interrupts || !m->interrupts)
		return 0;
	return cost_ns * (double)(interrupts - m->interrupts) /
	       ((double)cpus * (double)(now_ns - m->begun_ns));
}
