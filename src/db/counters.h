/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_DB_COUNTERS_H
#define CULPRIT_DB_COUNTERS_H

#include <stddef.h>
#include <stdint.h>

/*
 * Counters of everything beside samples: a list for each module, and in it a line for each counter:
 *
 *   X(field, status, stored, one, many, rest)
 *
 * field is a uint64_t in the module's struct, which is made from the list. status is its name in
 * the output of 'culprit ctl status', stored its name in the database (doc/FORMAT.md), to which
 * each flush adds the counter's increase; NULL: it is not shown or stored there. one, many and rest
 * may be left out: a report says "1 ONE REST" or "2 MANY REST" when the counter is not 0. Code that
 * shows counters walks the lists, so that a new counter needs only its line here and the place
 * where it is counted.
 */

/* collect/session.h */
#define COUNTERS_OF_SESSION(X)                                                                \
	X(budget_windows, "budget_windows", NULL)                                             \
	X(budget_over, "budget_windows_over", NULL) /* of these, beyond the budget */         \
	X(budget_waits, "budget_waits", NULL)	    /* of table makers, for their share */    \
	X(samples, "samples", NULL)                                                           \
	X(lost, "lost", NULL)                                                                 \
	X(unknown, "unknown", NULL)                                                           \
	X(rows, "rows", NULL)                                                                 \
	X(flushed, "flushes", NULL)                                                           \
	X(cpus_missed, "cpus_missed", NULL) /* came online later, not sampled */              \
	X(joined, NULL, NULL)		    /* children of processes in scope */              \
	X(left_out, NULL, "scope.left_out", "process was", "processes were",                  \
	  "left out: children of sampled processes, born before sampling began (--tree "      \
	  "samples them too)")                                                                \
	/* Blobs of images. */                                                                \
	X(trimmed, "kept_trimmed", "kept.trimmed", "time", "times",                           \
	  "symbols, code or lines of an image were removed from the database, of which they " \
	  "took more than half (--keep-size): they are found only while its file is there")

/* collect/events/sampler.h */
#define COUNTERS_OF_SAMPLER(X)                                                             \
	X(samples, NULL, NULL)                                                             \
	X(hits, "hits", NULL) /* in the in-kernel tables */                                \
	X(inserts, NULL, NULL)                                                             \
	X(evictions, "evictions", NULL)                                                    \
	X(lost_spill, NULL, "lost.spill") /* samples lost to a full spill */               \
	X(outside, NULL, "outside")	  /* interrupts in processes out of scope */       \
	X(scope_refused, NULL, "scope.refused", "process was", "processes were",           \
	  "not followed: too many at a time")                                              \
	X(notices_lost, NULL, "notices.lost", "move between cgroups was",                  \
	  "moves between cgroups were", "missed")                                          \
	X(ticks_lost, NULL, "lost.ticks") /* that interrupted another sample */            \
	X(names_refused, NULL, NULL)	  /* samples without their thread's name */        \
	X(missed_ns, NULL, NULL)	  /* of CPUs, as found by sampler_watch_cpus */    \
	X(missed_s, NULL, "cpus.missed_s", "second of CPUs that came online later was",    \
	  "seconds of CPUs that came online later were", "not sampled")                    \
	X(idle, NULL, NULL)    /* interrupts on idle CPUs, of samples and outside */       \
	X(redraws, NULL, NULL) /* new periods of a CPU, each an interrupt there */         \
	/* The scheduler's tick: samples, and its program's time, also at other timers. */ \
	X(ticks, "ticks", NULL)                                                            \
	X(tick_ns, NULL, NULL)                                                             \
	/* The programs that follow forks, ends and moves of processes, on all CPUs. */    \
	X(program_runs, NULL, NULL)                                                        \
	X(program_ns, NULL, NULL)

/* collect/events/sampler.h, of an event */
#define COUNTERS_OF_EVENT_TIMES(X)        \
	X(value, NULL, "units")           \
	X(enabled_ns, NULL, "enabled_ns") \
	X(running_ns, NULL, "running_ns")

