/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <zlib.h>
#include "exchange/counted.h"
#include "exchange/pprof.pb-c.h"
#include "exchange/stacks.h"
#include "exchange/xml.h"
#include "profile_feed.h"
#include "render/flame.h"
#include "render/flame_page.h"
#include "stack_feed.h"
#include "util/text.h"

/*
 * What other programs read: of names that bite, of nothing, of deep stacks. Here each format is
 * taken apart by its own rules; tests/cli/stacks-export.sh has the programs themselves read it.
 */

#define LONG 9000

static char long_names[2][LONG + 2];
static const char *const hostile[] = {
	"a;b",
	"\"<&>'\\",
	"\x1b[31mred\n\t",
	"\xff\xfe",
	"(1) first",
	"(2)",
	"</script><script>",
	"\xe2\x80\xaewrong",
	"\xef\xbf\xbe",
	"calls=3 0",
	"a 17",
	"-->]]>",
	long_names[0],
	long_names[1],
};
#define NAMES (sizeof(hostile) / sizeof(hostile[0]))

static struct image_symbols *hostile_symbols;

static int name_symbols(void *arg, const struct image_id *id, const char *path,
			const struct image_symbols **ret, struct diag *diag)
{
	(void)arg, (void)id, (void)path, (void)diag;
	*ret = hostile_symbols;
	return 0;
}

static int name_lines(void *arg, const struct image_id *id, const char *path,
		      const uint64_t *addresses, size_t count, struct image_lines **ret,
		      struct diag *diag)
{
	struct image_lines *l;

	(void)arg, (void)id, (void)path, (void)diag;
	if (image_lines_new(count, &l))
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		struct lines_frame frame = {.line = 7};
		size_t number = addresses[i] / 0x100 - 1;

		if (number >= NAMES)
			continue;
		frame.function = image_lines_string(l, hostile[number]);
		frame.file = image_lines_string(l, hostile[NAMES - 1 - number]);
		image_lines_set(l, i, &frame, 1);
	}
	*ret = l;
	return image_lines_finish(l);
}

struct made {
	struct query *query;
	struct stack_set *set;
	uint64_t stacks; /* of the first event */
};

static const struct query_selection everything = {0};
static const struct stacks_about about = {"a\"b<\n", 1000, 5000};

static void begin(struct made *m)
{
	*m = (struct made){0};
	assert_int_equal(query_new(&everything, QUERY_SUBJECT, &m->query, NULL), 0);
	assert_int_equal(stack_set_new(m->query, &m->set, NULL), 0);
}

static void add(struct made *m, const char *event, const char *comm, uint64_t count, uint32_t n,
		const uint64_t *frames)
{
	struct feed_stack f = {event, comm, frames, n, count};

	assert_int_equal(feed_stack(m->query, &f), 0);
	m->stacks += count;
}

static void finish(struct made *m)
{
	struct rank_source source = {name_symbols, name_lines, NULL, NULL};
	struct stack_options options = {.inlines = true};

	assert_int_equal(query_finish(m->query, NULL), 0);
	assert_int_equal(stack_set_finish(m->set, &options, &source, NULL), 0);
}

static void end(struct made *m)
{
	stack_set_free(m->set);
	query_free(m->query);
}

/* Each hostile function calls each: so all of them are callers, callees, leaves. */
static void add_hostile(struct made *m)
{
	begin(m);
	for (uint64_t i = 0; i < NAMES; i++)
		for (uint64_t k = 0; k < NAMES; k++) {
			uint64_t frames[] = {0x100 * (i + 1), 0x100 * (k + 1)};

			add(m, "cpu-clock", k % 2 ? "x;\n" : "y", i + 1, 2, frames);
		}
	finish(m);
}

static void add_deep(struct made *m)
{
	static uint64_t frames[DB_STACK_MAX];

	begin(m);
	for (size_t i = 0; i < DB_STACK_MAX; i++)
		frames[i] = 0x100 * (i % NAMES + 1);
	add(m, "cpu-clock", "app", 3, DB_STACK_MAX, frames);
	add(m, "cpu-clock", "app", 4, DB_STACK_MAX / 2, frames);
	finish(m);
}

static void add_nothing(struct made *m)
{
	begin(m);
	finish(m);
}

/* Text that a terminal and any parser of lines can bear. */
static void check_clean(const struct buf *b)
{
	assert_int_equal(b->error, 0);
	if (!b->size)
		return;
	assert_true(text_is_utf8((const char *)b->data, b->size));
	for (size_t i = 0; i < b->size; i++)
		assert_true(b->data[i] >= ' ' || b->data[i] == '\n');
	assert_null(memmem(b->data, b->size, "\xe2\x80\xae", 3));
	assert_null(memmem(b->data, b->size, "\xef\xbf\xbe", 3));
}

