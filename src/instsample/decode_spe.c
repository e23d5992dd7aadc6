/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "instsample/decode.h"

/*
 * A record is packets up to the one that ends it. A packet is a header of a byte, or of two of
 * which the first says so, and a payload of 1, 2, 4 or 8 bytes.
 */
enum header {
	HEADER_PADDING = 0,
	HEADER_END = 1,
	HEADER_TIME = 0x71,   /* ends a record too */
	HEADER_EVENTS = 0x42, /* these two: of any size */
	HEADER_SOURCE = 0x43,
	HEADER_OPERATION = 0x48, /* these have a number of 2 bits */
	HEADER_CONTEXT = 0x64,
	HEADER_COUNTER = 0x98, /* these one of 3, or, in the long form, of 5 */
	HEADER_ADDRESS = 0xb0,
	HEADER_LONG = 0x20,
};
enum address { ADDRESS_INSTRUCTION, ADDRESS_TARGET, ADDRESS_DATA, ADDRESS_PHYSICAL };
enum counter { COUNTER_TOTAL, COUNTER_ISSUE, COUNTER_TRANSLATION };
enum operation { OPERATION_OTHER, OPERATION_MEMORY, OPERATION_BRANCH };
enum event {
	EVENT_EXCEPTION,
	EVENT_RETIRED,
	EVENT_L1_ACCESS,
	EVENT_L1_REFILL,
	EVENT_TLB_ACCESS,
	EVENT_TLB_WALK,
	EVENT_NOT_TAKEN,
	EVENT_MISPREDICTED,
	EVENT_LAST_ACCESS, /* from here on only in payloads of 2 bytes and more */
	EVENT_LAST_MISS,
	EVENT_REMOTE,
	EVENT_MISALIGNED,
	EVENT_L2_ACCESS = 19, /* and these of 4 */
	EVENT_L2_MISS,
};

#define ADDRESS_BITS ((UINT64_C(1) << 56) - 1)
#define NO_COUNTER   UINT64_MAX

struct packet {
	uint8_t type; /* enum header */
	uint8_t number, size;
	uint64_t payload;
};

/* What the packets of a record say before its end tells what they mean together. */
struct pieces {
	bool is_bad, has_any, has_address, has_events, has_operation, has_data, has_context;
	bool is_kernel, had_physical;
	uint8_t operation, detail, events_size;
	uint32_t context;
	uint64_t address, data, events, time, counters[3];
};

struct spe_reader spe_reader_over(const void *data, size_t size, uint64_t offset)
{
	return (struct spe_reader){.at = cursor_over(data, size), .start = data, .offset = offset};
}

/* Bytes from the header of an alignment packet to what follows it. */
static size_t alignment_of(const struct spe_reader *r, const uint8_t *header)
{
	uint64_t at = r->offset + (uint64_t)(header - r->start), size = UINT64_C(2)
									<< (*header & 15);

	return (size_t)(size - at % size);
}

static bool take_payload(struct cursor *c, uint8_t header, struct packet *p)
{
	const uint8_t *at;

	p->size = (uint8_t)(1u << (header >> 4 & 3));
	at = cursor_bytes(c, p->size);
	p->payload = 0;
	for (unsigned i = 0; at && i < p->size; i++)
		p->payload |= (uint64_t)at[i] << 8 * i;
	return at;
}

/* Those whose header says little: the type of the header, or HEADER_PADDING: of none. */
static enum header type_of(uint8_t header, bool is_long)
{
	if ((header & 0xf8) == HEADER_ADDRESS || (header & 0xf8) == HEADER_COUNTER)
		return header & 0xf8;
	if (is_long)
		return HEADER_PADDING;
	if (header == HEADER_TIME)
		return HEADER_TIME;
	if ((header & 0xcf) == HEADER_EVENTS || (header & 0xcf) == HEADER_SOURCE)
		return header & 0xcf;
	if ((header & 0xfc) == HEADER_OPERATION || (header & 0xfc) == HEADER_CONTEXT)
		return header & 0xfc;
	return HEADER_PADDING;
}

