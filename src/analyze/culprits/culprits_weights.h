/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_ANALYZE_CULPRITS_CULPRITS_WEIGHTS_H
#define CULPRIT_ANALYZE_CULPRITS_CULPRITS_WEIGHTS_H

/*
 * All figures that the rules of culprits judge by. A weight is relative: 1 is what such an
 * instruction usually waits for. A share is one of executions, unless another is named.
 *
 * Where a figure comes from:
 *
 *   [guess]  Nobody measured it; it is held by the known answers of tests/accuracy/known and by
 *            tests/unit/test_culprits.c alone.
 *   [known]  A guess too, of "Name culprits right where executions are hardly known", just after
 *            tests/accuracy/known was scored for the first time.
 *   [misses] Compared with other values, by simulated misses of 24 programs (doc/analysis.md,
 *            "Blamed cycles and simulated misses").
 *   [judge]  Chosen by loops of tests/accuracy/ablate.py, the seeds of `choose`.
 *   [size]   Follows from the size of something.
 *   [6.3]    The rule, not the figure, is of Anderson et al., SOSP 1997, section 6.3.
 */

/* ---- Bounds: how many times what the tables of a core have (culprit_limits_of) ---- */
#define BUSY_MEMORY	     4.0 /* of an idle machine's latency of memory [guess] */
#define WALK_LOADS	     4.0 /* latencies of L3, of a page walk: nested ones take many [guess] */
#define MISPREDICT_REFILLS   2.0  /* penalties: to refill, and to find out [guess] */
#define FORWARD_BLOCKED	     3.0  /* of: a hit of L1 and what follows [guess] */
#define FORWARD_BLOCKED_MORE 12	  /* cycles [guess] */
#define ASSIST_CYCLES	     300  /* of microcode that helps with a number or a mask [guess] */
#define CODE_CACHE_LINES     512  /* 32 KB, as most cores in the tables have it [size] */
#define CODE_TLB_PAGES	     64	  /* the smaller ones of such cores [guess] */
#define DTLB_SECOND_CYCLES   8	  /* when only the second level has a translation [guess] */
#define LINE_BYTES	     64	  /* [size] */
#define PAGE_BYTES	     4096 /* the smallest: larger ones only reach farther [size] */

/* Times what sampling counted of an event: there may have been more, by chance [guess]. */
#define EVENT_SLACK 1.5

/* ---- A block as a whole (culprits.c) ---- */
/* Share of a block's best case that instructions which cannot stall must have to give its scale
 * [known]. */
#define INNOCENT_SHARE 0.25
/* Parts of a block by which its samples are judged even: in more parts, a few never are [guess]. */
#define EVEN_BINS 32
/* Instructions of a block that can be even at all [known]. */
#define EVEN_LEAST 4
/* How often a loop ran, by where its samples are (culprits_scale.c). The part of its best case that
 * instructions which cannot stall must have [judge]; or the part of the samples that lies as the
 * model puts it, and what such loops take of their best case in the median [judge]; how many times
 * the best case can be said at most [guess]. */
#define SHAPE_INNOCENT 0.35
#define SHAPE_LIKE     0.75
#define SHAPE_USUAL    1.5
/* Times a loop's operations that the cache of decoded ones must have room for: constants take more
 * of it, and a line of code only so much [judge] */
#define DECODED_SPARE 4
/* The same two where the core was measured and the model fits it [judge] */
#define SHAPE_LIKE_MEASURED  0.65
#define SHAPE_USUAL_MEASURED 1.05
#define SHAPE_STORES                                                                             \
	0.3 /* share of the samples at stores that may fill their buffer, behind which latencies \
	       hide [guess] */
#define SHAPE_SEEN                                                                      \
	0.03 /* share of the samples at what cannot stall, below which it tells nothing \
		[guess] */
#define SHAPE_FRESH                                                                                \
	0.3 /* share of the samples that wait for what callers and callees did, from which it does \
	       not [guess] */
#define SHAPE_MISSES \
	0.3 /* share of the samples at loads that may miss, from which it does not [guess] */
#define SHAPE_EVEN \
	0.9 /* share of the samples at what cannot stall, that may be decoders' [known] */
