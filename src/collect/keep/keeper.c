/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "collect/keep/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "collect/keep/jit_files.h"
#include "collect/process/turns.h"
#include "collect/process/procfs.h"
#include "db/blob.h"
#include "find/find.h"
#include "image/script.h"
#include "image/worker/worker.h"
#include "util/array.h"
#include "util/clock.h"
#include "util/hash.h"
#include "util/thread.h"
#include "util/trusted.h"

/* Each may hold a descriptor. */
#define QUEUE_MAX      4096
#define QUEUE_USER_MAX 1024
#define IMAGES_MAX     65536
#define NOBODY	       ((uid_t)-1) /* whose a script is, or a file that is gone, is not known */
#define NICE	       5
#define FINISH_NS      20000000000ull
#define IDLE_NS	       10000000000ull /* then the helpers end: to start one takes some ms of CPU */
/* Of images whose functions may be wanted still, descriptors of files. */
#define HELD_FILES_MAX 256
#define PAUSE_TIMES    200 /* so that an image's functions take at most half a percent of the time */
#define JIT_MAX_BYTES  (64u << 20)

struct job {
	struct turn turn; /* of whose file it is: he decides what it costs */
	struct image_id id;
	char *path;	     /* an image's; NULL for code made at run time */
	int fd;		     /* of the file while it can be opened, -1 */
	int dump_fd;	     /* jitdump, -1 */
	uint32_t image;	     /* its number in asked */
	bool claimed;	     /* of a file that others could write */
	bool anew;	     /* what was known of the image was of such a one, this is not */
	uint64_t *addresses; /* functions of an image that are wanted; NULL: the image itself is */
	size_t address_count;
	struct keeper_script *scripts;
	size_t script_count;
};

/* Whose a file is that says which image it is. */
struct origin {
	uid_t owner;
	bool claimed; /* not only root and we could write it */
};

/* An image that was asked for. */
struct known_image {
	struct image_id id;
	uid_t user;
	struct origin origin;
	bool disputed;	  /* files of several users, none of them to be trusted, say to be it */
	bool claimed;	  /* such a file does beside one that is to be trusted */
	int held;	  /* 1 + a descriptor of its file, 0: none */
	bool settled;	  /* its functions add nothing to what is kept */
	uint64_t next_ns; /* CLOCK_MONOTONIC: its functions are not looked at before */
};

struct keeper {
	char *db_path, *machine;
	struct intern *asked;	    /* ids, so that each is asked for once */
	struct known_image *images; /* by their numbers in it */
	size_t image_count, image_room;
	unsigned held_files;
	struct jit_files jit_files;
	pthread_t thread;
	bool threaded, stop;
	struct tools *lent;	     /* by the thread, which waits for them, to who ends it */
	struct allowance *allowance; /* NULL: none is set */
	struct kept_cache *cache;    /* NULL: none */
	uint64_t end_ns;	     /* when it stops, whatever is queued still */
	pthread_mutex_t lock;
	pthread_cond_t more;
	struct turns *queue;
	uint64_t ready_ns; /* when the next of what is queued may begin, as far as was looked */
	struct keeper_counters counters;
	struct diag trouble;  /* of the last that could not be written */
	uint64_t asked_again; /* after so many of them */
	uint64_t forgotten;   /* times: what finders know of the database is not so any more */
	bool forget_due;      /* something was removed from the database since */
	uint64_t forget_next_ns;
};

static void free_job(struct job *job)
{
	if (job->fd >= 0)
		close(job->fd);
	if (job->dump_fd >= 0)
		close(job->dump_fd);
	keeper_free_scripts(job->scripts, job->script_count);
	free(job->addresses);
	free(job->path);
	free(job);
}

static void note_unwritten(struct keeper *k, const char *why)
{
	pthread_mutex_lock(&k->lock);
	k->counters.unwritten++;
	snprintf(k->trouble.text, sizeof(k->trouble.text), "%s", why);
	pthread_mutex_unlock(&k->lock);
}

