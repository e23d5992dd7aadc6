/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_INSTRUMENT_ATTACH_ATTACH_STATE_H
#define CULPRIT_INSTRUMENT_ATTACH_ATTACH_STATE_H

/* What the attach_*.c share. */

#include "instrument/attach/attach.h"
#include "instrument/attach/call.h"
#include "instrument/attach/implant.h"
#include "instrument/attach/target.h"
#include "instrument/attach/tracer.h"

#define ATTACH_TABLE_NONE UINT32_MAX
#define ATTACH_STIRS	  200 /* times that threads are let run on to get out of somewhere */
/* Of stacks, while threads are got out of or into somewhere: in all, and after which nobody is let
 * run on to be looked at again; and when the caller wants to end, of all that is left to be done.
 * A GiB takes about a second. */
#define ATTACH_LOOK_MAX_BYTES (4ULL << 30)
#define ATTACH_STIR_MAX_BYTES (1ULL << 30)
#define ATTACH_END_MAX_BYTES  (8ULL << 30)
#define ATTACH_FUNCTION_BYTES 32 /* that looking a function up in a record counts for */
/* Of one space: what lies there, and what its records take. Who forges more is left alone. */
#define ATTACH_IMPLANTS_MAX	1024
#define ATTACH_RECORD_MAX_BYTES (256ULL << 20)
/* Of all spaces: what their copies take, and which part of the machine's memory they may take. */
#define ATTACH_COPIES_MAX_BYTES (4ULL << 30)
#define ATTACH_COPIES_PART	4

/* Counters of threads: a file that the program has mapped, and we. */
struct tables {
	unsigned refs; /* of spaces: a fork shares them */
	uint64_t address, table_bytes;
	uint64_t inode; /* of the file, in memory */
	uint32_t count, slots;
	uint32_t
		used; /* slots that copies count in: memory that nobody wrote to is not looked at */
	uint8_t *map; /* ours; NULL: left by one who died, nobody reads them */
	bool *in_use; /* the first is for all that get none of their own */
	struct tables *next;
};

/* An address space, of one process or of some that share it. */
struct attach_space {
	unsigned refs;	 /* of threads */
	uint64_t family; /* one for all that were forked off one that had counters */
	pid_t pid;	 /* of the first of them, for messages */
	int mem;	 /* /proc/PID/mem */
	struct implant **implants;
	size_t implant_count;
	uint64_t record_bytes; /* of them */
	struct tables *tables;
	/* Processes that do not have this memory, as they were seen last. */
	struct attach_stranger {
		pid_t pid;
		uint64_t inode;
	} * strangers;
	size_t stranger_count;
	unsigned waits_for_nothing; /* at gates, since it got copies */
	bool is_patched;	    /* its patches are in place, or may be */
	bool is_kept;		    /* could not be stopped when all was to be taken out */
	bool is_open;		    /* nobody waits at its gates any more */
	bool is_deep;		    /* its stacks took all that a look may take */
	struct attach_space *next;
};

struct attach {
	struct tracer tracer;
	const struct attach_ops *ops;
	uint64_t families; /* so many were there */
	struct attach_space *spaces;
	struct tables *tables;
	uint64_t *totals; /* of tables that are gone */
	uint32_t total_slots;
	struct attach_counters counters;
	uint64_t look_given, look_left, end_left; /* bytes; see look.c */
	bool is_ending;				  /* was so at the last look */
	struct diag unfollowed; /* why the last child that was not followed was not; "" */
};

/* space.c */
struct attach_space *attach_space_new(struct attach *a, pid_t pid); /* NULL: errno says why */
/* The space of a new process: that which it shares, or its own, with what it inherited, as its
 * mappings tell. NULL: errno says why. */
struct attach_space *attach_space_of_child(struct attach *a, pid_t pid);
void attach_space_unref(struct attach *a, struct attach_space *s);
/* The thread, which has none, lives there. */
void attach_space_join(struct attach_space *s, struct tracee *e);
/* The space of a process that is traced; NULL. */
struct attach_space *attach_space_find(const struct attach *a, pid_t pid);
/* A thread that lives in it, by which /proc tells of it: the first of its process may have ended,
 * and need not have the files of the others. 0: none. */
pid_t attach_space_tid(const struct attach *a, const struct attach_space *s);
/* Its mappings as they are, in the place of those that maps has. 0, or a negative errno. */
int attach_space_maps(const struct attach *a, const struct attach_space *s,
		      struct target_maps *maps);
/* Whether there is room for so much more beside the copies of all spaces. -ENOSPC, with the reason.
 */
int attach_copies_fit(const struct attach *a, uint64_t bytes, struct diag *diag);
/* -E2BIG: it has as many as one may have. */
int attach_space_add_implant(struct attach_space *s, struct implant *i);
/* What it has is the program's own from now on. */
void attach_space_forget(struct attach *a, struct attach_space *s);
/* Takes what a culprit that died has left there for the space's own. 0, -E2BIG: more than one
 * leaves; or a negative errno. */