/* collect/process/resolve.h, of an event */
#define COUNTERS_OF_EVENT(X)                                                   \
	X(samples, NULL, "samples")                                            \
	X(kernel, NULL, NULL) /* of these, at addresses in the kernel */       \
	X(unknown_process, NULL, "unknown.process")                            \
	X(unknown_mapping, NULL, "unknown.mapping")                            \
	X(unknown_kernel, NULL, "unknown.kernel")                              \
	X(by_name, NULL, NULL)		      /* as in COUNTERS_OF_RESOLVER */ \
	X(lost_memory, NULL, "lost.memory")   /* neither could take it: */     \
	X(lost_storage, NULL, "lost.storage") /* the only samples dropped there */

/* collect/process/resolve.h */
#define COUNTERS_OF_RESOLVER(X)                                                               \
	X(by_name, "samples_named_late", "named.late", "sample is", "samples are",            \
	  "charged to a file by its name alone, since it was not known in time "              \
	  "what it is")                                                                       \
	/* Lives of processes that are charged without their cgroup: see subject_of(). */     \
	X(cgroups_refused, NULL, "cgroups.refused", "process is", "processes are",            \
	  "charged without a cgroup, whose name is too long")                                 \
	/* Samples charged to their process without their thread's name: SUBJECT_THREADS_MAX, \
	 * and the sampler's names_refused. */                                                \
	X(threads_refused, NULL, "threads.refused", "sample has", "samples have",             \
	  "the process and not the thread's name: too many names")

/* collect/process/sideband.h */
#define COUNTERS_OF_SIDEBAND(X)                                                     \
	X(malformed, NULL, "records.malformed", "record of what a process did was", \
	  "records of what processes did were", "invalid")

/* collect/process/process.h */
#define COUNTERS_OF_PROCESSES(X)                                                            \
	X(processes, "processes", NULL)                                                     \
	X(lives, NULL, NULL)                                                                \
	X(processes_refused, "processes_refused", "processes.refused", "process was",       \
	  "processes were", "not known: too many at a time")                                \
	X(mappings_refused, "mappings_refused", "mappings.refused", "mapping of code was",  \
	  "mappings of code were", "not kept: too many")                                    \
	X(records_lost, "records_lost", "records.lost", "record of what a process did was", \
	  "records of what processes did were", "lost by the kernel")                       \
	X(records_left_out, "records_left_out", "records.cut", "mapping or name was",       \
	  "mappings and names were", "not followed, of processes that made too many a second")

/* collect/process/files.h */
#define COUNTERS_OF_FILES(X)                                                      \
	X(files, "files", NULL)                                                   \
	X(unreadable, "files_unreadable", NULL)                                   \
	X(hostile, NULL, NULL)                                                    \
	X(queued, "files_queued", NULL) /* waiting to be examined */              \
	X(crowded, "files_crowded", "files.crowded", "time", "times",             \
	  "a file had to wait to be looked at, because its user had too many of " \
	  "them")                                                                 \
	/* Files of processes that had ended, all of which share one turn. */     \
	X(ownerless, "files_ownerless", "files.ownerless")                        \
	X(refused, "files_refused", "files.refused", "mapping was of a file",     \
	  "mappings were of files", "not looked at: too many")                    \
	X(worker_ns, NULL, NULL) /* as in struct looks_counters */

/* image/kernel/kernel.h */
#define COUNTERS_OF_KERNEL(X)                                                              \
	X(regions, "kernel_regions", NULL)                                                 \
	/* Regions past the 65536th. */                                                    \
	X(regions_refused, "kernel_regions_refused", "kernel.refused",                     \
	  "module or program of the kernel was", "modules or programs of the kernel were", \
	  "not known: too many")                                                           \
	/* Lines of kallsyms and modules of another form, in the last scan. */             \
	X(lines_refused, "kernel_lines_refused", NULL)                                     \
	X(asked, "kernel_asked", NULL) /* addresses in the kernel itself */                \
	X(scans, "kernel_scans", NULL) /* of /proc/kallsyms */