static int keep_symbols(struct keeper *k, const struct image_id *id,
			const struct image_symbols *symbols)
{
	struct diag why = {""};
	struct buf bytes;

	buf_init(&bytes, JIT_MAX_BYTES);
	int r = image_symbols_save(symbols, &bytes);
	if (!r)
		r = db_blob_write(&(struct db_blobs){k->db_path, k->machine, &io_system}, id,
				  "symbols", bytes.data, bytes.size, &why);
	if (r && *why.text)
		note_unwritten(k, why.text);
	buf_free(&bytes);
	return r;
}

static int keep_jit(struct keeper *k, struct image_worker *worker, const struct job *job)
{
	struct image_symbols *symbols = NULL;
	int r = -ENOENT;

	if (job->dump_fd >= 0)
		r = image_worker_jit(worker, job->dump_fd, true, JIT_MAX_BYTES, &symbols, NULL);
	if (r && job->fd >= 0)
		r = image_worker_jit(worker, job->fd, false, JIT_MAX_BYTES, &symbols, NULL);
	if (!r)
		r = keep_symbols(k, &job->id, symbols);
	image_symbols_free(symbols);
	return r;
}

/* Under the lock. NULL: all images were forgotten since, to be asked for again. */
static struct known_image *image_of(struct keeper *k, const struct job *job)
{
	struct known_image *known = &k->images[job->image];

	return job->image < k->image_count && !memcmp(&known->id, &job->id, sizeof(job->id)) ? known
											     : NULL;
}

static void drop_held(struct keeper *k, struct known_image *known)
{
	if (known->held)
		close(known->held - 1);
	k->held_files -= known->held != 0;
	known->held = 0;
}

/* Its functions will not be wanted: the file is needed no more. */
static void settle(struct keeper *k, const struct job *job)
{
	struct known_image *known;

	pthread_mutex_lock(&k->lock);
	known = image_of(k, job);
	if (known) {
		known->settled = true;
		drop_held(k, known);
	}
	pthread_mutex_unlock(&k->lock);
}

/* Whose functions took long to look at is left in peace for as long as keeps that cheap. */
static void postpone(struct keeper *k, const struct job *job, uint64_t took_ns)
{
	struct known_image *known;

	pthread_mutex_lock(&k->lock);
	known = image_of(k, job);
	if (known)
		known->next_ns = clock_monotonic_ns() + took_ns * PAUSE_TIMES;
	pthread_mutex_unlock(&k->lock);
}

static int keep_functions(struct keeper *k, struct image_finder *finder, const struct job *job,
			  const char *path)
{
	uint64_t start_ns = clock_monotonic_ns();
	int r = kept_cache_keep_functions(k->cache, finder, &job->id, path, job->addresses,
					  job->address_count);

	postpone(k, job, clock_monotonic_ns() - start_ns);
	return r;
}

#define ADD(field, ...) sum->field += after->field - before->field;

static void note_found(struct keeper *k, const struct image_finder_counts *before,
		       const struct image_finder_counts *after)
{
	struct image_finder_counts *sum = &k->counters.found;

	pthread_mutex_lock(&k->lock);
	COUNTERS_OF_FINDER(ADD)
	pthread_mutex_unlock(&k->lock);
}

/* A file that is to be trusted has come between. */
static bool is_overruled(struct keeper *k, const struct job *job)
{
	const struct known_image *known;
	bool is;

	pthread_mutex_lock(&k->lock);
	known = image_of(k, job);
	is = known && known->origin.claimed != job->claimed;
	pthread_mutex_unlock(&k->lock);
	return is;
}