/* The lines, which change it; each ends with the newline. */
static char *next_line(struct buf *b, size_t *at)
{
	char *line = (char *)b->data + *at, *stop;

	if (*at == b->size)
		return NULL;
	stop = memchr(line, '\n', b->size - *at);
	assert_non_null(stop);
	*stop = 0;
	*at += (size_t)(stop - line) + 1;
	return line;
}

static void check_folded(const struct made *m, size_t lines, size_t most)
{
	uint64_t sum = 0;
	size_t at = 0, count = 0, depth = 0;
	struct buf b;
	char *line;

	buf_init(&b, 1u << 30);
	assert_int_equal(stacks_write_folded(m->set, &b), 0);
	check_clean(&b);
	for (; (line = next_line(&b, &at)); count++) {
		char *number = strrchr(line, ' ');
		size_t frames = 0;

		assert_non_null(number);
		sum += strtoull(number + 1, NULL, 10);
		for (const char *p = line; *p; p++)
			frames += *p == ';';
		depth = frames > depth ? frames : depth;
	}
	assert_int_equal(sum, m->stacks);
	assert_int_equal(count, lines);
	assert_int_equal(depth, most); /* the command is the first */
	buf_free(&b);
}

static void check_speedscope(const struct made *m, size_t most)
{
	json_t *j, *profile, *sample;
	size_t i, deepest = 0;
	struct buf b;

	buf_init(&b, 1u << 30);
	assert_int_equal(stacks_write_speedscope(m->set, &about, &b), 0);
	check_clean(&b);
	j = json_loadb((char *)b.data, b.size, 0, NULL);
	assert_non_null(j);
	assert_int_equal(json_array_size(json_object_get(json_object_get(j, "shared"), "frames")),
			 m->set->function_count);
	assert_int_equal(json_array_size(json_object_get(j, "profiles")), m->query->event_count);
	profile = json_array_get(json_object_get(j, "profiles"), 0);
	json_array_foreach(json_object_get(profile, "samples"), i, sample) deepest =
		json_array_size(sample) > deepest ? json_array_size(sample) : deepest;
	assert_int_equal(deepest, most);
	assert_int_equal(json_array_size(json_object_get(profile, "weights")),
			 json_array_size(json_object_get(profile, "samples")));
	json_decref(j);
	buf_free(&b);
}

/* Adds up the costs; each line must be one of the format's. The largest of a call is kept: none may
 * cost more than there is, whatever recursion does. */
static void check_callgrind(const struct made *m, size_t functions)
{
	static const char *const names[] = {"ob=", "fl=", "fn=", "cob=", "cfi=", "cfn="};
	uint64_t sum = 0, cost;
	size_t at = 0, own = 0;
	bool called = false, body = false;
	struct buf b;
	char *line;

	buf_init(&b, 1u << 30);
	assert_int_equal(stacks_write_callgrind(m->set, &about, &b), 0);
	check_clean(&b);
	while ((line = next_line(&b, &at))) {
		size_t name = 0;

		body |= !strncmp(line, "summary:", 8);
		if (!body || !*line || !strncmp(line, "summary:", 8))
			continue;
		while (name < 6 && strncmp(line, names[name], strlen(names[name])) != 0)
			name++;
		if (name < 6) {
			const char *text = line + strlen(names[name]);

			assert_true(*text != 0);
			assert_false(text[0] == '(' && text[1] >= '0' && text[1] <= '9');
			own += name == 2;
		} else if (!strncmp(line, "calls=", 6)) {
			called = true;
		} else {
			assert_int_equal(sscanf(line, "%*u %" SCNu64, &cost), 1);
			assert_true(cost <= m->stacks);
			sum += called ? 0 : cost;
			called = false;
		}
	}
	assert_true(body);
	assert_int_equal(sum, m->stacks);
	assert_int_equal(own, functions);
	buf_free(&b);
}

static void check_ids(const Culprit__Pprof__Profile *p, const struct made *m, size_t most)
{
	int64_t sum = 0;
	size_t deepest = 0;

	for (size_t i = 0; i < p->n_sample; i++) {
		const Culprit__Pprof__Sample *s = p->sample[i];

		sum += s->value[0];
		deepest = s->n_location_id > deepest ? s->n_location_id : deepest;
		assert_int_equal(s->n_value, p->n_sample_type);
		for (size_t k = 0; k < s->n_location_id; k++)
			assert_in_range(s->location_id[k], 1, p->n_location);
		for (size_t k = 0; k < s->n_label; k++)
			assert_in_range(s->label[k]->str, 1, p->n_string_table - 1);
	}
	assert_int_equal(sum, m->stacks);
	assert_int_equal(deepest, most);
	for (size_t i = 0; i < p->n_location; i++)
		for (size_t k = 0; k < p->location[i]->n_line; k++)
			assert_in_range(p->location[i]->line[k]->function_id, 1, p->n_function);
	for (size_t i = 0; i < p->n_function; i++)
		assert_in_range(p->function[i]->name, 0, p->n_string_table - 1);
}