/* collect/keep/keeper.h */
#define COUNTERS_OF_KEEPER(X)                                                        \
	X(kept, "symbols_kept", NULL) /* images, for later reports */                \
	X(failed, "symbols_failed", NULL)                                            \
	/* Of failed: those that could not be written to the database. */            \
	X(unwritten, "symbols_unwritten", "symbols.unwritten", "time", "times",      \
	  "symbols, code or lines of an image could not be written to the "          \
	  "database (was its disk full?): they are found only while its file is "    \
	  "there")                                                                   \
	/* The queue was full, or there were too many images. */                     \
	X(refused, "symbols_refused", "symbols.refused", "time", "times",            \
	  "the symbols of an image could not be kept: too many wait")                \
	/* And to no file that only root could write. */                             \
	X(disputed, "images_disputed", "images.disputed", "image", "images",         \
	  "may be of several users' files, which say to have one build ID: what "    \
	  "is shown of them is that of the first file")                              \
	X(claimed, "images_claimed", "images.claimed", "image", "images",            \
	  "of files that root alone could write may have samples of others' files, " \
	  "which say to have their build ID")

/* collect/keep/kept_cache.h: entries, of an image one, and one of its lines. */
#define COUNTERS_OF_KEPT_CACHE(X)                                                   \
	X(read, "cache_read", "cache.read")                                         \
	X(written, "cache_written", "cache.written")                                \
	X(damaged, "cache_damaged", "cache.damaged") /* files with other content */ \
	X(failed, "cache_failed", "cache.failed")    /* writes; none is tried after one */

/* find/find.h */
#define COUNTERS_OF_FINDER(X)                                                                  \
	X(symbols_kept, NULL, NULL) /* blobs written */                                        \
	X(code_kept, NULL, NULL)                                                               \
	X(lines_kept, NULL, NULL)                                                              \
	/* Reports do not have these symbols either. */                                        \
	X(symbols_refused, "symbols_too_many", "symbols.too_many", "image has", "images have", \
	  "more symbols than are kept")                                                        \
	/* Names of symbols that are kept. */                                                  \
	X(names_refused, "names_refused", "names.refused", "symbol is", "symbols are",         \
	  "kept without a name: their image has more names than are kept, or it is "           \
	  "too long")                                                                          \
	X(code_refused, "code_refused", "code.refused", "time", "times",                       \
	  "the code of functions could not be kept: their image has more than "                \
	  "is kept, or the disk is nearly full")                                               \
	X(lines_refused, "lines_refused", "lines.refused", "time", "times",                    \
	  "the lines of functions could not be kept: their image has more than "               \
	  "are kept, or the disk is nearly full")                                              \
	X(keep_failed, NULL, NULL) /* blobs that could not be written */                       \
	/* Blobs that could not be read, and were made again or left out. */                   \
	X(damaged, "kept_damaged", "kept.damaged", "time", "times",                            \
	  "what the database had kept of an image was damaged, and was read from its "         \
	  "file again if that was there")

/* instrument/attach/attach.h: the engine under a run that is counted. Counters without a name are
 * told as a miss, with its cause (COUNTERS_OF_MISSES). */
#define COUNTERS_OF_ATTACH(X)                                                                  \
	X(threads, NULL, "counting.threads") /* followed */                                    \
	X(processes, NULL, "counting.processes")                                               \
	X(threads_without_table, NULL, NULL) /* share the first table, and may miscount */     \
	X(forks_uncounted, NULL, NULL)	     /* could not be patched or followed */            \
	X(execs_uncounted, NULL, NULL)	     /* became a program that could not be followed */ \
	X(gave_up_waiting, NULL, NULL)	     /* see attach_waiting */                          \
	X(gates_left_open, NULL, NULL)	     /* see attach_let_on */                           \
	/* See attach_enter. */                                                                \
	X(entries_stale, NULL, "counting.entries_stale", "time", "times",                      \
	  "the copies of a file were left out of a burst: its code in memory had changed")     \
	X(patches_gone, NULL, "counting.patches_gone") /* found changed at their removal */    \
	X(cleaned, NULL, "counting.cleaned")	       /* left by culprits that died */

