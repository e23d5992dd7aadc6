/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Makes a long perf.data out of a short one, as if what was recorded had gone on and on:
 * day-perf FROM TO COPIES. Not for compressed files; every record must have a time.
 */
#define APART_NS 20000000000u /* from copy to copy: more than a recording lasts */

struct section {
	uint64_t offset, size;
};

struct file_header {
	char magic[8];
	uint64_t size, attr_size;
	struct section attrs, data, event_types;
	uint64_t features[4];
};

static void need(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "day-perf: %s%s%s\n", what, errno ? ": " : "",
		errno ? strerror(errno) : "");
	exit(1);
}

static char *read_whole(const char *path, size_t *ret_size)
{
	FILE *f = fopen(path, "re");
	char *data;
	long size;

	need(f && !fseek(f, 0, SEEK_END), path);
	size = ftell(f);
	rewind(f);
	data = malloc((size_t)size);
	need(data && fread(data, 1, (size_t)size, f) == (size_t)size, path);
	fclose(f);
	*ret_size = (size_t)size;
	return data;
}

/* How far from a sample's start its time is, and from another record's end. */
struct times {
	size_t in_sample, from_end;
};

static struct times find_times(const struct perf_event_attr *attr)
{
	static const uint64_t after[] = {PERF_SAMPLE_ID, PERF_SAMPLE_STREAM_ID, PERF_SAMPLE_CPU,
					 PERF_SAMPLE_IDENTIFIER};
	const uint64_t type = attr->sample_type;
	struct times t = {.in_sample = sizeof(struct perf_event_header), .from_end = 8};

	need((type & PERF_SAMPLE_TIME) && attr->sample_id_all, "no time in every record");
	t.in_sample += type & PERF_SAMPLE_IDENTIFIER ? 8 : 0;
	t.in_sample += type & PERF_SAMPLE_IP ? 8 : 0;
	t.in_sample += type & PERF_SAMPLE_TID ? 8 : 0;
	for (size_t i = 0; i < sizeof(after) / sizeof(*after); i++)
		t.from_end += type & after[i] ? 8 : 0;
	return t;
}

/* Moves the times of all records; returns how many of them are samples. */
static uint64_t move_times(char *data, size_t size, struct times t, uint64_t add_ns)
{
	struct perf_event_header head;
	uint64_t samples = 0;

	for (size_t at = 0; at + sizeof(head) <= size; at += head.size) {
		uint64_t time_ns;
		char *time;

		memcpy(&head, data + at, sizeof(head));
		need(head.size >= sizeof(head) && at + head.size <= size, "a record is cut off");
		if (head.type >= 64) /* perf's own, without times */
			continue;
		time = data + at +
		       (head.type == PERF_RECORD_SAMPLE ? t.in_sample : head.size - t.from_end);
		memcpy(&time_ns, time, sizeof(time_ns));
		time_ns += add_ns;
		memcpy(time, &time_ns, sizeof(time_ns));
		samples += head.type == PERF_RECORD_SAMPLE;
	}
	return samples;
}

/* What perf says of the recording, behind the data: a table of where each part is, and the parts.
 */
static void copy_features(FILE *out, const struct file_header *h, char *file, size_t size,
			  uint64_t further)
{
	size_t at = h->data.offset + h->data.size, count = 0;

	for (size_t i = 0; i < sizeof(h->features) / sizeof(*h->features); i++)
		count += (size_t)__builtin_popcountll(h->features[i]);
	need(at + count * sizeof(struct section) <= size, "its descriptions are cut off");
	for (size_t i = 0; i < count; i++) {
		struct section s;

		memcpy(&s, file + at + i * sizeof(s), sizeof(s));
		s.offset += further;
		memcpy(file + at + i * sizeof(s), &s, sizeof(s));
	}
	need(fwrite(file + at, 1, size - at, out) == size - at, "cannot write");
}

int main(int argc, char **argv)
{
	struct perf_event_attr attr = {0};
	uint64_t samples = 0;
	unsigned long copies;
	struct file_header h;
	struct times times;
	char *file, *data;
	size_t size;
	FILE *out;

	if (argc != 4)
		return 2;
	copies = strtoul(argv[3], NULL, 0);
	file = read_whole(argv[1], &size);
	errno = 0;
	need(size > sizeof(h), "too short");
	memcpy(&h, file, sizeof(h));
	need(!memcmp(h.magic, "PERFILE2", 8) && h.data.offset + h.data.size <= size &&
		     h.attrs.offset + sizeof(attr) <= size,
	     "not a perf.data");
	memcpy(&attr, file + h.attrs.offset,
	       h.attr_size - 16 < sizeof(attr) ? h.attr_size - 16 : sizeof(attr));
	/* perf gives all events of a file the same form of records. */
	times = find_times(&attr);
	data = file + h.data.offset;
	out = fopen(argv[2], "we");
	need(out, argv[2]);
	h.data.size *= copies;
	fwrite(&h, sizeof(h), 1, out);
	h.data.size /= copies;
	fwrite(file + sizeof(h), h.data.offset - sizeof(h), 1, out);
	for (unsigned long i = 0; i < copies; i++) {
		need(fwrite(data, h.data.size, 1, out) == 1, argv[2]);
		samples += move_times(data, h.data.size, times, APART_NS);
	}
	copy_features(out, &h, file, size, h.data.size * (copies - 1));
	need(!fclose(out), argv[2]);
	printf("%llu\n", (unsigned long long)samples);
	free(file);
	return 0;
}
