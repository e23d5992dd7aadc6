/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "db/epoch.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "db/layout.h"
#include "util/array.h"
#include "util/num.h"
#include "util/text.h"

/*
 * Reading while a writer works. The writer renames a new base into place and only then deletes what
 * it covers. A directory listing is not a snapshot: it may miss the new base and, later in the same
 * walk, files that the base covers. So after everything is open the directory is listed once more:
 * if no base of a higher generation has appeared, then nothing was deleted before the first listing
 * ended, and what is open is complete. Otherwise, or when a file was gone or a number missing, all
 * starts again. A number that is still missing after many attempts is lost, and is reported as
 * such.
 */
#define ATTEMPTS_MAX 200
#define RETRY_NS     1000000

const struct epoch_limit epoch_whole = {UINT32_MAX, SIZE_MAX};

static int compare_bases(const void *a, const void *b)
{
	const struct epoch_base *x = a, *y = b;

	return NUM_ORDER(y->generation, x->generation);
}

static bool is_pack(const char *name)
{
	struct epoch_base base;
	uint32_t number;

	return layout_parse_segment(name, &number) ||
	       layout_parse_base(name, &base.generation, &base.upto);
}

bool epoch_is_foreign(const struct epoch_listing *l, const char *name)
{
	return !l->seal_error && is_pack(name) && !seal_find(&l->seal, name);
}

bool epoch_is_covered(const struct epoch_listing *l, const char *name)
{
	uint32_t number, generation, upto;

	if (!l->base_count)
		return false;
	if (layout_parse_segment(name, &number))
		return number <= l->bases[0].upto;
	return layout_parse_base(name, &generation, &upto) && generation < l->bases[0].generation;
}

bool epoch_is_unsealed_base(const struct epoch_listing *l, const char *name)
{
	uint32_t newest = l->base_count ? l->bases[0].generation : 0;
	struct epoch_base base;

	return epoch_is_foreign(l, name) && layout_parse_base(name, &base.generation, &base.upto) &&
	       base.generation - 1 == newest;
}

static void list_pack(struct epoch_listing *l, const char *name)
{
	const struct seal_file *sealed;
	struct epoch_base base;

	if (!l->seal_error) {
		sealed = seal_find(&l->seal, name);
		if (!sealed)
			return;
		l->found_count += !l->found[sealed - l->seal.files];
		l->found[sealed - l->seal.files] = true;
	}
	if (layout_parse_segment(name, &l->segments[l->segment_count]))
		l->segment_count++;
	else if (layout_parse_base(name, &base.generation, &base.upto))
		l->bases[l->base_count++] = base;
}

int epoch_list(const struct io *io, int epoch_fd, struct epoch_listing *ret)
{
	struct epoch_listing l = {0};
	int r = layout_list(io, epoch_fd, &l.names, &l.name_count);

	if (r < 0)
		return r;
	/* After the names: what a new seal has that they have not is found in the next listing. */
	l.seal_error = seal_read(io, epoch_fd, &l.seal);
	l.segments = calloc(l.name_count + 1, sizeof(*l.segments));
	l.bases = calloc(l.name_count + 1, sizeof(*l.bases));
	l.found = calloc(l.seal.count + 1, sizeof(*l.found));
	if (!l.segments || !l.bases || !l.found || l.seal_error == -ENOMEM) {
		epoch_listing_free(&l);
		return -ENOMEM;
	}
	for (size_t i = 0; i < l.name_count; i++)
		list_pack(&l, l.names[i]);
	array_sort(l.segments, l.segment_count, sizeof(*l.segments), num_compare_u32);
	array_sort(l.bases, l.base_count, sizeof(*l.bases), compare_bases);
	*ret = l;
	return 0;
}

void epoch_listing_free(struct epoch_listing *l)
{
	free(l->segments);
	free(l->bases);
	free(l->names);
	free(l->found);
	seal_free(&l->seal);
	*l = (struct epoch_listing){0};
}