/* counting/report.h: a run counted in bursts. Times of processors, by the processes. */
#define COUNTERS_OF_BURSTS(X)                                                \
	X(count, NULL, "counting.bursts")                                    \
	X(failed, NULL, "counting.bursts.failed")                            \
	X(ran_ns, NULL, "counting.bursts.ran_ns")                            \
	X(counted_ns, NULL, "counting.bursts.counted_ns")                    \
	X(total_ns, NULL, "counting.bursts.total_ns")                        \
	X(stopped_ns, NULL, "counting.bursts.stopped_ns") /* time stopped */ \
	X(longest_ns, NULL, "counting.bursts.longest_ns") /* ... in one burst */

/* counting/report.h: a run whose executions were counted. */
#define COUNTERS_OF_COUNTING(X)                                                          \
	X(programs, NULL, "counting.programs")	 /* execs that were counted */           \
	X(images, NULL, "counting.images")	 /* files with counted functions */      \
	X(functions, NULL, "counting.functions") /* in these files */                    \
	X(counted, NULL, "counting.counted")	 /* of these */                          \
	X(inconsistent, NULL, "counting.inconsistent", "function has", "functions have", \
	  "counts that do not fit together")

/* counting/report.h: of runs whose paths were counted. */
#define COUNTERS_OF_PATHS(X)                                                                   \
	X(executions, NULL, "paths.executions") /* of all paths */                             \
	X(cut, NULL, "paths.cut", "function has", "functions have",                            \
	  "too many paths: some end at edges that were cut")                                   \
	X(unseen, NULL, "paths.unseen", "execution of a path is", "executions of paths are",   \
	  "in no path, as how it began was not seen")                                          \
	X(left, NULL, "paths.left", "execution of a path was", "executions of paths were",     \
	  "left between calls, and is in no path")                                             \
	X(longer, NULL, "paths.longer", "execution of a path has", "executions of paths have", \
	  "more blocks than can be stored, and are not")                                       \
	X(lost, NULL, "paths.lost", "call was", "calls were",                                  \
	  "too deep for the paths of their callers")

/* counting/report.h: code that ran uncounted, or whose counts may not be right, by cause. */
#define COUNTERS_OF_MISSES(X)                                                               \
	/* The file cannot be read or planned, and is counted nowhere. */                   \
	X(FILE, NULL, "counting.missed.files", "file was", "files were", "not counted")     \
	/* The counts could not be read at the end. */                                      \
	X(SUMS, NULL, "counting.missed.sums", "file lost", "files lost", "all counts")      \
	/* The file was not known there, or got no copies. */                               \
	X(MAPPED, NULL, "counting.missed.mapped", "time a file ran", "times a file ran",    \
	  "uncounted in a process")                                                         \
	/* From exec on. */                                                                 \
	X(PROGRAM, NULL, "counting.missed.programs", "program was", "programs were",        \
	  "not counted")                                                                    \
	/* The process could not be examined after it had mapped them. */                   \
	X(LIBRARIES, NULL, "counting.missed.libraries", "time a process ran",               \
	  "times a process ran", "libraries uncounted")                                     \
	/* The program did not wait while they got copies. */                               \
	X(GATE, NULL, "counting.missed.gates", "program may", "programs may",               \
	  "have run libraries before they were counted")                                    \
	X(FUNCTION, NULL, "counting.missed.functions", "function was", "functions were",    \
	  "counted in some processes only")                                                 \
	/* The process could not be followed or patched. */                                 \
	X(FORK, NULL, "counting.missed.forks", "forked process is", "forked processes are", \
	  "counted incorrectly")                                                            \
	X(TABLE, NULL, "counting.missed.tables", "thread", "threads",                       \
	  "shared counters with others")                                                    \
	/* Copies could not be taken out. */                                                \
	X(REMOVAL, NULL, "counting.missed.removals", "program could", "programs could",     \
	  "not be restored")

