/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "instsample/record.h"

#include "util/hash.h"

#define COUNT(list)	(sizeof(list) / sizeof(*(list)))
#define PAGE_BITS	12
#define LINE_BITS	6
#define LINES		(1u << (PAGE_BITS - LINE_BITS))
#define PAGE_CLASS_BITS 16

_Static_assert(INST_PAGE_CLASSES == 1u << PAGE_CLASS_BITS, "as many as there are hashes");
_Static_assert(INST_CYCLES_END <= INST_PAGE && INST_FIELD_COUNT <= INST_PAIR_HALF,
	       "fields have room to grow");

static const char *const sources[] = {
	[INST_IBS_OP] = "ibs_op", [INST_IBS_FETCH] = "ibs_fetch", [INST_PRECISE] = "precise",
	[INST_SPE] = "spe",	  [INST_MODEL] = "model",
};

static const struct {
	const char *name, *help;
} events[] =
	{
#define INST_EVENT(field, name, help) {name, help},
		INST_EVENT_LIST(INST_EVENT)
#undef INST_EVENT
},
  latencies[] = {
#define INST_LATENCY(field, name, help) {name, help},
	  INST_LATENCY_LIST(INST_LATENCY)
#undef INST_LATENCY
};

void inst_begin(struct inst_record *r, enum inst_source source)
{
	*r = (struct inst_record){.source = (uint8_t)source, .fields = 1u << INST_EVENTS};
}

void inst_set_address(struct inst_record *r, uint64_t key, uint64_t address)
{
	inst_set(r, INST_PAGE, hash_u64(key ^ address >> PAGE_BITS) >> (64 - PAGE_CLASS_BITS));
	inst_set(r, INST_LINE, address >> LINE_BITS & (LINES - 1));
}

const char *inst_source_name(uint32_t source)
{
	return source < COUNT(sources) ? sources[source] : NULL;
}

const char *inst_event_name(unsigned event)
{
	return event < COUNT(events) ? events[event].name : NULL;
}

const char *inst_event_help(unsigned event)
{
	return event < COUNT(events) ? events[event].help : NULL;
}

static unsigned latency_index(unsigned field)
{
	return field - INST_LATENCY_FIRST; /* of smaller fields: a number that is too large */
}

const char *inst_latency_name(unsigned field)
{
	unsigned i = latency_index(field);

	return i < COUNT(latencies) ? latencies[i].name : NULL;
}

const char *inst_latency_help(unsigned field)
{
	unsigned i = latency_index(field);

	return i < COUNT(latencies) ? latencies[i].help : NULL;
}
