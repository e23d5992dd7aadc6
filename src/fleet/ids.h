/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_FLEET_IDS_H
#define CULPRIT_FLEET_IDS_H

#include "db/key.h"
#include "util/identity.h"

/*
 * The numbers by which a fleet's tables name things: 64 bits of XXH3 of what they are. All machines
 * give the same thing the same number without asking; a statement holds numbers only, never a name;
 * and who reads a name checks it by its number, so that nobody can give another's number a name. Of
 * a million images, two have the same number with a probability of 3e-8.
 */
uint64_t fleet_id_machine(const char *name);
uint64_t fleet_id_epoch(const char *machine, const char *epoch);
uint64_t fleet_id_image(const struct image_id *id);
uint64_t fleet_id_event(const struct db_event *event);
uint64_t fleet_id_subject(const void *pairs, size_t size);
#define FLEET_NO_EVENT 0 /* of counters that belong to no event */

#define FLEET_STACK_ID 16 /* bytes */
/* Of count frames, of images given by their numbers. */
void fleet_id_stack(const uint64_t *images, const uint64_t *offsets, uint32_t count,
		    uint8_t ret[FLEET_STACK_ID]);

/* Days since 1970 of an epoch, by its name: the day that it belongs to whatever else is known. */
uint16_t fleet_day(const char *epoch);

#endif