static int keep_image(struct keeper *k, struct image_finder *finder, const struct job *job)
{
	struct image_finder_counts before = image_finder_counts(finder), after;
	const char *path = job->path;
	char held[64];

	if (is_overruled(k, job))
		return 0;
	if (job->anew)
		image_finder_forget(finder, &job->id);
	/* The descriptor holds a file that is deleted or renamed. */
	snprintf(held, sizeof(held), "/proc/self/fd/%d", job->fd);
	if (job->fd >= 0)
		path = held;
	int r = job->addresses ? keep_functions(k, finder, job, path)
			       : kept_cache_keep(k->cache, finder, &job->id, path);
	if (!image_finder_wants_functions(finder, &job->id, path))
		settle(k, job);
	after = image_finder_counts(finder);
	note_found(k, &before, &after);
	if (after.keep_failed > before.keep_failed)
		note_unwritten(k, image_finder_keep_why(finder));
	return r;
}

void keeper_free_scripts(struct keeper_script *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		image_symbols_free(list[i].symbols);
	free(list);
}

static int keep_script(struct keeper *k, const struct keeper_script *script)
{
	struct image_symbols *known = NULL, *all;
	void *data;
	size_t size;
	int r = db_blob_read(&(struct db_blobs){k->db_path, k->machine, &io_system}, &script->id,
			     "symbols", JIT_MAX_BYTES, &data, &size, NULL);

	if (!r) {
		image_symbols_load(data, size, &known, NULL);
		free(data);
	}
	if (!known)
		return keep_symbols(k, &script->id, script->symbols);
	r = image_script_merge(known, script->symbols, &all);
	image_symbols_free(known);
	if (!r) {
		r = keep_symbols(k, &script->id, all);
		image_symbols_free(all);
	}
	return r;
}

static int keep_scripts(struct keeper *k, const struct job *job)
{
	int r, first = 0;

	for (size_t i = 0; i < job->script_count; i++) {
		r = keep_script(k, &job->scripts[i]);
		first = first ? first : r;
	}
	return first;
}

/* Until a time of CLOCK_MONOTONIC (0: without end), or something changes. False: it is over. */
static bool wait_until(struct keeper *k, uint64_t end_ns)
{
	struct timespec end = {.tv_sec = (time_t)(end_ns / 1000000000u),
			       .tv_nsec = (long)(end_ns % 1000000000u)};

	return (end_ns ? pthread_cond_timedwait(&k->more, &k->lock, &end)
		       : pthread_cond_wait(&k->more, &k->lock)) != ETIMEDOUT;
}

/* Until there is a job, or no more will come. False: neither within the time (0: without end). */
static bool wait_for_job(struct keeper *k, uint64_t time_ns)
{
	uint64_t end_ns = time_ns ? clock_monotonic_ns() + time_ns : 0;
	bool late = false, has;

	pthread_mutex_lock(&k->lock);
	while (!turns_count(k->queue) && !k->stop && !late)
		late = !wait_until(k, end_ns);
	has = turns_count(k->queue) || k->stop;
	pthread_mutex_unlock(&k->lock);
	return has;
}

/* Not before what was done before for the same user is paid for. */
static bool may_begin(void *arg, const struct turn *turn)
{
	uint64_t now_ns = clock_monotonic_ns(), ready_ns;
	struct keeper *k = arg;

	if (k->stop)
		return true;
	ready_ns = allowance_ready_ns(k->allowance, turn->user, now_ns);
	if (ready_ns > now_ns && (!k->ready_ns || ready_ns < k->ready_ns))
		k->ready_ns = ready_ns;
	return ready_ns <= now_ns;
}

/* NULL: no more will come. */
static struct job *next_job(struct keeper *k)
{
	struct job *job = NULL;

	pthread_mutex_lock(&k->lock);
	while (turns_count(k->queue) && (!k->stop || clock_monotonic_ns() <= k->end_ns)) {
		k->ready_ns = 0;
		job = (struct job *)turns_take(k->queue, may_begin, k);
		if (job)
			break;
		wait_until(k, k->ready_ns);
	}
	pthread_mutex_unlock(&k->lock);
	return job;
}