/* collect/edges/edges.h */
#define COUNTERS_OF_EDGES(X)                                                                    \
	X(windows, "windows", "windows.taken") /* of the interpreter */                         \
	X(outcomes, "window_outcomes", NULL)                                                    \
	X(instructions, NULL, "windows.instructions")                                           \
	X(spent_ns, NULL, "windows.ns")                                                         \
	X(stored, NULL, "windows.stored")                                                       \
	X(stored_outcomes, NULL, "windows.outcomes")                                            \
	X(empty, NULL, "windows.empty") /* nothing was executed in them */                      \
	X(pairs, NULL, "windows.pairs") /* of samples, interpreted */                           \
	X(pairs_stored, NULL, "windows.pairs.stored")                                           \
	X(pairs_left, NULL, "windows.pairs.left") /* not taken: enough for their code */        \
	X(unplaced, NULL, "windows.unplaced")	  /* as file_slots_unplaced */                  \
	X(kernel_samples, NULL, "windows.kernel_samples")                                       \
	X(decoded, NULL, "windows.strips.decoded")                                              \
	X(evicted, NULL, "windows.strips.evicted")                                              \
	X(unreadable, NULL, "windows.strips.unreadable")                                        \
	/* Without "windows.": what every report should tell. lost: the ring or the storage was \
	 * full. */                                                                             \
	X(lost, "windows_lost", "edges.lost", "window of branch outcomes was",                  \
	  "windows of branch outcomes were", "taken and lost")                                  \
	X(refused, NULL, "edges.refused", "window of branch outcomes was",                      \
	  "windows of branch outcomes were", "invalid")                                         \
	X(value_windows, NULL, "values.windows") /* of which values were stored */              \
	X(values, "values", "values.stored")                                                    \
	X(values_lost, NULL, "values.lost", "value was", "values were", "taken and lost")       \
	X(values_lost_windows, NULL, "values.lost.windows", "window was", "windows were",       \
	  "taken whose values were lost")                                                       \
	X(mean_ns, "window_ns", NULL)                                                           \
	X(period, "window_period", NULL) /* one per so many samples of user mode; 0: none */

/* collect/stacks/stacks.h */
#define COUNTERS_OF_STACKS(X)                                                           \
	X(stacks, "stacks", "stacks.taken")                                             \
	X(complete, "stacks_complete", NULL)                                            \
	X(frames, NULL, "stacks.frames")                                                \
	X(stored, NULL, "stacks.stored")                                                \
	/* Unwound in user space, because their tables came too late. */                \
	X(finished, "stacks_finished", "stacks.finished")                               \
	X(lost, "stacks_lost", "stacks.lost")                                           \
	X(spent_ns, NULL, "stacks.spent_ns") /* in the kernel */                        \
	X(mean_ns, "stack_ns", NULL)                                                    \
	X(period, "stack_period", NULL) /* one per so many samples; 0: none */          \
	X(python_frames, NULL, "stacks.python.frames")                                  \
	X(python_unnamed, NULL, "stacks.python.unnamed")                                \
	X(python_crowded, "python_crowded", "stacks.python.crowded", "frame", "frames", \
	  "of Python in stacks without a name: their user had too "                     \
	  "many new functions at a time")                                               \
	X(python_strangers, NULL, "stacks.python.strangers")                            \
	X(python_broken, NULL, "stacks.python.broken")                                  \
	/* As in struct python_codes_counters. */                                       \
	X(python_codes, "python_codes", NULL)                                           \
	X(python_refused, "python_codes_refused", "stacks.python.refused",              \
	  "function of Python was", "functions of Python were",                         \
	  "not known: senseless, or too many")                                          \
	X(python_unknown, NULL, "stacks.python.unknown")                                \
	X(python_without_lines, NULL, "stacks.python.without_lines")                    \
	/* As in struct stack_files_counters. */                                        \
	X(tables, "stack_tables", NULL)                                                 \
	X(table_bytes, "stack_table_bytes", NULL)                                       \
	X(memory_bytes, "stack_memory_bytes", NULL)                                     \
	X(evicted, "stack_tables_evicted", "stacks.tables.evicted")                     \
	X(without_table, NULL, "stacks.tables.without")                                 \
	X(derived_rows, "stack_rows_derived", "stacks.tables.derived_rows")             \
	X(skipped_bytes, NULL, "stacks.tables.skipped_bytes")                           \
	X(kept_tables, "stack_tables_kept", "stacks.tables.kept")                       \
	X(late_tables, "stack_tables_late", "stacks.tables.late")                       \
	X(refused_rows, "stack_rows_refused", "stacks.tables.refused_rows")             \
	X(cache_written, "stack_cache_written", "stacks.cache.written")                 \
	X(cache_damaged, "stack_cache_damaged", "stacks.cache.damaged")                 \
	X(cache_evicted, "stack_cache_evicted", "stacks.cache.evicted")                 \
	X(cache_failed, "stack_cache_failed", "stacks.cache.failed")