void epoch_close(struct epoch *e)
{
	for (size_t i = 0; i < e->pack_count; i++)
		pack_close(e->packs[i]);
	free(e->packs);
	*e = (struct epoch){0};
}

/* One attempt at opening an epoch. */
struct attempt {
	const struct io *io;
	int fd;
	const char *name;
	const struct epoch_limit *limit;
	bool last;	     /* take what there is */
	uint64_t missed_sum; /* of the seal whose files were missed in the attempt before */
	pack_damage_fn *damage;
	void *arg;
	struct epoch_listing listing;
	struct epoch *epoch;
	struct diag *diag;
};

__attribute__((format(printf, 2, 3))) static void attempt_tell(const struct attempt *t,
							       const char *format, ...)
{
	char text[512];
	va_list ap;
	int n = snprintf(text, sizeof(text), "%s: ", t->name);

	if (!t->damage)
		return;
	va_start(ap, format);
	vsnprintf(text + n, sizeof(text) - (size_t)n, format, ap);
	va_end(ap);
	t->damage(t->arg, text);
}

static bool is_gone(int r)
{
	return r == -ENOENT || r == -ESTALE;
}

/*
 * 1 and the pack; 0 when it cannot be used, which is told; -EAGAIN when it is gone; other errors
 * are not the file's fault.
 */
static int attempt_open(struct attempt *t, const char *file, struct pack **ret)
{
	char label[2 * LAYOUT_NAME_MAX];
	struct diag diag = {0};

	snprintf(label, sizeof(label), "%.63s/%.63s", t->name, file);
	int r = pack_open(t->io, t->fd, file, label, t->damage, t->arg, ret, &diag);
	if (r == 0) {
		const struct seal_file *sealed = seal_find(&t->listing.seal, file);

		if (sealed && !seal_fits(sealed, *ret))
			attempt_tell(t, "%.63s is another file than the one that was sealed", file);
		return 1;
	}
	if (is_gone(r) && !t->last)
		return -EAGAIN;
	if (r == -ENOMEM || r == -EMFILE || r == -ENFILE)
		return diag_fail(t->diag, -r, "%s", diag.text);
	if (r != -EBADMSG)
		t->epoch->unread = r;
	if (t->damage)
		t->damage(t->arg, diag.text);
	return 0;
}

/* Whether there is every segment from first to last. */
static bool segments_cover(const struct epoch_listing *l, uint32_t first, uint32_t last)
{
	uint32_t next = first;

	for (size_t i = 0; i < l->segment_count && next <= last; i++)
		next += l->segments[i] == next;
	return next > last;
}

/*
 * The base to start from: the newest, unless that is damaged and what it covers is still there. 1
 * and the pack, 0 when there is none to be had.
 */
static int attempt_base(struct attempt *t, struct pack **ret, struct epoch_base *ret_base)
{
	const struct epoch_listing *l = &t->listing;
	struct pack *best = NULL, *p;
	char file[LAYOUT_NAME_MAX];
	int r = 0;

	if (!l->base_count)
		return 0;
	*ret_base = l->bases[0];
	for (size_t i = 0; i < l->base_count; i++) {
		if (best && !segments_cover(l, l->bases[i].upto + 1, l->bases[0].upto))
			continue;
		layout_base_name(l->bases[i].generation, l->bases[i].upto, file);
		p = NULL;
		r = attempt_open(t, file, &p);
		if (r < 0)
			break;
		if (r && (!best || p->indexed)) {
			pack_close(best);
			best = p;
			*ret_base = l->bases[i];
		} else {
			pack_close(p);
		}
		if (best && best->indexed)
			break;
	}
	if (r < 0) {
		pack_close(best);
		return r;
	}
	/* What none of them can be read for may still be there. */
	if (!best || (!best->indexed && segments_cover(l, 1, l->bases[0].upto))) {
		pack_close(best);
		best = NULL;
		ret_base->upto = 0;
	}
	*ret = best;
	return best != NULL;
}

