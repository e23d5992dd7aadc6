/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_ANALYZE_INSIGHT_H
#define CULPRIT_ANALYZE_INSIGHT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "analyze/culprits/culprits.h"
#include "analyze/frequency/frequency.h"
#include "analyze/query/query.h"
#include "db/reader.h"
#include "find/find.h"
#include "machine/cost.h"
#include "util/diag.h"

/*
 * All that is known of functions at the level of their instructions: how often they ran, what they
 * cost, and what is to blame. What calc, stalls, summary and list print.
 *
 *	insights_new(&request, &all, diag);	frequencies of everything that the query selected
 *	insight_new(all, image, address, text, &one, diag);	one function; insight_free() it
 */
struct insights;

struct insights_request {
	const struct query *query; /* whole; its first event is the one that tells time */
	struct db_reader *reader;  /* for edges and facts */
	struct image_finder *finder;
	enum frequency_method method;
	/* Called again and again with how far it is; may be NULL. */
	void (*progress)(const char *format, ...) __attribute__((format(printf, 1, 2)));
};

/* Borrows query, reader and finder. -ENODATA: no event of the query tells time. */
int insights_new(const struct insights_request *q, struct insights **ret, struct diag *diag);
void insights_free(struct insights *all);

/* What the estimates rest on, for the header of reports. */
struct insights_basis {
	const char *core;	  /* "AMD Zen 5, costs from LLVM 19.1.7 (znver5)" */
	double clock_ghz;	  /* of the cycles */
	const char *clock_source; /* where it comes from */
	double cycles_per_sample, cycles_deviation; /* of its logarithm */
	double skid; /* share of samples that are shown one instruction late */
	bool skid_measured;
	uint64_t edges, windows; /* outcomes and windows of edge samples; 0: none */
	uint64_t records;	 /* of branches, by the processor */
	/* Executions that were counted; why they are not those of the samples, and tell ratios
	 * alone (NULL: they are); functions that have them: whole, ratios alone, or not fitting the
	 * code. */
	uint64_t counts;
	const char *counts_part;
	uint64_t functions_counted, functions_part, functions_misfit;
	uint64_t functions_bursts;	/* of functions_counted: in bursts, for the whole time */
	uint64_t samples_counted;	/* of functions counted whole */
	uint64_t loops, samples_looped; /* whose iterations pairs of samples tell, and theirs */
	bool classic;			/* frequencies are by DCPI's rule, whatever was asked for */
	struct frequency_estimate instructions; /* executed, of the selection */
	struct culprit_footprint footprint;
	uint64_t images_without_code; /* their functions have no rows */
	uint64_t samples_without_code;
	struct diag code_reason;   /* of the first of them */
	uint64_t samples_unplaced; /* where no function's graph has an instruction: in no row */
};
const struct insights_basis *insights_basis(const struct insights *all);
/* Whether frequencies rest on edges, whatever observed them, and not on samples alone. */
static inline bool insights_have_edges(const struct insights *all)
{
	const struct insights_basis *b = insights_basis(all);

	return b->edges + b->records + b->counts > 0;
}

/* What the model of the core was asked for so far, and what it lacks. */
void insights_count_forms(const struct insights *all, struct machine_counters *ret);

struct insight_instruction {
	uint64_t address;
	uint64_t shown; /* where samples of its stall are: mostly at the next instruction */
	uint8_t size;
	bool fused;	    /* runs as one with the instruction before: its cycles are there */
	uint32_t block;	    /* number in blocks */
	uint64_t samples;   /* of the time event, at this address */
	double charged;	    /* of the function's samples: those that it is responsible for */
	double best_cycles; /* that it keeps retirement waiting at best */
	double slots;	    /* of the core's width that it takes */
	struct frequency_estimate cpi; /* cycles that it keeps retirement waiting, per execution */
	struct culprit_list culprits;  /* the most likely first; cycles per execution */
	const char *text;	       /* NULL: was not asked for, or its code is not there */
};

struct insight_block {
	uint64_t start, end;
	uint32_t first_instruction, instruction_count;
	double charged;			  /* samples */
	double best_cycles;		  /* per execution */
	struct frequency_estimate cycles; /* per execution */
	struct frequency_estimate relative, count;
};

struct insight_edge {
	uint64_t from, to; /* the instruction that it leaves, the one that it enters */
	uint8_t kind;	   /* enum cfg_edge_kind */
	struct frequency_estimate count;
};

/* Where cycles went, in samples: [low, high] by cause; static and dynamic apart. */
struct insight_summary {
	double samples;
	struct {
		double low, high, likely;
	} fixed[CULPRIT_CAUSES], dynamic[CULPRIT_CAUSES];
	double execution; /* what the core's width makes of the instructions */
	double gain; /* the model's cycles that were not seen, counted as execution or stalls */
};
void insight_summary_add(struct insight_summary *to, const struct insight_summary *from);

struct insight {
	const struct query_image *image;
	const char *name;			  /* demangled; NULL: no symbol */
	uint64_t start, size;			  /* of the symbol, else of the graph */
	struct insight_instruction *instructions; /* by block */
	size_t instruction_count;
	struct insight_block *blocks;
	size_t block_count;
	struct insight_edge *edges;
	size_t edge_count;
	struct insight_summary summary;
	struct frequency_estimate entries; /* calls */
	uint64_t samples;		   /* of the time event, in the function */
	uint64_t samples_outside;	   /* of these: where its graph has no instruction */
	double best_cpi;
	struct frequency_estimate cpi; /* of all its instructions, by executions */
	bool counted;		       /* executions are counts, not estimates */
	bool complete;		       /* its graph has all its edges */
	const char *why;	       /* it is not complete; NULL: it is */
	const struct cfg_function *function;

	struct arena *memory; /* private */
};

/*
 * The function that has an address of an image of the query. -ENOENT: there is no code there that
 * can be read (why, in diag); -ESTALE: the image's file is another build than the profiled one.
 */
int insight_new(struct insights *all, const struct query_image *image, uint64_t address,
		struct insight **ret, struct diag *diag);
void insight_free(struct insight *i);

/* Writes the text of the instructions of one block: it is not worth the time where nobody prints
 * it. -ENOMEM. */
int insight_disassemble(struct insights *all, struct insight *i, size_t block,
			enum isa_syntax syntax);

/* The functions with samples, most samples first: owned by all. */
struct insights_function {
	const struct query_image *image;
	uint64_t start; /* of the symbol, else of the graph */
	const char *name;
	uint64_t samples;
	const struct cfg_function *function;
};
const struct insights_function *insights_functions(struct insights *all, size_t *ret_count);
/* How often the functions of one image ran, by address: owned by all. NULL and 0: none is known. */
const struct frequency_function *insights_frequencies(const struct insights *all,
						      const struct query_image *image,
						      size_t *ret_count);
/* Samples of the time event: all of the query's selection. */
uint64_t insights_samples(const struct insights *all);

#endif
