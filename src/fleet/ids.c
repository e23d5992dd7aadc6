/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "fleet/ids.h"

#include <string.h>
#define XXH_STATIC_LINKING_ONLY /* states on the stack */
#include <xxhash.h>
#include "db/layout.h"

#define DAY_NS 86400000000000u

/* One byte of what it is, so that things of different sorts have different numbers. */
struct hashing {
	XXH3_state_t state;
};

static void begin(struct hashing *h, char sort)
{
	XXH3_64bits_reset(&h->state);
	XXH3_64bits_update(&h->state, &sort, 1);
}

static void add(struct hashing *h, const void *data, size_t size)
{
	if (size)
		XXH3_64bits_update(&h->state, data, size);
}

static void add_number(struct hashing *h, uint64_t v)
{
	uint64_t bytes = htole64(v);

	add(h, &bytes, sizeof(bytes));
}

/* Not 0, which is nothing, nor the largest, which a map64 does not take. */
static uint64_t end(struct hashing *h)
{
	uint64_t id = XXH3_64bits_digest(&h->state);

	return id == 0 || id == UINT64_MAX ? 1 : id;
}

uint64_t fleet_id_machine(const char *name)
{
	struct hashing h;

	begin(&h, 'M');
	add(&h, name, strlen(name));
	return end(&h);
}

uint64_t fleet_id_epoch(const char *machine, const char *epoch)
{
	struct hashing h;

	begin(&h, 'P');
	add(&h, machine, strlen(machine) + 1);
	add(&h, epoch, strlen(epoch));
	return end(&h);
}

uint64_t fleet_id_image(const struct image_id *id)
{
	struct hashing h;

	begin(&h, 'I');
	add(&h, &id->kind, 1);
	add(&h, &id->size, 1);
	add(&h, id->bytes, sizeof(id->bytes));
	return end(&h);
}

uint64_t fleet_id_event(const struct db_event *event)
{
	struct hashing h;

	begin(&h, 'E');
	add_number(&h, event->period);
	add_number(&h, event->flags);
	add(&h, event->name, strlen(event->name));
	return end(&h);
}

uint64_t fleet_id_subject(const void *pairs, size_t size)
{
	struct hashing h;

	begin(&h, 'S');
	add(&h, pairs, size);
	return end(&h);
}

void fleet_id_stack(const uint64_t *images, const uint64_t *offsets, uint32_t count,
		    uint8_t ret[FLEET_STACK_ID])
{
	XXH3_state_t state;
	XXH128_canonical_t bytes;

	XXH3_128bits_reset(&state);
	for (uint32_t i = 0; i < count; i++) {
		uint64_t frame[2] = {htole64(images[i]), htole64(offsets[i])};

		XXH3_128bits_update(&state, frame, sizeof(frame));
	}
	XXH128_canonicalFromHash(&bytes, XXH3_128bits_digest(&state));
	memcpy(ret, bytes.digest, FLEET_STACK_ID);
}

uint16_t fleet_day(const char *epoch)
{
	uint64_t day = layout_epoch_time_ns(epoch) / DAY_NS;

	return (uint16_t)(day < UINT16_MAX ? day : UINT16_MAX);
}
