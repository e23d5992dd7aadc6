/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_INSTSAMPLE_IBS_H
#define CULPRIT_INSTSAMPLE_IBS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * AMD's instruction based sampling as Linux hands it out: PERF_SAMPLE_RAW is 32 bits of
 * capabilities (CPUID Fn8000_001B EAX, bit 0 set) and then the registers (MSRs) of one sample, 64
 * bits each. What they mean is in AMD's Processor Programming References (55898 for family 19h) and
 * in the kernel's arch/x86/include/asm/amd/ibs.h, whose names are used here. The numbers of
 * registers are those of the database's records (struct db_raw of db/batch.h).
 */
enum ibs_kind { IBS_OP = 1, IBS_FETCH };

#define IBS_VALUES_MAX 8

/* What the processor can do, and some registers of a sample. */
struct ibs_form {
	uint32_t kind, caps;
	uint32_t mask; /* registers present, by number: at most IBS_VALUES_MAX */
};

enum ibs_op {
	IBS_OP_CTL,
	IBS_OP_RIP, /* never stored: it is the sampled place */
	IBS_OP_DATA,
	IBS_OP_DATA2,
	IBS_OP_DATA3,
	IBS_OP_LINEAR,	 /* of the data; 0 where there is none */
	IBS_OP_PHYSICAL, /* never stored: see doc/security.md */
	IBS_OP_TARGET,	 /* stored as a place */
	IBS_OP_DATA4,
};

enum ibs_fetch {
	IBS_FETCH_CTL,
	IBS_FETCH_LINEAR,   /* never stored: it is the sampled place */
	IBS_FETCH_PHYSICAL, /* never stored */
	IBS_FETCH_EXTENDED,
};

struct ibs_record {
	struct ibs_form form;
	uint64_t values[IBS_VALUES_MAX]; /* of the registers in mask, by ascending number */
	uint64_t target;		 /* of a branch that retired; 0: there is none */
	uint64_t place; /* what the record itself says was sampled; 0: it does not know */
	bool had_physical;
};

/* -EBADMSG: raw data of that kind has neither this size nor, with these capabilities, these
 * registers. */
int ibs_take(enum ibs_kind kind, const void *raw, size_t size, struct ibs_record *ret);

/* Names; NULL: that number is not known. */
const char *ibs_kind_name(uint32_t kind);
const char *ibs_register_name(uint32_t kind, unsigned number);

/* A part of a register. */
struct ibs_field {
	uint8_t number, low, bits;
	uint32_t caps; /* needed for it to mean this */
	const char *name;
};
/* All of a kind; none if it is not known. */
const struct ibs_field *ibs_fields(uint32_t kind, size_t *ret_count);
/* The value of a field. False: the record does not have it. */
bool ibs_field_get(const struct ibs_field *field, const struct ibs_form *form,
		   const uint64_t *values, uint64_t *ret);

#endif
