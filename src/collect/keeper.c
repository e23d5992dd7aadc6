/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "collect/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "collect/procfs.h"
#include "db/blob.h"
#include "image/find.h"
#include "image/script.h"
#include "image/worker.h"
#include "util/array.h"
#include "util/clock.h"
#include "util/foreign.h"
#include "util/hash.h"
#include "util/thread.h"

#define HELD_FD_MAX 1024
#define QUEUE_MAX   1024
#define IMAGES_MAX  65536
#define NICE	    5
#define FINISH_NS   20000000000ull
#define IDLE_NS	    10000000000ull /* then the helpers end: to start one takes some ms of CPU */
/* Of images whose functions may be wanted still, descriptors of files. */
#define HELD_FILES_MAX 256
#define PAUSE_TIMES    200 /* so that an image's functions take at most half a percent of the time */
#define JIT_MAX_BYTES  (64u << 20)
/* Between two looks for a perf map that is not there: most programs that make code write none. */
#define JIT_WAIT_LEAST_NS 50000000ull /* a map is begun soon after the first code, or never */
#define JIT_WAIT_MOST_NS  32000000000ull

struct job {
	struct job *next;
	struct image_id id;
	char *path;	     /* an image's; NULL for code made at run time */
	int fd;		     /* of the file while it can be opened, -1 */
	int dump_fd;	     /* jitdump, -1 */
	uint32_t image;	     /* its number in asked */
	uint64_t *addresses; /* functions of an image that are wanted; NULL: the image itself is */
	size_t address_count;
	struct keeper_script *scripts;
	size_t script_count;
};

/* An image that was asked for. */
struct known_image {
	struct image_id id;
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
	unsigned keeping; /* images that are being kept now */
	int held_end;	  /* descriptors of code made at run time are below it; 0: none yet */
	pthread_t thread;
	bool threaded, stop;
	struct allowance *allowance; /* NULL: none is set */
	struct kept_cache *cache;    /* NULL: none */
	uint64_t end_ns;	     /* when it stops, whatever is queued still */
	pthread_mutex_t lock;
	pthread_mutex_t add_lock; /* keeping scripts and functions is to read, add and write */
	pthread_cond_t more;
	struct job *first, **last;
	size_t queued;
	struct keeper_counters counters;
	struct diag trouble;  /* of the last that could not be written */
	uint64_t asked_again; /* after so many of them */
	uint64_t forgotten;   /* times: what finders know of the database is not so any more */
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
	int r;

	buf_init(&bytes, JIT_MAX_BYTES);
	r = image_symbols_save(symbols, &bytes);
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

/* Under the lock. NULL: all images are asked for anew since. */
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
	int r;

	pthread_mutex_lock(&k->add_lock);
	r = image_finder_keep_functions(finder, &job->id, path, job->addresses, job->address_count,
					NULL);
	pthread_mutex_unlock(&k->add_lock);
	postpone(k, job, clock_monotonic_ns() - start_ns);
	return r;
}

static void note_refused(struct keeper *k, const struct image_finder_counts *before,
			 const struct image_finder_counts *after)
{
	pthread_mutex_lock(&k->lock);
	k->counters.code_refused += after->code_refused - before->code_refused;
	k->counters.lines_refused += after->lines_refused - before->lines_refused;
	pthread_mutex_unlock(&k->lock);
}

static int keep_image(struct keeper *k, struct image_finder *finder, const struct job *job)
{
	struct image_finder_counts before = image_finder_counts(finder), after;
	const char *path = job->path;
	char held[64];
	int r;

	/* The descriptor holds a file that is deleted or renamed. */
	snprintf(held, sizeof(held), "/proc/self/fd/%d", job->fd);
	if (job->fd >= 0)
		path = held;
	r = job->addresses ? keep_functions(k, finder, job, path)
			   : kept_cache_keep(k->cache, finder, &job->id, path);
	if (!image_finder_wants_functions(finder, &job->id, path))
		settle(k, job);
	after = image_finder_counts(finder);
	note_refused(k, &before, &after);
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

	pthread_mutex_lock(&k->add_lock);
	for (size_t i = 0; i < job->script_count; i++) {
		r = keep_script(k, &job->scripts[i]);
		first = first ? first : r;
	}
	pthread_mutex_unlock(&k->add_lock);
	return first;
}