#define SHAPE_MOST 30
/* Share of the samples that lie as an even spread puts them from which evenness counts [known]. */
#define EVEN_FROM 0.5
/* From there to all even: more than this and all of the stall may be throughput [guess]. */
#define EVEN_WHOLE 0.5
/* Else so many cycles per execution: the most that front end or ports make of one [known]. */
#define EVEN_CYCLES 4
/* Weights of ports and front end, of the one that is used more and of the other [known]. */
#define EVEN_PORTS	     1
#define EVEN_PORTS_OTHER     0.05
#define EVEN_FRONT_END	     1
#define EVEN_FRONT_END_OTHER 0.2
/* Static: samples so even, and so unlike the model's latencies, are put down to ports [known]. */
#define PORTS_EVENNESS 0.75
#define PORTS_LIKENESS 0.6
/* Ports that an operation may choose from and still need one of them [known]. */
#define PORT_CHOICES 4
/* A miss is named before the load's own latency from this share of it on, when executions are
 * hardly known [known] [6.3]. */
#define MISS_FIRST 0.25

/* ---- Data (culprits_data.c) ---- */
/*
 * How an access moves: share of executions that come to a new line, a new page; weight of dcache,
 * of dtlb. All [guess]; that a place which stays the same misses seldom, and a stride as often as
 * it comes to a new line, is [6.3]. A page has 64 lines: hence the quarter.
 */
#define REACH_STACK   0.05, 0.01, 0.02, 0.005
#define REACH_FIXED   0.3, 0.05, 0.1, 0.02 /* or just written; also: its lines fit by far */
#define REACH_UNKNOWN 1, 1, 1, 0.25
/* A stride has the shares of its bytes [size]; its weights, from WIDE of a page on and below: */
#define STRIDE_WIDE	 2 /* strides to a page */
#define STRIDE_WIDE_LINE 0.6
#define STRIDE_WIDE_PAGE 1
#define STRIDE_LINE	 1
#define STRIDE_PAGE	 0.25 /* times the share of new pages */
/* Ways of a jump whose table fills no more than an eighth of the first cache, at 8 bytes each
 * [size] */
#define JUMP_TABLE_MOST 512
/* One load is granted half of a cache or of translations: what fits into that stays [guess]. */
#define ROOM_TO_SPARE 2
/* Times the latency of a cache that a miss may take and still have been served there [guess]. */
#define LEVEL_SLACK 1.6
/* Weights beside that of the load that stalls [guess]. */
#define FORWARD_WEIGHT	 3   /* times it: such a store is hardly ever harmless */
#define PRODUCER_WEIGHT	 0.5 /* of the load that an operand comes from */
#define STORE_AFTER_LOAD 0.2 /* times: store buffer, of an instruction that loads its line too */
#define STORE_ALONE	 1

/* ---- Code (culprits_code.c) ---- */
#define ROUND_BLOCKS_MAX  64 /* of a loop that is taken to stay in the caches [guess] */
#define ROUND_CACHE_SHARE 4  /* and it must fill no more than one of so many parts [guess] */
#define GONE_LEAST	  1e-4 /* share: a line that runs all the time may be thrown out too [guess] */
#define FETCH_DOUBT	  3    /* times its expected cost that a fetch may be charged [misses] */
#define FETCH_FIRST	  10   /* weight, beside others whose cost nothing tells [misses] */
#define COLD_SHARE	  0.02 /* of misses, for code that fits: others ran too [guess] */
#define COLD_WEIGHT	  0.02 /* at least, of such code [guess] */
#define OTHERS_CYCLES	  1e6  /* after which others may have run, again and again [guess] */
#define ITLB_FIRST	  20   /* where pages are over-filled more: twice FETCH_FIRST [guess] */
#define ITLB_WEIGHT	  0.25 /* else [guess] */
/* Weight of code by how it was reached [guess] [6.3]. */
#define CODE_STRAIGHT	0.2
#define CODE_JUMPED_TO	1
#define CODE_AFTER_CALL 0.5
#define CODE_FROM_AFAR	1
/* Ways into a block: less than this share of its executions is none; when those that are known have
 * this share, callers are none [guess]. */
