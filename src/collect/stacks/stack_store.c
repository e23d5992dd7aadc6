/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "collect/stacks/stack_store.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "unwind/unwind_walk.h"

static int slot_frame(struct stack_store *s, uint64_t frame, struct db_frame *ret)
{
	uint32_t slot = (uint32_t)(frame >> 32), offset = (uint32_t)frame;
	struct stack_file *f = stack_files_get(s->files, slot);
	int r;

	if (!f || f->originals || f->copied)
		return -ENOENT;
	if (f->batch_number != s->batch_number + 1) {
		r = db_batch_image(s->batch, &f->id, f->path, f->path_size, &f->image);
		if (r)
			return r;
		f->batch_number = s->batch_number + 1;
		if (s->keeper)
			keeper_want_file(s->keeper, &f->id, f->path, f->fd);
	}
	stack_files_use(s->files, slot);
	for (uint32_t i = 0; i < f->segment_count; i++) {
		const struct image_segment *segment = &f->segments[i];

		if (offset - segment->file_offset < segment->file_size) {
			*ret = (struct db_frame){f->image,
						 offset - segment->file_offset + segment->address};
			return 0;
		}
	}
	return -ENOENT;
}

static int python_frame(struct stack_store *s, uint64_t frame, struct db_frame *ret)
{
	uint32_t script;
	int r = python_codes_find(s->codes, frame, &script, &ret->offset);

	return r ? r : scripts_image(s->scripts, script, s->batch, s->batch_number, &ret->image);
}

/* A frame of the process: by its file, else by what is known of the process. */
static int user_frame(struct stack_store *s, const struct wire_stack *stack, uint64_t frame,
		      struct db_frame *ret)
{
	int r = -ENOENT;

	if ((frame & (WIRE_FRAME_ADDRESS | WIRE_FRAME_PYTHON)) == WIRE_FRAME_PYTHON)
		return python_frame(s, frame, ret);
	if (!(frame & WIRE_FRAME_ADDRESS))
		r = slot_frame(s, frame, ret);
	if (r == -ENOENT)
		r = resolver_image(s->resolver, (pid_t)(stack->process & WIRE_TGID_MASK),
				   frame & ~WIRE_FRAME_ADDRESS, stack->time_ns, &ret->image,
				   &ret->offset);
	return r;
}

/* What stands for frames that are not there. */
static int note_frame(struct stack_store *s, const char *text, uint8_t number, struct db_frame *ret)
{
	struct image_id id = {.kind = IMAGE_NOTE, .size = 1, .bytes = {number}};

	ret->offset = 0;
	return db_batch_image(s->batch, &id, text, strlen(text), &ret->image);
}

#define NOTE_LEFT_OUT 100

static int end_frame(struct stack_store *s, unsigned end, struct db_frame *ret)
{
	char text[64];

	snprintf(text, sizeof(text), "[truncated: %s]", unwind_end_text(end));
	return note_frame(s, text, (uint8_t)end, ret);
}

struct made {
	struct db_frame frames[DB_STACK_MAX];
	uint32_t count;
};

/* Frames from the outermost in. */
static int make_frames(struct stack_store *s, const struct wire_stack *stack, struct made *m)
{
	const uint64_t *user = stack->frame + WIRE_STACK_KERNEL;
	uint32_t kept = WIRE_STACK_INNER + WIRE_STACK_OUTER, followed = stack->followed;
	int r = 0;

	m->count = 0;
	if (unwind_end_text(stack->end))
		r = end_frame(s, stack->end, &m->frames[m->count++]);
	for (uint32_t i = followed; i > WIRE_STACK_INNER && i + WIRE_STACK_OUTER > followed && !r;
	     i--)
		r = user_frame(s, stack, user[WIRE_STACK_INNER + (i - 1) % WIRE_STACK_OUTER],
			       &m->frames[m->count++]);
	if (!r && followed > kept)
		r = note_frame(s, "[frames left out]", NOTE_LEFT_OUT, &m->frames[m->count++]);
	for (uint32_t i = followed < WIRE_STACK_INNER ? followed : WIRE_STACK_INNER; i > 0 && !r;
	     i--)
		r = user_frame(s, stack, user[i - 1], &m->frames[m->count++]);
	for (uint32_t i = stack->kernel_count; i > 0 && !r; i--, m->count++)
		r = resolver_image(s->resolver, (pid_t)(stack->process & WIRE_TGID_MASK),
				   stack->frame[i - 1], stack->time_ns, &m->frames[m->count].image,
				   &m->frames[m->count].offset);
	return r;
}

int stack_store(struct stack_store *s, const struct wire_stack *stack, uint64_t count)
{
	uint32_t subject;
	struct made m;
	int r = resolver_subject(s->resolver, (pid_t)(stack->process & WIRE_TGID_MASK),
				 &stack->thread, stack->time_ns, &subject);

	if (!r)
		r = make_frames(s, stack, &m);
	if (!r && m.count)
		r = db_batch_stack(s->batch, resolver_event(s->resolver, stack->event), subject,
				   m.frames, m.count, count);
	return r;
}