static void do_job(struct keeper *k, struct image_finder *finder, struct image_worker *worker,
		   const struct job *job)
{
	int r;

	if (job->scripts)
		r = keep_scripts(k, job);
	else
		r = job->path ? keep_image(k, finder, job) : keep_jit(k, worker, job);
	pthread_mutex_lock(&k->lock);
	k->counters.kept += r == 0;
	k->counters.failed += r != 0;
	pthread_mutex_unlock(&k->lock);
}

static uint64_t read_forgotten(struct keeper *k)
{
	uint64_t forgotten;

	pthread_mutex_lock(&k->lock);
	forgotten = k->forgotten;
	pthread_mutex_unlock(&k->lock);
	return forgotten;
}

/* What jobs are done with. Each has a process of its own, and the finder knows what is kept. */
struct tools {
	struct image_finder *finder;
	struct image_worker *worker;
	uint64_t forgotten; /* of the keeper, when the finder was new */
};

/* Another finder, once what this one kept may be gone; without memory for it, later. */
static void renew_finder(struct keeper *k, struct tools *t)
{
	uint64_t now = read_forgotten(k);
	struct image_finder *other;

	if (t->forgotten == now || image_finder_new(k->db_path, k->machine, &other))
		return;
	image_finder_free(t->finder);
	t->finder = other;
	t->forgotten = now;
}

static uint64_t workers_ns(const struct tools *t)
{
	return image_finder_cpu_ns(t->finder) + image_worker_cpu_ns(t->worker);
}

static void do_jobs(struct keeper *k, struct tools *t)
{
	struct job *job;
	uid_t user;

	while (t->worker && t->finder) {
		uint64_t thread_ns, before_ns;

		/* Hours may pass until the next. */
		if (!wait_for_job(k, IDLE_NS)) {
			image_finder_idle(t->finder);
			image_worker_idle(t->worker);
			malloc_trim(0);
			wait_for_job(k, 0);
		}
		job = next_job(k);
		if (!job)
			break;
		renew_finder(k, t);
		thread_ns = allowance_thread_ns();
		before_ns = workers_ns(t);
		do_job(k, t->finder, t->worker, job);
		user = job->turn.user;
		free_job(job);
		allowance_spend(k->allowance, user, allowance_thread_ns() - thread_ns,
				workers_ns(t) - before_ns, clock_monotonic_ns());
	}
}

/* Until what was lent is given back: a worker's process ends with the thread that began it. */
static void lend(struct keeper *k, struct tools *t)
{
	pthread_mutex_lock(&k->lock);
	k->lent = t;
	pthread_cond_broadcast(&k->more);
	while (k->lent)
		pthread_cond_wait(&k->more, &k->lock);
	pthread_mutex_unlock(&k->lock);
}

static void *work(void *arg)
{
	struct keeper *k = arg;
	struct tools t = {.worker = image_worker_new(NULL), .forgotten = read_forgotten(k)};

	/* Of this thread only. Lower, and on a machine that is always busy it would get nowhere. */
	setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), NICE);
	if (image_finder_new(k->db_path, k->machine, &t.finder))
		t.finder = NULL;
	do_jobs(k, &t);
	lend(k, &t);
	image_finder_free(t.finder);
	image_worker_free(t.worker);
	return NULL;
}

static void forget_images(struct keeper *k)
{
	for (size_t i = 0; i < k->image_count; i++)
		drop_held(k, &k->images[i]);
	k->image_count = 0;
}

void keeper_set_allowance(struct keeper *k, struct allowance *a)
{
	k->allowance = a;
}

void keeper_set_cache(struct keeper *k, struct kept_cache *cache)
{
	k->cache = cache;
}

struct keeper *keeper_new(const char *db_path, const char *machine)
{
	struct keeper *k = calloc(1, sizeof(*k));

	if (!k)
		return NULL;
	pthread_mutex_init(&k->lock, NULL);
	thread_begin_condition(&k->more);
	k->db_path = strdup(db_path);
	k->machine = strdup(machine);
	k->asked = intern_new(IMAGES_MAX);
	k->queue = turns_new(QUEUE_USER_MAX, QUEUE_MAX);
	if (!k->db_path || !k->machine || !k->asked || !k->queue) {
		keeper_free(k);
		return NULL;
	}
	return k;
}