#define WAY_LEAST  0.01
#define WAYS_KNOWN 0.9
/* A conditional branch that goes its less frequent way in less than this share of its executions,
 * and its weights there, between, above [guess]. */
#define BRANCH_RARE	     0.01
#define BRANCH_SELDOM	     0.05
#define BRANCH_RARE_WEIGHT   0.05
#define BRANCH_SELDOM_WEIGHT 0.5
#define BRANCH_WEIGHT	     2
/* A branch of whose ways nothing is known: the share that may be wrong, and its weight; for a
 * loop's, which goes on more often than not, and for others [guess]. */
#define BRANCH_LOOP_WRONG   0.1
#define BRANCH_LOOP_WEIGHT  0.1
#define BRANCH_OTHER_WRONG  0.4
#define BRANCH_OTHER_WEIGHT 1
/* Instructions behind a branch that show how long it took to be resolved, as that is part of what a
 * misprediction costs (Eyerman, Smith and Eeckhout, ISPASS 2006), and their part of its weight
 * [guess]. */
#define AFTER_REFILL  24
#define REFILL_WEIGHT 0.5
/* Weight up to which a branch is taken to be predicted, where what cannot stall is looked for
 * [guess]. */
#define BRANCH_TRUSTED	     0.1
#define BRANCH_TO_ANYWHERE   1	  /* weight of an indirect jump or call [guess] */
#define BRANCH_RETURN_WEIGHT 0.1  /* returns are predicted well [guess] */
#define CALL_RETURN_WEIGHT   0.01 /* behind a call: where fetch and decode cannot be all [guess] */
/* What the instruction before a jump waited for, and the compare that it is fused with [guess]. */
#define BEFORE_WEIGHT 0.5
#define FUSED_WEIGHT  1
/* Fetch and decode, behind any jump: cycles, and weight [guess]. */
#define REDIRECT_CYCLES 3
#define REDIRECT_WEIGHT 0.1

/* ---- Rare instructions (culprits_rare.c) ---- */
#define BARRIER_MEMORY	  4    /* latencies of memory that a lock or fence may wait for [guess] */
#define AFTER_BARRIER	  3    /* instructions behind one, which it may still hold up [guess] */
#define UNMASK_WEIGHT	  100  /* all but certain: the clock's interrupt waited for it [guess] */
#define LOCK_WEIGHT	  4    /* [guess] */
#define SYSCALL_WEIGHT	  20   /* all but certain [guess] */
#define FENCE_WEIGHT	  6    /* [guess] */
#define LOCK_AFTER_WEIGHT 0.3  /* of one before: later loads may overlap it [guess] */
#define SYSCALL_AFTER	  1    /* weight of one before [guess] */
#define FENCE_AFTER	  1    /* [guess] */
#define DIVIDER_MOST	  4    /* times the model's latency, which is the least [guess] */
#define DIVIDER_LEAST	  20   /* cycles, taken for that latency at least [guess] */
#define DIVIDER_WEIGHT	  2    /* [guess] */
#define ASSIST_MASKED	  0.5  /* weight of assists, of masked accesses [known] */
#define ASSIST_FLOAT	  0.2  /* of arithmetic: most numbers are not denormal [guess] */
#define ASSIST_REPEAT	  4    /* of rep: it always has to be set up [guess] */
#define ASSIST_MICROCODE  2    /* of what is microcode as a whole [guess] */
#define REPEAT_CYCLES	  80   /* that rep takes before it is under way [guess] */
#define FAULT_CYCLES	  4000 /* of a page fault, sampled outside of the kernel [guess] */
#define FAULT_WEIGHT	  3    /* where the event was seen [guess] */
#define LATENCY_TWICE	  2    /* latencies of the producer: it may have waited too [guess] */
#define LATENCY_WEIGHT	  0.1  /* it needs a refill just before [guess] */

/* ---- Where values come from (culprits_flow.c) ---- */
#define LOOK_BACK	  96  /* instructions, of a walk backwards [guess] */
#define MOTION_BLOCKS_MAX 512 /* of a loop that is searched for what moves an address [guess] */

#endif