static void check_pprof(const struct made *m, size_t most)
{
	static uint8_t raw[8u << 20];
	z_stream z = {0};
	Culprit__Pprof__Profile *p;
	struct buf b;

	buf_init(&b, 1u << 30);
	assert_int_equal(stacks_write_pprof(m->set, &about, &b), 0);
	assert_int_equal(inflateInit2(&z, 16 + MAX_WBITS), Z_OK);
	z.next_in = b.data;
	z.avail_in = (unsigned)b.size;
	z.next_out = raw;
	z.avail_out = sizeof(raw);
	assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
	p = culprit__pprof__profile__unpack(NULL, z.total_out, raw);
	inflateEnd(&z);
	assert_non_null(p);
	assert_int_equal(p->string_table[0][0], 0);
	for (size_t i = 0; i < p->n_string_table; i++)
		assert_true(text_is_utf8(p->string_table[i], strlen(p->string_table[i])));
	assert_int_equal(p->duration_nanos, 4000);
	check_ids(p, m, most);
	culprit__pprof__profile__free_unpacked(p, NULL);
	buf_free(&b);
}

static void check_stacks(struct made *m, size_t lines, size_t most, size_t functions)
{
	check_folded(m, lines, most);
	check_speedscope(m, most);
	check_callgrind(m, functions);
	check_pprof(m, most);
	end(m);
}

static void stacks_hostile(void **state)
{
	struct made m;

	(void)state;
	add_hostile(&m);
	assert_int_equal(m.set->function_count, NAMES);
	check_stacks(&m, NAMES * NAMES, 2, 2 * NAMES); /* each calls itself too */
}

static void stacks_deep(void **state)
{
	struct made m;

	(void)state;
	add_deep(&m);
	check_stacks(&m, 2, DB_STACK_MAX, 2 * NAMES); /* each is under way again */
}

static void stacks_empty(void **state)
{
	struct made m;

	(void)state;
	add_nothing(&m);
	check_stacks(&m, 0, 0, 0);
}

/* Tags must be closed in order, and attributes hold no markup. Returns the sum of the values. */
static double check_tags(const char *p, size_t *ret_statements)
{
	const char *open[16];
	size_t depth = 0;
	double sum = 0;

	for (p = strchr(p, '\n'); (p = strchr(p, '<')); p++) {
		const char *stop = ++p;
		bool quoted = false;

		for (; *stop && (quoted || *stop != '>'); stop++) {
			quoted ^= *stop == '"';
			assert_int_not_equal(*stop, '<');
		}
		assert_int_equal(*stop, '>');
		if (*p == '/') {
			assert_true(depth > 0);
			assert_int_equal(strncmp(open[--depth], p + 1, (size_t)(stop - p - 1)), 0);
		} else if (stop[-1] != '/') {
			assert_true(depth < 16);
			open[depth++] = p;
		}
		if (!strncmp(p, "M n=\"0\" v=\"", 11))
			sum += strtod(p + 11, NULL);
		*ret_statements += !strncmp(p, "S b=", 4);
		p = stop;
	}
	assert_int_equal(depth, 0);
	return sum;
}

static void xml(void **state)
{
	struct feed_profile from = {IMAGE_BUILD_ID, 1, hostile[1], hostile[0], 10, "x"};
	struct rank_source source = {name_symbols, name_lines, NULL, NULL};
	struct rank_options by = {.by = RANK_LINE};

	(void)state;
	for (size_t names = 0; names <= NAMES; names += NAMES) {
		struct query *q;
		struct rank *k;
		size_t statements = 0;
		struct buf b;

		assert_int_equal(query_new(&everything, QUERY_WHOLE, &q, NULL), 0);
		for (uint64_t i = 0; i < names; i++)
			assert_int_equal(feed(q, &from, 0x100 * (i + 1), i + 1), 0);
		assert_int_equal(query_finish(q, NULL), 0);
		assert_int_equal(rank_new(q, &by, &source, &k, NULL), 0);
		buf_init(&b, 1u << 30);
		assert_int_equal(xml_write_profile(q, k, NULL, about.title, &b), 0);
		check_clean(&b);
		buf_append_u8(&b, 0);
		assert_true(check_tags((char *)b.data, &statements) ==
			    (double)(10 * names * (names + 1) / 2));
		assert_int_equal(statements, names);
		buf_free(&b);
		rank_free(k);
		query_free(q);
	}
}