/* Until there is a job, or no more will come. False: neither within the time (0: without end). */
static bool wait_for_job(struct keeper *k, uint64_t time_ns)
{
	uint64_t end_ns = clock_monotonic_ns() + time_ns;
	struct timespec end = {.tv_sec = (time_t)(end_ns / 1000000000u),
			       .tv_nsec = (long)(end_ns % 1000000000u)};
	bool late = false, has;

	pthread_mutex_lock(&k->lock);
	while (!k->first && !k->stop && !late)
		late = (time_ns ? pthread_cond_timedwait(&k->more, &k->lock, &end)
				: pthread_cond_wait(&k->more, &k->lock)) == ETIMEDOUT;
	has = k->first || k->stop;
	pthread_mutex_unlock(&k->lock);
	return has;
}

static bool is_of_image(const struct job *job)
{
	return job->path && !job->addresses;
}

/* Until what was done before is paid for. */
static void wait_for_allowance(struct keeper *k)
{
	uint64_t ready_ns;

	pthread_mutex_lock(&k->lock);
	while (!k->stop && (ready_ns = allowance_ready_ns(k->allowance, clock_monotonic_ns())) >
				   clock_monotonic_ns()) {
		struct timespec end = {.tv_sec = (time_t)(ready_ns / 1000000000u),
				       .tv_nsec = (long)(ready_ns % 1000000000u)};

		pthread_cond_timedwait(&k->more, &k->lock, &end);
	}
	pthread_mutex_unlock(&k->lock);
}

/* NULL: no more will come. */
static struct job *next_job(struct keeper *k)
{
	struct job *job;

	pthread_mutex_lock(&k->lock);
	/* What is kept of an image is there before its functions are added to it. */
	while (k->first && k->first->addresses && k->keeping)
		pthread_cond_wait(&k->more, &k->lock);
	job = k->stop && clock_monotonic_ns() > k->end_ns ? NULL : k->first;
	if (job) {
		k->first = job->next;
		k->queued--;
		k->keeping += is_of_image(job);
		if (!k->first)
			k->last = &k->first;
	}
	pthread_mutex_unlock(&k->lock);
	return job;
}

static bool has_jobs(struct keeper *k)
{
	pthread_mutex_lock(&k->lock);
	bool has = k->first != NULL;
	pthread_mutex_unlock(&k->lock);
	return has;
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
	k->keeping -= is_of_image(job);
	pthread_cond_broadcast(&k->more);
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

/* Another, once what this one kept may be gone; without memory for it, later. */
static void renew_finder(struct keeper *k, struct image_finder **finder, uint64_t *forgotten)
{
	uint64_t now = read_forgotten(k);
	struct image_finder *other;

	if (*forgotten == now || image_finder_new(k->db_path, k->machine, &other))
		return;
	image_finder_free(*finder);
	*finder = other;
	*forgotten = now;
}

static void do_jobs(struct keeper *k)
{
	struct image_finder *finder = NULL;
	struct image_worker *worker = image_worker_new(NULL);
	uint64_t thread_ns, workers_ns, forgotten = read_forgotten(k);
	struct job *job;

	if (image_finder_new(k->db_path, k->machine, &finder))
		finder = NULL;
	while (worker && finder) {
		/* Hours may pass until the next. */
		if (!wait_for_job(k, IDLE_NS)) {
			image_finder_idle(finder);
			image_worker_idle(worker);
			malloc_trim(0);
			wait_for_job(k, 0);
		}
		wait_for_allowance(k);
		job = next_job(k);
		if (!job)
			break;
		renew_finder(k, &finder, &forgotten);
		thread_ns = allowance_thread_ns();
		workers_ns = image_finder_cpu_ns(finder) + image_worker_cpu_ns(worker);
		do_job(k, finder, worker, job);
		free_job(job);
		allowance_spend(k->allowance, allowance_thread_ns() - thread_ns,
				image_finder_cpu_ns(finder) + image_worker_cpu_ns(worker) -
					workers_ns,
				clock_monotonic_ns());
	}
	image_finder_free(finder);
	image_worker_free(worker);
}

static void *work(void *arg)
{
	/* Of this thread only. Lower, and on a machine that is always busy it would get nowhere. */
	setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), NICE);
	do_jobs(arg);
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
	k->last = &k->first;
	pthread_mutex_init(&k->lock, NULL);
	pthread_mutex_init(&k->add_lock, NULL);
	thread_begin_condition(&k->more);
	k->db_path = strdup(db_path);
	k->machine = strdup(machine);
	k->asked = intern_new(IMAGES_MAX);
	if (!k->db_path || !k->machine || !k->asked) {
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
	full = intern_count(k->asked) == IMAGES_MAX || k->queued >= QUEUE_MAX;
	k->counters.refused += full;
	pthread_mutex_unlock(&k->lock);
	return full;
}