/* Of readers of a database: db/reader.h. */
#define COUNTERS_OF_READER(X)                                                                \
	X(edges, NULL, "edges.damaged", "pass of branches was", "passes of branches were",   \
	  "lost: their part of the database is damaged")                                     \
	X(stacks, NULL, "stacks.damaged", "sample of stacks was", "samples of stacks were",  \
	  "lost: their part of the database is damaged")                                     \
	X(raws, NULL, "raw.damaged", "raw record was", "raw records were",                   \
	  "lost: their part of the database is damaged")                                     \
	X(touches, NULL, "touches.damaged", "touch of memory was", "touches of memory were", \
	  "lost: their part of the database is damaged")                                     \
	X(instsamples, NULL, "instsamples.damaged", "instruction sample was",                \
	  "instruction samples were", "lost: their part of the database is damaged")         \
	X(paths, NULL, "paths.damaged", "path execution was", "path executions were",        \
	  "lost: their part of the database is damaged")                                     \
	X(values, NULL, "values.damaged", "value was", "values were",                        \
	  "lost: their part of the database is damaged")

#define COUNTER_LISTS(X)                        \
	X(session, COUNTERS_OF_SESSION)         \
	X(sampler, COUNTERS_OF_SAMPLER)         \
	X(event_times, COUNTERS_OF_EVENT_TIMES) \
	X(event, COUNTERS_OF_EVENT)             \
	X(resolver, COUNTERS_OF_RESOLVER)       \
	X(sideband, COUNTERS_OF_SIDEBAND)       \
	X(processes, COUNTERS_OF_PROCESSES)     \
	X(files, COUNTERS_OF_FILES)             \
	X(kernel, COUNTERS_OF_KERNEL)           \
	X(keeper, COUNTERS_OF_KEEPER)           \
	X(kept_cache, COUNTERS_OF_KEPT_CACHE)   \
	X(finder, COUNTERS_OF_FINDER)           \
	X(attach, COUNTERS_OF_ATTACH)           \
	X(bursts, COUNTERS_OF_BURSTS)           \
	X(counting, COUNTERS_OF_COUNTING)       \
	X(misses, COUNTERS_OF_MISSES)           \
	X(paths, COUNTERS_OF_PATHS)             \
	X(edges, COUNTERS_OF_EDGES)             \
	X(stacks, COUNTERS_OF_STACKS)           \
	X(reader, COUNTERS_OF_READER)

/* Makes the fields of a module's struct from its list. */
#define COUNTER_FIELD(field, ...) uint64_t field;

struct counter {
	const char *status, *stored;
	struct {
		const char *one, *many, *rest;
	} told; /* in reports; NULL: nothing */
};

struct counter_list {
	const struct counter *counters;
	size_t count;
};

/* Declares counters_of_session and so on. */
#define COUNTER_DECLARE(name, list) extern const struct counter_list counters_of_##name;
COUNTER_LISTS(COUNTER_DECLARE)

/* A function that gets counters one after the other, and its argument. */
struct counter_taker {
	void (*take)(void *arg, const struct counter *c, uint64_t value);
	void *arg;
};

/* Gives all counters of a list to a taker. values is the module's struct, which begins with the
 * list's fields. */
void counters_walk(const struct counter_list *list, const void *values,
		   const struct counter_taker *to);
/* Finds a counter by its name in the database; NULL when no list has it. */
const struct counter *counters_find(const char *stored);

#endif
