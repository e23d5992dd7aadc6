/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_SIM_PREDICT_H
#define CULPRIT_SIM_PREDICT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A branch predictor of today's kind. Directions: TAGE, a table without history and six with tags
 * whose histories grow in a geometric series (A. Seznec, P. Michaud, A case for (partially) TAgged
 * GEometric history length branch prediction, JILP 2006). Targets of indirect branches: three such
 * tables (ITTAGE). Returns: a stack.
 */
#define PREDICT_TABLES	6
#define PREDICT_TARGETS 3
#define PREDICT_RETURNS 32

/* What a prediction hangs on besides the tables: saved before the wrong path, and back after it. */
struct predict_history {
	uint64_t bits[4];
	uint32_t index[PREDICT_TABLES], tag[PREDICT_TABLES], tag2[PREDICT_TABLES];
	uint64_t directions; /* of conditional branches, the last one in bit 0 */
	uint64_t returns[PREDICT_RETURNS];
	uint32_t top;
};

struct predictor {
	struct predict_history history;
	int8_t *base; /* 2 bits each */
	struct predict_entry {
		uint16_t tag;
		int8_t counter;
		uint8_t useful;
	} * tables[PREDICT_TABLES];
	struct predict_target {
		uint64_t target;
		uint32_t tag;
		uint8_t sure;
	} * targets[PREDICT_TARGETS];
	uint32_t table_bits;
	uint32_t random, ticks;
};

/* kbits: of the direction tables together, in thousands of entries. -ENOMEM. */
int predictor_init(struct predictor *p, unsigned kentries);
void predictor_free(struct predictor *p);

/* Whether a conditional branch is predicted to jump; and the same, with the tables taught what it
 * did. Neither changes the history. */
bool predictor_direction(const struct predictor *p, uint64_t pc);
bool predictor_learn(struct predictor *p, uint64_t pc, bool taken);
/* The target of an indirect branch; 0: none is known. */
uint64_t predictor_target(const struct predictor *p, uint64_t pc);
uint64_t predictor_learn_target(struct predictor *p, uint64_t pc, uint64_t target);
/* Where a return goes to; 0: nobody knows. */
uint64_t predictor_return(struct predictor *p);

/* The history goes on, past a branch. */
void predictor_push_direction(struct predictor *p, bool taken);
void predictor_push_target(struct predictor *p, uint64_t target);
void predictor_push_call(struct predictor *p, uint64_t back);

#endif
