/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_COUNTING_PLANNER_WIRE_H
#define CULPRIT_COUNTING_PLANNER_WIRE_H

#include "counting/plans.h"

/* Between the planner's processes, which are one program: structures as they lie in memory. */

#define PLANNER_IMAGES_MAX    1024
#define PLANNER_MAX_BYTES     (1ull << 30) /* of a request, and of an answer */
#define PLANNER_FUNCTIONS_MAX (1u << 22)   /* of an image */

/* To the process that starts others, by a socket of packets: start the number'th, with a socket and
 * its file, or end it. */
struct planner_order {
	uint32_t number, end;
	uint64_t memory_bytes; /* that it may have */
};
int planner_send_order(int fd, const struct planner_order *o, const int fds[2]); /* NULL: none */
int planner_receive_order(int fd, struct planner_order *o, int fds[2]);		 /* -1: none */

/* Does what it is ordered until the other one closes its end. */
void planner_obey(int fd);

/* Takes from this process all system calls that planning does not need. 0, or a negative errno. */
int planner_jail_enter(void);

/* PLAN is followed by the addresses of the image's samples, if any, and the names with their
 * terminator, if any; COUNT by counters, and of
 * each planned function whether it is left out. */
enum planner_what { PLANNER_PLAN, PLANNER_COPY, PLANNER_COUNT };

struct planner_request {
	uint32_t what;
	uint32_t paths_max, names_size; /* of PLAN: struct plans_request */
	uint32_t reserved;
	struct instrument_destination at;
	uint64_t size; /* of what follows */
};

struct planner_answer {
	int32_t result;
	struct diag diag;
	uint64_t memory_bytes; /* that the process has now */
	uint64_t size;	       /* of what follows */
};

/* Of a copy, followed by its bytes, places, pieces and patches. */
struct planner_code {
	uint64_t entry, address, original_hash;
	uint32_t size, place_count, patch_count, first_slot, slot_count, piece_count, entrance,
		reserved;
};

/* All of it, however often a signal comes. 0, -EPIPE: the other one is gone; -ETIMEDOUT,
 * -ECANCELED, or another negative errno. */
struct planner_line {
	int fd;
	int stop; /* can be read: no more; -1 */
	uint64_t until_ns;
};
int planner_send(const struct planner_line *l, const void *data, size_t size);
int planner_receive(const struct planner_line *l, void *data, size_t size);

/*
 * What answers say, taken for what it is, or -EBADMSG: whatever they are, nothing is used beyond
 * what the facts limit, and no copy lies in another or before it. codes: facts->planned of them,
 * all 0; to be freed whatever is returned.
 */
int planner_take_facts(const void *data, size_t size, struct plans_facts *ret);
int planner_take_codes(const void *data, size_t size, const struct plans_facts *facts,
		       const struct instrument_destination *at, struct instrument_code *codes);

#endif