static void counts(void **state)
{
	static struct cfg_function cfg[NAMES];
	struct counted_function functions[NAMES];
	uint64_t executions[] = {UINT64_MAX};
	struct cfg_block block = {.start = 1, .end = UINT64_MAX, .instruction_count = 1};
	struct counted_image image = {hostile[2], hostile_symbols, functions, 0};

	(void)state;
	for (size_t i = 0; i < NAMES; i++) {
		cfg[i] = (struct cfg_function){
			.entry = 0x100 * (i + 1), .blocks = &block, .block_count = 1};
		functions[i] = (struct counted_function){&cfg[i], i, executions, NULL};
	}
	for (; image.function_count <= NAMES; image.function_count += NAMES) {
		size_t at = 0, procedures = 0, blocks = 0;
		struct buf b;
		char *line;

		buf_init(&b, 1u << 30);
		block_counts_write(&image, &b);
		check_clean(&b);
		while ((line = next_line(&b, &at))) {
			procedures += !strncmp(line, "procedure 0x", 12);
			blocks += !strcmp(line,
					  "block 0x1 0xffffffffffffffff 1 18446744073709551615");
		}
		assert_int_equal(procedures, image.function_count);
		assert_int_equal(blocks, image.function_count);
		buf_free(&b);
	}
}

/* The data block of a page. */
static json_t *read_page(const struct flame *f, const char *title)
{
	const struct flame_look look = {title, hostile[6], true};
	struct report_header h = {0};
	char *page = NULL;
	size_t size, data;
	FILE *out = open_memstream(&page, &size);
	json_t *j;

	report_header_note(&h, "%s", hostile[6]);
	assert_int_equal(flame_write(f, &look, &h, out), 0);
	assert_int_equal(fclose(out), 0);
	report_header_free(&h);
	assert_memory_equal(page, flame_page_head, flame_page_head_size);
	data = size - flame_page_head_size - flame_page_tail_size;
	assert_memory_equal(page + flame_page_head_size + data, flame_page_tail,
			    flame_page_tail_size);
	assert_null(memchr(page + flame_page_head_size, '<', data));
	j = json_loadb(page + flame_page_head_size, data, 0, NULL);
	assert_non_null(j);
	free(page);
	return j;
}

static uint32_t add_name(struct flame *f, const char *name)
{
	struct flame_function function = {.name = name, .image = name, .file = name};
	uint32_t number;

	assert_int_equal(flame_add_function(f, &function, &number), 0);
	return number;
}

/* All contexts one below the other. */
static void check_page(uint32_t depth)
{
	uint64_t samples[] = {UINT64_MAX >> 12, 0};
	json_t *j;
	struct flame *f;

	assert_int_equal(flame_new(2, &f), 0);
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(flame_add_event(f, hostile[i], 1e6), 0);
	for (uint32_t i = 0; i < depth; i++)
		assert_int_equal(flame_add_context(f, i, add_name(f, hostile[i % NAMES]), samples),
				 0);
	assert_int_equal(flame_add_context(f, depth + 1, 0, samples), -EINVAL);
	j = read_page(f, hostile[2]);
	flame_free(f);
	assert_string_equal(json_string_value(json_object_get(j, "direction")), "up");
	assert_int_equal(json_array_size(json_object_get(j, "up")), depth);
	assert_int_equal(json_array_size(json_object_get(j, "frame")), depth);
	assert_int_equal(json_array_size(json_object_get(j, "functions")),
			 5 * (depth < NAMES ? depth : NAMES));
	assert_int_equal(json_array_size(json_object_get(j, "self")), 2);
	assert_int_equal(json_array_size(json_array_get(json_object_get(j, "self"), 1)), depth);
	if (depth > 6)
		assert_string_equal(
			json_string_value(json_array_get(json_object_get(j, "strings"), 6)),
			hostile[6]);
	json_decref(j);
}

static void page(void **state)
{
	(void)state;
	check_page(0);
	check_page(NAMES);
	check_page(200000);
}

int main(void)
{
	static struct image_symbol list[NAMES];
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stacks_hostile), cmocka_unit_test(stacks_deep),
		cmocka_unit_test(stacks_empty),	  cmocka_unit_test(xml),
		cmocka_unit_test(counts),	  cmocka_unit_test(page),
	};
	int failed;

	for (int i = 0; i < 2; i++) {
		memset(long_names[i], 'n', LONG);
		long_names[i][LONG] = (char)('0' + i);
	}
	for (size_t i = 0; i < NAMES; i++)
		list[i] = (struct image_symbol){0x100 * (i + 1), 0x100, hostile[i]};
	image_symbols_build(list, NAMES, "test", &hostile_symbols);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	image_symbols_free(hostile_symbols);
	return failed;
}