/* Under the lock. False, and the job is the caller's: the queue is full. */
static bool queue_job(struct keeper *k, struct job *job)
{
	if (k->queued >= QUEUE_MAX || (!k->threaded && start_thread(k))) {
		k->counters.refused++;
		return false;
	}
	*k->last = job;
	k->last = &job->next;
	k->queued++;
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

/* Without waiting for what is queued when finish_ns is 0. */
static void end_thread(struct keeper *k, uint64_t finish_ns)
{
	pthread_mutex_lock(&k->lock);
	k->stop = true;
	k->end_ns = finish_ns ? clock_monotonic_ns() + finish_ns : 0;
	pthread_cond_signal(&k->more);
	pthread_mutex_unlock(&k->lock);
	/* Whoever waits may as well do it, with his own priority. */
	if (finish_ns && has_jobs(k))
		do_jobs(k);
	if (k->threaded)
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
	for (struct job *job = k->first, *next; job; job = next) {
		next = job->next;
		free_job(job);
	}
	intern_free(k->asked);
	forget_images(k);
	free(k->images);
	free(k->db_path);
	free(k->machine);
	kept_cache_free(k->cache);
	pthread_mutex_destroy(&k->lock);
	pthread_mutex_destroy(&k->add_lock);
	pthread_cond_destroy(&k->more);
	free(k);
}

static struct job *new_job(const struct image_id *id)
{
	struct job *job = calloc(1, sizeof(*job));

	if (job) {
		job->id = *id;
		job->fd = job->dump_fd = -1;
	}
	return job;
}

/*
 * A file that says what a process's code is, in the process's own view of the file system. Whoever
 * runs the process may have put any name there, so it must be his own file: nobody is to learn from
 * a report what he may not read. When the process is gone, so is the knowledge of whose it was:
 * then the file must be one that everybody may read.
 */
static int open_of_process(pid_t pid, const char *path)
{
	char root[32] = "/";
	struct stat st;
	uid_t user;
	bool lives = procfs_read_user(pid, &user) == 0;
	int fd;

	if (lives)
		snprintf(root, sizeof(root), "/proc/%d/root", (int)pid);
	fd = foreign_open_below(root, path, &st);
	if (fd < 0 || (lives ? st.st_uid == user : (st.st_mode & S_IROTH) != 0))
		return fd;
	close(fd);
	return -EACCES;
}

static void name_map(pid_t pid, char *ret, size_t room)
{
	snprintf(ret, room, "/tmp/perf-%d.map", (int)procfs_inner_pid(pid));
}

/* Descriptors are handed out from the lowest, so this bounds how many are kept beside those of the
 * events, which on a large machine are thousands and were open before the first of these. */
static int keep_open(struct keeper *k, int fd)
{
	if (fd < 0)
		return 0;
	if (!k->held_end)
		k->held_end = fd + HELD_FD_MAX;
	if (fd < k->held_end)
		return fd + 1;
	close(fd);
	return 0;
}

/* While the process lives: what only it can see is gone with it. */
static void hold_jit(struct keeper *k, struct process *life)
{
	uint64_t now_ns = clock_monotonic_ns();
	char path[64];

	if (now_ns < life->jit_next_ns)
		return;
	life->jit_wait_ns = life->jit_wait_ns ? 2 * life->jit_wait_ns : JIT_WAIT_LEAST_NS;
	if (life->jit_wait_ns > JIT_WAIT_MOST_NS)
		life->jit_wait_ns = JIT_WAIT_MOST_NS;
	life->jit_next_ns = now_ns + life->jit_wait_ns;
	name_map(life->pid, path, sizeof(path));
	if (!life->map_fd)
		life->map_fd = keep_open(k, open_of_process(life->pid, path));
	if (!life->dump_fd && life->jitdump)
		life->dump_fd = keep_open(k, open_of_process(life->pid, life->jitdump));
}

/* NULL: there is nothing to keep, or no room, or it was asked for. */
static struct job *new_image_job(struct keeper *k, const struct image_id *id, const char *path)
{
	uint32_t index;
	struct job *job;

	if (id->kind == IMAGE_JIT || id->kind == IMAGE_UNKNOWN || id->kind == IMAGE_FILE_OFFSET)
		return NULL;
	if (intern_find(k->asked, id, sizeof(*id), &index) == 0 || is_full(k))
		return NULL;
	job = new_job(id);
	if (!job)
		return NULL;
	job->image = UINT32_MAX;
	job->path = strdup(path);
	if (job->path)
		return job;
	free_job(job);
	return NULL;
}

/* Holds its file, for its functions. */
static void know_image(struct keeper *k, struct job *job)
{
	struct known_image *known;
	uint32_t index;

	if (array_grow(&k->images, k->image_count, &k->image_room, sizeof(*k->images), 64) ||
	    intern_add(k->asked, &job->id, sizeof(job->id), &index) || index != k->image_count)
		return;
	known = &k->images[k->image_count++];
	*known = (struct known_image){.id = job->id};
	if (job->fd >= 0 && k->held_files < HELD_FILES_MAX)
		known->held = fcntl(job->fd, F_DUPFD_CLOEXEC, 0) + 1;
	k->held_files += known->held != 0;
	job->image = index;
}

/* What is refused now is asked for again. */
static void queue_image(struct keeper *k, struct job *job)
{
	bool queued;

	pthread_mutex_lock(&k->lock);
	queued = queue_job(k, job);
	if (queued)
		know_image(k, job);
	pthread_mutex_unlock(&k->lock);
	if (!queued)
		free_job(job);
}

void keeper_want_image(struct keeper *k, const struct image_id *id, const char *path,
		       struct process *life, const struct mapping *m)
{
	struct job *job;

	if (id->kind == IMAGE_JIT)
		hold_jit(k, life);
	job = new_image_job(k, id, path);
	if (!job)
		return;
	if (m)
		job->fd = files_open(
			m->file, &(struct file_mapping){life->pid, m->start, m->end, m->born_ns});
	queue_image(k, job);
}

void keeper_want_file(struct keeper *k, const struct image_id *id, const char *path, int fd)
{
	struct job *job = new_image_job(k, id, path);

	if (!job)
		return;
	if (fd >= 0)
		job->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	queue_image(k, job);
}

static int open_or_held(pid_t pid, const char *path, int held)
{
	char self[32];
	/* Once it has ended, the path may be another's. */
	int fd = held && kill(pid, 0) && errno == ESRCH ? -1 : open_of_process(pid, path);

	if (fd >= 0 || !held)
		return fd;
	snprintf(self, sizeof(self), "/proc/self/fd/%d", held - 1);
	return open(self, O_RDONLY | O_CLOEXEC);
}

void keeper_want_jit(struct keeper *k, const struct image_id *id, const struct process *life)
{
	struct job *job = new_job(id);
	char path[64];

	if (!job)
		return;
	name_map(life->pid, path, sizeof(path));
	job->fd = open_or_held(life->pid, path, life->map_fd);
	if (life->jitdump)
		job->dump_fd = open_or_held(life->pid, life->jitdump, life->dump_fd);
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

void keeper_forget(struct keeper *k)
{
	pthread_mutex_lock(&k->lock);
	k->forgotten++;
	pthread_mutex_unlock(&k->lock);
	ask_anew(k);
}
