/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_MACHINE_SKID_H
#define CULPRIT_MACHINE_SKID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "machine/simulate.h"

/*
 * Where samples of an event land in relation to the instruction that held the others up. It differs
 * by processor, kernel and event, so the collector measures it once on each machine
 * (collect/skid_measure.h) and stores it with the profile as the fact "skid" (of the first event)
 * and "skid.EVENT"; reports read it back here.
 */
enum machine_skid_case {
	MACHINE_SKID_DEPENDENCY, /* a multiplication that waits for the one before */
	MACHINE_SKID_DIVISION,
	MACHINE_SKID_MEMORY, /* a load that misses the nearer caches */
	MACHINE_SKID_LOCKED, /* a locked addition */
	MACHINE_SKID_BRANCH, /* after a mispredicted branch; place 0: where execution goes on */
	MACHINE_SKID_WIDTH,  /* nothing stalls, the width binds; see unevenness */
	MACHINE_SKID_CASES,
};

/* Places: the instruction itself, the next one, the one after, anything else in the loop. */
#define MACHINE_SKID_PLACES 4

struct machine_skid {
	char event[64];
	uint32_t samples[MACHINE_SKID_CASES]; /* 0: not measured */
	double shares[MACHINE_SKID_CASES][MACHINE_SKID_PLACES];
	/* For the width case: half the sum of differences from an equal share per operation. 0:
	 * even, towards 1: all samples on few. */
	double unevenness;
};

/* "dependency"; static. */
const char *machine_skid_case_name(enum machine_skid_case c);

#define MACHINE_SKID_TEXT 256
/* The text of the fact. */
void machine_skid_format(const struct machine_skid *s, char out[MACHINE_SKID_TEXT]);
/* Reads it; -EINVAL, and ret untouched, if it is not one. Later versions' cases are skipped. */
int machine_skid_parse(const char *text, struct machine_skid *ret);

/* What to expect where nothing was measured: precise events show the instruction itself, others
 * the next one (doc/machine.md). */
void machine_skid_default(bool precise, struct machine_skid *ret);

/* The share of samples that show the instruction after the one that stalls: the median of the cases
 * of stalls that were measured, as one may differ; the default's when none was. For reports that
 * shift all samples alike. */
double machine_skid_back(const struct machine_skid *s);
/* True where a division was measured to show itself: samples at one are its own. */
bool machine_skid_shows_divisions(const struct machine_skid *s);

#endif
