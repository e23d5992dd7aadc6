/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_MACHINE_PORTS_H
#define CULPRIT_MACHINE_PORTS_H

#include <stdbool.h>
#include <stdint.h>
#include "machine/cost.h"

/*
 * The calendar of a core's ports and of its scheduler: which ports are taken in which of the next
 * cycles, and how many operations wait in the scheduler. Time moves forward only; operations
 * further ahead than the calendar reaches find every port free.
 */
#define PORTS_CYCLES (1u << 13)
#define PORTS_HINTS  64

struct ports {
	uint64_t base; /* the first cycle that the calendar holds */
	uint32_t waiting;
	uint64_t busy[PORTS_CYCLES];	  /* by cycle modulo its size */
	uint16_t leaving[PORTS_CYCLES];	  /* operations that leave the scheduler then */
	uint32_t load[MACHINE_PORTS_MAX]; /* recent use of each port, for an even spread */
	bool bound; /* operations are bound to a port before they may run: the shortest queue's */
	uint32_t queues[MACHINE_PORTS_MAX]; /* cycles that each port is taken from base on */
	uint32_t taken;
	struct {
		uint64_t ports, from, to; /* all of these ports are taken in [from, to) */
	} hints[PORTS_HINTS];
};

/* Advances until the scheduler has room for one more; returns that cycle, not before `cycle`. */
uint64_t ports_wait_scheduler(struct ports *p, uint64_t cycle, unsigned size);
/* Adds count operations that leave the scheduler in the cycle `leaves`. */
void ports_enter_scheduler(struct ports *p, unsigned count, uint64_t leaves);
/*
 * Takes one of the use's ports for each of its operations, from `ready` on. Returns the cycle in
 * which the last of them starts; ret_port: a port that was taken when it was wanted, if it started
 * late.
 */
uint64_t ports_take(struct ports *p, const struct machine_use *use, uint64_t ready,
		    uint8_t *ret_port);

#endif