/* Whether a number is missing among the segments that would be taken. */
static bool attempt_has_gap(const struct attempt *t, uint32_t upto)
{
	const struct epoch_listing *l = &t->listing;
	size_t room = t->limit->packs - t->epoch->pack_count;
	uint64_t next = (uint64_t)upto + 1;

	for (size_t i = 0; i < l->segment_count && l->segments[i] <= t->limit->segment && room;
	     i++) {
		if (l->segments[i] < next)
			continue;
		if (l->segments[i] != next)
			return true;
		next++;
		room--;
	}
	return false;
}

static int attempt_segments(struct attempt *t, uint32_t upto)
{
	const struct epoch_listing *l = &t->listing;
	uint64_t next = (uint64_t)upto + 1;
	char file[LAYOUT_NAME_MAX];
	int r;

	bool sealed = !t->listing.seal_error; /* what is missing was told */

	if (!sealed && !t->last && attempt_has_gap(t, upto))
		return -EAGAIN;
	for (size_t i = 0; i < l->segment_count && l->segments[i] <= t->limit->segment; i++) {
		if (l->segments[i] < next)
			continue;
		if (t->epoch->pack_count >= t->limit->packs)
			break;
		if (l->segments[i] != next && !sealed)
			attempt_tell(t,
				     "segments %" PRIu64 " to %" PRIu32
				     " are missing; lost: what they held",
				     next, l->segments[i] - 1);
		next = (uint64_t)l->segments[i] + 1;
		layout_segment_name(l->segments[i], file);
		r = attempt_open(t, file, &t->epoch->packs[t->epoch->pack_count]);
		if (r < 0)
			return r;
		t->epoch->pack_count += (size_t)r;
		t->epoch->last_segment = l->segments[i];
	}
	return 0;
}

/* -EAGAIN when a compaction ended since the listing. */
static int attempt_confirm(const struct attempt *t)
{
	struct epoch_listing now;
	bool changed;

	if (t->last || !t->listing.seal_error)
		return 0;
	int r = epoch_list(t->io, t->fd, &now);
	if (r < 0)
		return diag_fail(t->diag, -r, "cannot list epoch %s: %s", t->name, strerror(-r));
	changed = now.base_count && (!t->listing.base_count ||
				     now.bases[0].generation > t->listing.bases[0].generation);
	epoch_listing_free(&now);
	return changed ? -EAGAIN : 0;
}

static void attempt_set_aside(const struct attempt *t)
{
	const struct epoch_listing *l = &t->listing;

	for (size_t i = 0; i < l->name_count; i++)
		if (strncmp(l->names[i], LAYOUT_DAMAGED, strlen(LAYOUT_DAMAGED)) == 0)
			attempt_tell(t,
				     "%.63s was damaged and set aside; what could be read of it "
				     "is in the base",
				     l->names[i]);
}

/*
 * What the seal names and is not there: a compaction's doing if the seal is another one the next
 * time, else it is lost, and told.
 */
static int attempt_seal(struct attempt *t)
{
	const struct epoch_listing *l = &t->listing;

	if (l->seal_error) {
		if (l->seal_error != -ENOENT)
			attempt_tell(t,
				     "its seal is damaged or cannot be read (%s): whether files "
				     "are missing is not known",
				     strerror(-l->seal_error));
		return 0;
	}
	if (l->found_count == l->seal.count)
		return 0;
	if (!t->last && t->missed_sum != l->seal.sum) {
		t->missed_sum = l->seal.sum;
		return -EAGAIN;
	}
	for (size_t i = 0; i < l->seal.count; i++)
		if (!l->found[i])
			attempt_tell(t,
				     "%.63s (%" PRIu64
				     " bytes) is missing; lost: %llu %s and what else it held",
				     l->seal.files[i].name, l->seal.files[i].bytes,
				     TEXT_COUNT(l->seal.files[i].samples, "sample", "samples"));
	return 0;
}

