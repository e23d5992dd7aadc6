/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_CMD_SIM_KEEP_H
#define CULPRIT_CMD_SIM_KEEP_H

#include "exchange/import.h"
#include "sim/sim.h"

/*
 * What a run on a modelled core gave, on its way into a database: as foreign profiles go, so that
 * images are found and their symbols and code kept by the same code. The instruction samples have
 * the event SIM_KEEP_EVENT; the truth is rows of events of its own, each with a period of 1.
 */
#define SIM_KEEP_EVENT "sim-instructions"

struct sim_keep;

/* comm: of the program, for the samples' subject. -ENOMEM. */
int sim_keep_new(const char *comm, struct sim_keep **ret);
void sim_keep_free(struct sim_keep *k);
/* A sample: at most HARVEST_INSTS_MAX, more are counted. 0 or -ENOMEM. */
int sim_keep_take(struct sim_keep *k, const struct sim *s, const struct sim_pair *pair);
/* Once it is over: the truth, facts and counters, and writes it all. period: of the samples;
 * scale: instructions of the run for each that was observed; width: slots a cycle. */
int sim_keep_end(struct sim_keep *k, const struct sim *s, const struct sim_result *result,
		 double period, double scale, unsigned width, const char *core,
		 const struct import_target *target, struct import_result *ret, struct diag *diag);

#endif