int attach_space_load(struct attach *a, struct attach_space *s, const struct target_maps *maps);

/*
 * look.c: how much of stacks is looked at. Who has many deep ones, or has forged frames of signals
 * that lead from one to the next, would hold up everybody who is stopped with him, and at every
 * try. Begins one look, of all threads that a purpose needs and as often as it needs them.
 */
void attach_begin_look(struct attach *a);
/* Whether they may be let run on and looked at again. */
bool attach_may_stir(const struct attach *a, unsigned try);
bool attach_is_deep(const struct attach *a); /* not, because their stacks are too large */
/* Takes as much off as looking at so many bytes would. */
void attach_charge_look(struct attach *a, uint64_t bytes);
/* As target_frames_find. */
int attach_find_frames(struct attach *a, const struct attach_space *s,
		       const struct target_maps *maps, uint64_t stack,
		       struct target_frame frames[TARGET_FRAMES_MAX]);

/* gather.c: traces and stops whoever runs in a space and is not traced: threads that their maker
 * hid (CLONE_UNTRACED), processes that share its memory without being its threads. When all others
 * are stopped; then all are. -EBUSY: one cannot be traced. */
int attach_space_gather(struct attach *a, struct attach_space *s, struct diag *diag);

/* errand.c */
/* Lets threads run until one may be sent on errands; it may from then on, until they run again.
 * -EAGAIN. */
int attach_space_find_runner(struct attach *a, struct attach_space *s);
/* Sends one, while all stay stopped. -EAGAIN: nobody can be sent. */
int attach_space_call(struct attach *a, const struct attach_space *s,
		      const struct target_maps *maps, struct call_errand *errand);
/* A new unnamed file that is mapped in a space. */
struct attach_space_file {
	const char *name;
	uint64_t address; /* where, 0: anywhere; then where it is */
	uint64_t bytes;
	int protection;
	const uint8_t *content; /* NULL: zeros */
	uint8_t *map;		/* ours of it, the caller's to unmap; when there is no content */
	uint64_t inode;		/* is set */
};
int attach_space_map(struct attach *a, const struct attach_space *s, const struct target_maps *maps,
		     struct attach_space_file *file);
/* Has core dumps leave out what is mapped there, if it can be had: what was forked off, too. */
void attach_space_hide_from_dumps(struct attach *a, const struct attach_space *s,
				  const struct target_maps *maps, uint64_t address, uint64_t bytes);

/* tables.c */
int tables_make(struct attach *a, struct attach_space *s, const struct target_maps *maps,
		uint32_t slots, struct diag *diag);
/* What the copy counts in is read from now on. -EINVAL: it is not in the tables. */
int tables_use(struct tables *t, const struct instrument_code *c, struct diag *diag);
/* Gives the thread, which is stopped, a table of its space, and takes it back. */
void tables_give(struct attach *a, struct tracee *e);
void tables_take(struct attach *a, struct tracee *e);
struct tables *tables_ref(struct tables *t);
void tables_unref(struct attach *a, struct tables *t);

/* choose.c: what is put in of the copies that are asked for. */
struct attach_chosen {
	struct instrument_code *list; /* their patches are their own, all else is who asked's */
	size_t count;
};
/* Those whose patches can all be written; of their calls that lead into other copies, those into
 * one that is put in too. taken: of each of codes. 0, -ENOMEM. */
int attach_choose(const struct attach_space *s, const struct target_maps *maps,
		  const struct instrument_code *codes, size_t count, enum attach_taken *taken,
		  struct attach_chosen *ret);
void attach_chosen_free(struct attach_chosen *c);

/* patches.c */
/* Whether a patch may be written there: ATTACH_TAKEN, or why not. */
enum attach_taken attach_vet_mapping(const struct target_maps *maps, uint64_t address);
/* Whether the code is what the copies were made of; -ESTALE. */
int attach_patches_vet(const struct attach_space *s, const struct target_maps *maps,
		       const struct implant *i);
int attach_patches_write(const struct attach_space *s, const struct target_maps *maps,
			 const struct implant *i);
/* Puts back what those of all its copies replaced. */
void attach_patches_restore(struct attach *a, const struct attach_space *s,
			    const struct target_maps *maps);

/* remove.c */
int attach_space_remove(struct attach *a, struct attach_space *s, struct diag *diag);
/* Unmaps the last of its copies, of which no patch was written and which nobody has entered. What
 * cannot be unmapped stays, unused. */
void attach_space_drop_last(struct attach *a, struct attach_space *s);
int attach_spaces_remove(struct attach *a, struct diag *diag); /* of all, a family at a time */

/* refuse.c: why a process must be left alone, before it is touched and when it is stopped.
 */
int attach_refuse_thread(const struct tracee *e, const struct target_maps *maps, struct diag *diag);
int attach_refuse_traced(pid_t pid, int err, struct diag *diag);

#endif