static int start_thread(struct keeper *k)
{
	int r = thread_start(&k->thread, work, k);

	k->threaded = r == 0;
	return r;
}

/* Before a file is opened for nothing: an image that is refused is asked for again. */
static bool is_full(struct keeper *k)
{
	bool full;

	pthread_mutex_lock(&k->lock);
	full = intern_count(k->asked) == IMAGES_MAX || turns_count(k->queue) >= QUEUE_MAX;
	k->counters.refused += full;
	pthread_mutex_unlock(&k->lock);
	return full;
}

/* Under the lock. False, and the job is the caller's: the queue is full, or its user's share is. */
static bool queue_job(struct keeper *k, struct job *job)
{
	if ((!k->threaded && start_thread(k)) || turns_add(k->queue, &job->turn)) {
		k->counters.refused++;
		return false;
	}
	pthread_cond_signal(&k->more);
	return true;
}

static bool queue_alone(struct keeper *k, struct job *job)
{
	bool queued;

	pthread_mutex_lock(&k->lock);
	queued = queue_job(k, job);
	pthread_mutex_unlock(&k->lock);
	return queued;
}

/* The jobs that are left are done by who waits for them, with his own priority, for so long. */
static void end_thread(struct keeper *k, uint64_t finish_ns)
{
	uint64_t end_ns = clock_monotonic_ns() + finish_ns;

	if (!k->threaded)
		return;
	pthread_mutex_lock(&k->lock);
	k->stop = true;
	k->end_ns = 0;
	pthread_cond_broadcast(&k->more);
	while (!k->lent)
		pthread_cond_wait(&k->more, &k->lock);
	k->end_ns = finish_ns ? end_ns : 0;
	pthread_mutex_unlock(&k->lock);
	do_jobs(k, k->lent);
	pthread_mutex_lock(&k->lock);
	k->lent = NULL;
	pthread_cond_broadcast(&k->more);
	pthread_mutex_unlock(&k->lock);
	pthread_join(k->thread, NULL);
	k->threaded = false;
	k->stop = false;
}

void keeper_finish(struct keeper *k)
{
	end_thread(k, FINISH_NS);
}

void keeper_free(struct keeper *k)
{
	if (!k)
		return;
	end_thread(k, 0);
	for (struct job *job; k->queue && (job = (struct job *)turns_take(k->queue, NULL, NULL));)
		free_job(job);
	turns_free(k->queue);
	intern_free(k->asked);
	forget_images(k);
	free(k->images);
	free(k->db_path);
	free(k->machine);
	kept_cache_free(k->cache);
	pthread_mutex_destroy(&k->lock);
	pthread_cond_destroy(&k->more);
	free(k);
}

static struct job *new_job(const struct image_id *id)
{
	struct job *job = calloc(1, sizeof(*job));

	if (job) {
		job->id = *id;
		job->fd = job->dump_fd = -1;
		job->turn.user = NOBODY;
	}
	return job;
}

static uid_t owner_of(int fd)
{
	struct stat st;

	return fd >= 0 && !fstat(fd, &st) ? st.st_uid : NOBODY;
}

static struct origin origin_of(const struct image_id *id, int fd)
{
	/* What the kernel tells of itself is no file. */
	bool is_file = id->kind == IMAGE_BUILD_ID || id->kind == IMAGE_CONTENT;

	return (struct origin){owner_of(fd),
			       is_file && (fd < 0 || !trusted_content(fd, geteuid()))};
}

/* Only who drains asks, who alone writes what is read here. */
static struct known_image *find_known(struct keeper *k, const struct image_id *id)
{
	uint32_t index;

	if (intern_find(k->asked, id, sizeof(*id), &index) || index >= k->image_count)
		return NULL;
	return &k->images[index];
}