/* The packet at a header that is neither padding nor an end. False: it is none. */
static bool take_packet(struct spe_reader *r, const uint8_t *header, struct packet *p)
{
	bool may_align = (*header & 0xf0) == HEADER_LONG, is_long = (*header & 0xfc) == HEADER_LONG;
	uint8_t own = may_align ? cursor_u8(&r->at) : *header;

	if (r->at.error || (may_align && own && !is_long))
		return false;
	p->type = (uint8_t)type_of(own, is_long);
	if (may_align && !own) {
		size_t size = alignment_of(r, header);

		size = size < 2 ? 0 : size - 2;
		cursor_bytes(&r->at, size < cursor_left(&r->at) ? size : cursor_left(&r->at));
		return true;
	}
	if (p->type == HEADER_PADDING)
		return false;
	p->number = p->type == HEADER_ADDRESS || p->type == HEADER_COUNTER ? own & 7 : own & 3;
	if (is_long)
		p->number |= (uint8_t)((*header & 3) << 3);
	return take_payload(&r->at, own, p);
}

static void take_address(const struct packet *p, struct pieces *s)
{
	uint64_t address = p->payload & ADDRESS_BITS;

	switch (p->number) {
	case ADDRESS_INSTRUCTION:
		/* Not secure, and of the kernel's or a hypervisor's level. */
		s->is_kernel = p->payload >> 63 && (p->payload >> 61 & 3) % 3;
		s->address = s->is_kernel ? address | ~ADDRESS_BITS : address;
		s->has_address = true;
		break;
	case ADDRESS_DATA:
		s->data = address;
		s->has_data = true;
		break;
	case ADDRESS_PHYSICAL:
		s->had_physical = true;
		break;
	default:
		break;
	}
}

static void take_piece(const struct packet *p, struct pieces *s)
{
	switch (p->type) {
	case HEADER_ADDRESS:
		take_address(p, s);
		break;
	case HEADER_COUNTER:
		if (p->number <= COUNTER_TRANSLATION)
			s->counters[p->number] = p->payload & 0xffff;
		break;
	case HEADER_EVENTS:
		s->events = p->payload;
		s->events_size = p->size;
		s->has_events = true;
		break;
	case HEADER_OPERATION:
		s->operation = p->number;
		s->detail = (uint8_t)p->payload;
		s->has_operation = true;
		break;
	case HEADER_CONTEXT:
		s->context = (uint32_t)p->payload;
		s->has_context = true;
		break;
	case HEADER_TIME:
		s->time = p->payload;
		break;
	default:
		break;
	}
}

static bool has_event(const struct pieces *s, enum event event)
{
	return s->events >> event & 1;
}

static void tell_memory(const struct pieces *s, struct inst_record *r)
{
	bool is_atomic = (s->detail & 0xe2) == 2;
	bool has_l1 = has_event(s, EVENT_L1_ACCESS), has_last = has_event(s, EVENT_LAST_ACCESS);

	inst_set_event(r, INST_LOAD, !(s->detail & 1));
	inst_set_event(r, INST_STORE, s->detail & 1);
	inst_set_event(r, INST_LOCKED, is_atomic && s->detail & 0xc);
	if (!s->has_events)
		return;
	if (has_l1) {
		inst_set_event(r, INST_DCACHE_MISS, has_event(s, EVENT_L1_REFILL));
		/* What the first cache had was not asked of the last one. */
		if (s->events_size > 1 && !has_last)
			inst_set_event(r, INST_L3_MISS, false);
	}
	if (has_last)
		inst_set_event(r, INST_L3_MISS, has_event(s, EVENT_LAST_MISS));
	if (has_event(s, EVENT_L2_ACCESS))
		inst_set_event(r, INST_L2_MISS, has_event(s, EVENT_L2_MISS));
	if (has_event(s, EVENT_TLB_ACCESS))
		inst_set_event(r, INST_DTLB_WALK, has_event(s, EVENT_TLB_WALK));
	if (s->events_size > 1) {
		inst_set_event(r, INST_REMOTE, has_event(s, EVENT_REMOTE));
		inst_set_event(r, INST_MISALIGNED, has_event(s, EVENT_MISALIGNED));
	}
}

