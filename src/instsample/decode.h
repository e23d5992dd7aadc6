/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_INSTSAMPLE_DECODE_H
#define CULPRIT_INSTSAMPLE_DECODE_H

#include "instsample/ibs.h"
#include "instsample/record.h"
#include "util/buf.h"

/*
 * Instruction samples from what processors and kernels write. All facts are from public documents:
 * AMD's Processor Programming References, linux/perf_event.h and the kernel's comments on it,
 * Intel's Software Developer's Manual (volume 3, processor event based sampling), and the Arm
 * Architecture Reference Manual (DDI 0487, "Statistical Profiling Extension Sample Record
 * Specification").
 */

/* Of registers that ibs_take() took, with an address of data in linear where *ret_linear. */
void inst_from_ibs(const struct ibs_record *ibs, struct inst_record *ret, uint64_t *ret_linear);

/* What the kernel says of a precise sample: see PERF_SAMPLE_DATA_SRC, ..._WEIGHT(_STRUCT). */
struct inst_memory {
	bool has_source, has_weight;
	bool has_stages;      /* weight is a struct of Intel's, with two more latencies */
	uint64_t data_source; /* union perf_mem_data_src */
	uint64_t weight;      /* union perf_sample_weight */
};
void inst_from_memory(const struct inst_memory *m, enum inst_source source,
		      struct inst_record *ret);

/* A record of Arm's SPE. */
struct spe_record {
	struct inst_record inst;
	uint64_t address; /* of the instruction */
	uint64_t data;	  /* of its data, if has_data */
	uint64_t time;	  /* of the processor's counter; 0: not told */
	uint32_t context; /* the thread, if has_context */
	bool is_kernel, has_context, has_data, had_physical;
};

struct spe_reader {
	struct cursor at;
	const uint8_t *start;
	uint64_t offset;    /* of start, in the processor's buffer, to which packets are aligned */
	uint64_t bad_bytes; /* that begin no packet that is known */
	uint64_t records_lost; /* that had such a byte in them, or no instruction, or no end */
};

/* Reads size bytes, the first of which was at that offset of the buffer. */
struct spe_reader spe_reader_over(const void *data, size_t size, uint64_t offset);
/* The next whole record; false at the end. */
bool spe_next(struct spe_reader *reader, struct spe_record *ret);

#endif