/* Another file says to be it: nobody can tell their samples apart any more. */
static void note_dispute(struct keeper *k, struct known_image *known, const struct origin *origin)
{
	const bool trusted = !known->origin.claimed || !origin->claimed;
	bool *noted = trusted ? &known->claimed : &known->disputed;

	if (*noted || known->origin.owner == NOBODY || origin->owner == NOBODY ||
	    (trusted ? known->origin.claimed == origin->claimed
		     : known->origin.owner == origin->owner))
		return;
	*noted = true;
	pthread_mutex_lock(&k->lock);
	k->counters.claimed += trusted;
	k->counters.disputed += !trusted;
	pthread_mutex_unlock(&k->lock);
}

/* NULL: there is nothing to keep, or no room, or it was asked for, and of a file that is no less to
 * be believed. */
static struct job *new_image_job(struct keeper *k, const struct image_id *id, const char *path,
				 const struct origin *origin)
{
	struct known_image *known;
	struct job *job;

	if (id->kind == IMAGE_JIT || id->kind == IMAGE_UNKNOWN || id->kind == IMAGE_FILE_OFFSET)
		return NULL;
	known = find_known(k, id);
	if (known)
		note_dispute(k, known, origin);
	if (known && (!known->origin.claimed || origin->claimed))
		return NULL;
	if (is_full(k))
		return NULL;
	job = new_job(id);
	if (!job)
		return NULL;
	job->claimed = origin->claimed;
	job->anew = known != NULL;
	job->image = UINT32_MAX;
	job->path = strdup(path);
	if (job->path)
		return job;
	free_job(job);
	return NULL;
}

/* Holds its file, for its functions. */
static void know_image(struct keeper *k, struct job *job, const struct origin *origin)
{
	struct known_image *known;
	uint32_t index;

	if (array_grow(&k->images, k->image_count, &k->image_room, sizeof(*k->images), 64) ||
	    intern_add(k->asked, &job->id, sizeof(job->id), &index) || index > k->image_count)
		return;
	known = &k->images[index];
	if (index < k->image_count)
		drop_held(k, known);
	else
		k->image_count++;
	*known = (struct known_image){.id = job->id,
				      .user = job->turn.user,
				      .origin = *origin,
				      .disputed = job->anew && known->disputed,
				      .claimed = job->anew && known->claimed};
	if (job->fd >= 0 && k->held_files < HELD_FILES_MAX)
		known->held = fcntl(job->fd, F_DUPFD_CLOEXEC, 0) + 1;
	k->held_files += known->held != 0;
	job->image = index;
}

/* What is refused now is asked for again. */
static void queue_image(struct keeper *k, struct job *job, const struct origin *origin)
{
	bool queued;

	pthread_mutex_lock(&k->lock);
	queued = queue_job(k, job);
	if (queued)
		know_image(k, job, origin);
	pthread_mutex_unlock(&k->lock);
	if (!queued)
		free_job(job);
}

void keeper_want_image(struct keeper *k, const struct image_id *id, const char *path,
		       struct process *life, const struct mapping *m)
{
	struct origin origin = {0};
	struct job *job;

	if (id->kind == IMAGE_JIT)
		jit_files_hold(&k->jit_files, life);
	if (m)
		origin = (struct origin){m->file->version.owner, m->file->version.claimed};
	job = new_image_job(k, id, path, &origin);
	if (!job)
		return;
	if (m)
		job->fd = files_open(
			m->file, &(struct file_mapping){life->pid, m->start, m->end, m->born_ns});
	job->turn.user = m ? owner_of(job->fd) : 0; /* the kernel's is no file */
	if (m && job->fd < 0)
		procfs_read_user(life->pid, &job->turn.user);
	queue_image(k, job, &origin);
}