static void tell_events(const struct pieces *s, struct inst_record *r)
{
	bool retired = has_event(s, EVENT_RETIRED), trapped = has_event(s, EVENT_EXCEPTION);

	inst_set_event(r, INST_RETIRED, retired);
	inst_set_event(r, INST_ABORTED, !retired);
	inst_set_event(r, INST_ABORT_TRAP, !retired && trapped);
	if (s->has_operation && s->operation == OPERATION_BRANCH) {
		inst_set_event(r, INST_TAKEN, !has_event(s, EVENT_NOT_TAKEN));
		inst_set_event(r, INST_MISPREDICTED, has_event(s, EVENT_MISPREDICTED));
	}
}

static void tell_latencies(const struct pieces *s, struct inst_record *r)
{
	uint64_t total = s->counters[COUNTER_TOTAL], issue = s->counters[COUNTER_ISSUE];

	if (total != NO_COUNTER)
		inst_set(r, INST_CYCLES_DISPATCH_DONE, total);
	if (issue != NO_COUNTER)
		inst_set(r, INST_CYCLES_DISPATCH_ISSUE, issue);
	if (total != NO_COUNTER && issue != NO_COUNTER && total >= issue && inst_has(r, INST_LOAD))
		inst_set(r, INST_CYCLES_LOAD_DATA, total - issue);
	if (s->counters[COUNTER_TRANSLATION] != NO_COUNTER && s->operation == OPERATION_MEMORY)
		inst_set(r, INST_CYCLES_DTLB, s->counters[COUNTER_TRANSLATION]);
}

/* A record that has ended. False: it is not one of an instruction. */
static bool tell(const struct pieces *s, struct spe_record *ret)
{
	if (s->is_bad || !s->has_address)
		return false;
	*ret = (struct spe_record){
		.address = s->address,
		.data = s->data,
		.time = s->time,
		.context = s->context,
		.is_kernel = s->is_kernel,
		.has_context = s->has_context,
		.has_data = s->has_data,
		.had_physical = s->had_physical,
	};
	inst_begin(&ret->inst, INST_SPE);
	if (s->has_events)
		tell_events(s, &ret->inst);
	if (s->has_operation) {
		inst_set_event(&ret->inst, INST_BRANCH, s->operation == OPERATION_BRANCH);
		if (s->operation == OPERATION_MEMORY) {
			tell_memory(s, &ret->inst);
		} else {
			inst_set_event(&ret->inst, INST_LOAD, false);
			inst_set_event(&ret->inst, INST_STORE, false);
		}
	}
	tell_latencies(s, &ret->inst);
	return true;
}

/* Packets up to the end of a record; false: the data ended first. */
static bool take_pieces(struct spe_reader *r, struct pieces *s)
{
	while (cursor_left(&r->at)) {
		const uint8_t *header = cursor_bytes(&r->at, 1);
		struct cursor after = r->at;
		struct packet p;

		if (*header == HEADER_PADDING)
			continue;
		if (*header == HEADER_END)
			return true;
		if (!take_packet(r, header, &p)) {
			/* It may be a later byte that begins a packet. */
			r->at = after;
			r->bad_bytes++;
			s->is_bad = s->has_any = true;
			continue;
		}
		s->has_any |= p.type != HEADER_PADDING;
		take_piece(&p, s);
		if (p.type == HEADER_TIME)
			return true;
	}
	return false;
}

bool spe_next(struct spe_reader *reader, struct spe_record *ret)
{
	for (;;) {
		struct pieces s = {.counters = {NO_COUNTER, NO_COUNTER, NO_COUNTER}};
		bool ended = take_pieces(reader, &s);

		if (ended && tell(&s, ret))
			return true;
		reader->records_lost += s.has_any;
		if (!ended)
			return false;
	}
}