static int attempt_run(struct attempt *t)
{
	struct epoch_base base = {0};
	struct epoch *e = t->epoch;
	int r = epoch_list(t->io, t->fd, &t->listing);

	if (r < 0)
		return diag_fail(t->diag, -r, "cannot list epoch %s: %s", t->name, strerror(-r));
	e->sealed = t->listing.seal_error != -ENOENT;
	r = attempt_seal(t);
	if (r < 0)
		return r;
	e->packs = calloc(t->listing.segment_count + 1, sizeof(*e->packs));
	if (!e->packs)
		return diag_fail(t->diag, ENOMEM, "out of memory for epoch %s", t->name);
	r = attempt_base(t, &e->packs[0], &base);
	if (r < 0)
		return r;
	e->pack_count = (size_t)r;
	e->generation = base.generation;
	e->upto = e->last_segment = base.upto;
	r = attempt_segments(t, base.upto);
	if (r == 0)
		r = attempt_confirm(t);
	if (r == 0)
		attempt_set_aside(t);
	for (size_t i = 0; i < e->pack_count; i++)
		e->bytes += e->packs[i]->size;
	return r;
}

/* Damage is told only once all is open: an attempt that fails may see what is no longer there. */
struct told {
	struct buf texts; /* a zero byte after each */
};

static void told_keep(void *arg, const char *what)
{
	struct told *told = arg;

	buf_append(&told->texts, what, strlen(what) + 1);
}

static void told_show(const struct told *told, pack_damage_fn *damage, void *arg)
{
	const char *at = (const char *)told->texts.data, *end = at ? at + told->texts.size : at;

	for (; at < end; at += strlen(at) + 1)
		damage(arg, at);
}

int epoch_open(const struct io *io, int machine_fd, const char *name,
	       const struct epoch_limit *limit, pack_damage_fn *damage, void *arg,
	       struct epoch *ret, struct diag *diag)
{
	struct timespec pause = {.tv_nsec = RETRY_NS};
	struct told told;
	struct epoch e = {0};
	struct attempt t = {.io = io,
			    .name = name,
			    .limit = limit,
			    .damage = told_keep,
			    .arg = &told,
			    .epoch = &e,
			    .diag = diag};
	int r = -EAGAIN;

	t.fd = layout_enter_dir(io, machine_fd, name);
	if (t.fd < 0)
		return diag_fail(diag, -t.fd, "cannot open epoch %s: %s", name, strerror(-t.fd));
	buf_init(&told.texts, 1u << 20);
	for (unsigned i = 0; i < ATTEMPTS_MAX && r == -EAGAIN; i++) {
		if (i)
			nanosleep(&pause, NULL);
		buf_clear(&told.texts);
		t.last = i == ATTEMPTS_MAX - 1;
		r = attempt_run(&t);
		epoch_listing_free(&t.listing);
		if (r < 0)
			epoch_close(&e);
	}
	io->close(io->arg, t.fd);
	if (r == 0 && damage)
		told_show(&told, damage, arg);
	buf_free(&told.texts);
	if (r == 0)
		*ret = e;
	return r;
}

void epoch_summarize(const struct epoch *e, const char *name, uint64_t *ret_start_ns,
		     uint64_t *ret_end_ns, uint64_t *ret_samples)
{
	uint64_t start_ns = 0, end_ns = 0, samples = 0;

	for (size_t i = 0; i < e->pack_count; i++) {
		const struct catalog *c = &e->packs[i]->catalog;

		samples = num_add_sat(samples, c->samples);
		if (!c->start_ns && !c->end_ns)
			continue;
		if (!start_ns || c->start_ns < start_ns)
			start_ns = c->start_ns;
		if (c->end_ns > end_ns)
			end_ns = c->end_ns;
	}
	*ret_start_ns = start_ns ? start_ns : layout_epoch_time_ns(name);
	*ret_end_ns = end_ns ? end_ns : *ret_start_ns;
	*ret_samples = samples;
}