void keeper_want_file(struct keeper *k, const struct image_id *id, const char *path, int fd)
{
	struct origin origin = origin_of(id, fd);
	struct job *job = new_image_job(k, id, path, &origin);

	if (!job)
		return;
	if (fd >= 0)
		job->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	job->turn.user = origin.owner;
	queue_image(k, job, &origin);
}

void keeper_want_jit(struct keeper *k, const struct image_id *id, const struct process *life)
{
	struct job *job = new_job(id);

	if (!job)
		return;
	jit_files_open(life, &job->fd, &job->dump_fd);
	job->turn.user = owner_of(job->fd >= 0 ? job->fd : job->dump_fd);
	if ((job->fd < 0 && job->dump_fd < 0) || !queue_alone(k, job))
		free_job(job);
}

void keeper_want_functions(struct keeper *k, const struct image_id *id, const char *path,
			   const uint64_t *addresses, size_t count, bool last)
{
	struct job *job;
	uint32_t index;
	bool queued = false;

	if (intern_find(k->asked, id, sizeof(*id), &index) || !(job = new_job(id)))
		return;
	job->image = index;
	job->path = strdup(path);
	job->addresses = malloc((count + 1) * sizeof(*addresses));
	pthread_mutex_lock(&k->lock);
	struct known_image *known = image_of(k, job);

	if (job->path && job->addresses && known && !known->settled &&
	    (last || clock_monotonic_ns() >= known->next_ns)) {
		job->turn.user = known->user;
		job->claimed = known->origin.claimed;
		memcpy(job->addresses, addresses, count * sizeof(*addresses));
		job->address_count = count;
		if (known->held)
			job->fd = fcntl(known->held - 1, F_DUPFD_CLOEXEC, 0);
		queued = queue_job(k, job);
	}
	pthread_mutex_unlock(&k->lock);
	if (!queued)
		free_job(job);
}

bool keeper_wants_functions(struct keeper *k, const struct image_id *id)
{
	uint32_t index;
	bool wants = false;

	if (intern_find(k->asked, id, sizeof(*id), &index))
		return false;
	pthread_mutex_lock(&k->lock);
	wants = index < k->image_count && !k->images[index].settled;
	pthread_mutex_unlock(&k->lock);
	return wants;
}

int keeper_want_scripts(struct keeper *k, struct keeper_script *list, size_t count)
{
	static const struct image_id none;
	struct job *job = new_job(&none);

	if (!job)
		return -ENOMEM;
	job->scripts = list;
	job->script_count = count;
	if (queue_alone(k, job))
		return 0;
	free(job);
	return -EAGAIN;
}

void keeper_read_counters(struct keeper *k, struct keeper_counters *ret)
{
	pthread_mutex_lock(&k->lock);
	*ret = k->counters;
	pthread_mutex_unlock(&k->lock);
	kept_cache_count(k->cache, &ret->cache);
}

void keeper_read_trouble(struct keeper *k, struct diag *ret)
{
	pthread_mutex_lock(&k->lock);
	*ret = k->trouble;
	pthread_mutex_unlock(&k->lock);
}

static bool ask_anew(struct keeper *k)
{
	struct intern *none = intern_new(IMAGES_MAX);

	if (!none)
		return false;
	intern_free(k->asked);
	k->asked = none;
	pthread_mutex_lock(&k->lock);
	forget_images(k);
	pthread_mutex_unlock(&k->lock);
	return true;
}

void keeper_ask_again(struct keeper *k)
{
	struct keeper_counters now;

	keeper_read_counters(k, &now);
	if (now.unwritten != k->asked_again && ask_anew(k))
		k->asked_again = now.unwritten;
}

void keeper_forget(struct keeper *k, bool removed, uint64_t now_ns)
{
	k->forget_due |= removed;
	if (!k->forget_due || now_ns < k->forget_next_ns)
		return;
	k->forget_due = false;
	k->forget_next_ns = now_ns + KEEPER_FORGET_NS;
	pthread_mutex_lock(&k->lock);
	k->forgotten++;
	pthread_mutex_unlock(&k->lock);
	ask_anew(k);
}
