/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Event names against trees of files of machines that are not this one (data/machines), and the
 * opening of events on the one that runs the test. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>
#include "collect/events/event.h"
#include "collect/events/event_generic.h"
#include "collect/events/event_name.h"
#include "collect/events/event_suggest.h"
#include "collect/host/host.h"
#include "db/batch.h"

#define PLAIN  TEST_DATA "/machines/plain"
#define HYBRID TEST_DATA "/machines/hybrid"

static struct event must_parse(const char *root, const char *text)
{
	struct event e = {0};
	struct diag diag = {0};
	int r = event_name_parse(root, text, &e, &diag);

	if (r)
		fail_msg("%s: %d %s", text, r, diag.text);
	return e;
}

/* Parses, compares type, config and config1, and frees. */
static void check_code(const char *root, const char *text, uint32_t type, uint64_t config,
		       uint64_t config1)
{
	struct event e = must_parse(root, text);

	if (e.attr.type != type || e.attr.config != config || e.attr.config1 != config1)
		fail_msg("%s: type %u config %#llx config1 %#llx", text, e.attr.type,
			 (unsigned long long)e.attr.config, (unsigned long long)e.attr.config1);
	event_free(&e);
}

static void check_error(const char *root, const char *text, int err, const char *part)
{
	struct event e = {.period = 77};
	struct diag diag = {0};
	int r = event_name_parse(root, text, &e, &diag);

	if (r != -err || !strstr(diag.text, part))
		fail_msg("%s: %d (wanted %d), '%s' (wanted '%s')", text, r, -err, diag.text, part);
	assert_true(e.period == 77); /* untouched */
}

static void test_generic(void **state)
{
	(void)state;
	check_code(PLAIN, "cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, 0);
	check_code(PLAIN, "branch-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES, 0);
	check_code(PLAIN, "idle-cycles-backend", PERF_TYPE_HARDWARE,
		   PERF_COUNT_HW_STALLED_CYCLES_BACKEND, 0);
	check_code(PLAIN, "cs", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES, 0);
	check_code(PLAIN, "faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, 0);
	check_code(PLAIN, "r01c2", PERF_TYPE_RAW, 0x1c2, 0);
	check_code(PLAIN, "rFFFFFFFFFFFFFFFF", PERF_TYPE_RAW, UINT64_MAX, 0);
	check_error(PLAIN, "r10000000000000000", ENOENT, "r1000");
	check_error(PLAIN, "", EINVAL, "no name");
	check_error(PLAIN, ":u", EINVAL, "no name");
	check_error(PLAIN, "cylces", ENOENT, "did you mean cycles");
}

static void test_tick(void **state)
{
	static const char *const names[] = {"tick", DB_EVENT_TICK_NAME};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct event e = must_parse(PLAIN, names[i]);

		assert_true(e.tick && e.user && e.kernel && event_is_clock(&e));
		assert_string_equal(e.name, DB_EVENT_TICK_NAME);
		event_free(&e);
	}
	check_error(PLAIN, "tick:u", EOPNOTSUPP, "no modifiers");
	check_error(PLAIN, "tick:k", EOPNOTSUPP, "no modifiers");
	check_error(PLAIN, "tick@1000000", EOPNOTSUPP, "no period");
	check_error(PLAIN, "cpu-clock:tick:2M", EOPNOTSUPP, "no period");
	check_error(PLAIN, "tock", ENOENT, "did you mean tick");
}

static void test_cache(void **state)
{
	(void)state;
	check_code(PLAIN, "L1-dcache-load-misses", PERF_TYPE_HW_CACHE, 0x10000, 0);
	check_code(PLAIN, "L1-dcache-loads", PERF_TYPE_HW_CACHE, 0, 0);
	check_code(PLAIN, "l1d", PERF_TYPE_HW_CACHE, 0, 0);
	check_code(PLAIN, "L1-d-miss-write", PERF_TYPE_HW_CACHE, 0x10100, 0);
	check_code(PLAIN, "LLC-loads", PERF_TYPE_HW_CACHE, 2, 0);
	check_code(PLAIN, "dTLB-store-misses", PERF_TYPE_HW_CACHE, 0x10103, 0);
	check_code(PLAIN, "iTLB-load-misses", PERF_TYPE_HW_CACHE, 0x10004, 0);
	check_code(PLAIN, "branch-loads", PERF_TYPE_HW_CACHE, 5, 0);
	check_code(PLAIN, "node-speculative-read-miss", PERF_TYPE_HW_CACHE, 0x10206, 0);
	check_error(PLAIN, "iTLB-stores", ENOENT, "iTLB");
	check_error(PLAIN, "L1-dcache-", ENOENT, "L1-dcache");
	check_error(PLAIN, "L1-dcache-load-loads", ENOENT, "L1-dcache");
	check_error(PLAIN, "LLC-missed", ENOENT, "LLC");
}

/* Whatever a listing shows must parse. */
static void parse_listed(void *arg, const char *kind, const char *name)
{
	struct perf_event_attr attr;

	(void)kind;
	++*(int *)arg;
	if (event_generic_encode(name, &attr))
		fail_msg("%s is listed and does not parse", name);
}

static void test_listing(void **state)
{
	int count = 0;

	(void)state;
	event_generic_each(parse_listed, &count);
	assert_true(count > 50);
}

/* What is counted goes by one name, however it was asked for. */
static void check_name(const char *text, const char *name)
{
	struct event e = must_parse(PLAIN, text);

	assert_string_equal(e.name, name);
	event_free(&e);
}

static void test_modifiers(void **state)
{
	struct event e = must_parse(PLAIN, "cycles:upp:100003");

	(void)state;
	assert_string_equal(e.name, "cycles:upp");
	assert_true(e.user && !e.kernel && e.attr.exclude_kernel && !e.attr.exclude_user);
	assert_int_equal(e.attr.precise_ip, 2);
	assert_int_equal(e.period, 100003);
	event_free(&e);
	e = must_parse(PLAIN, "cpu-clock@1M");
	assert_string_equal(e.name, "cpu-clock");
	assert_int_equal(e.period, 1000000);
	assert_true(e.user && e.kernel && event_is_clock(&e));
	event_free(&e);
	e = must_parse(PLAIN, "cache-misses:kh");
	assert_true(!e.user && e.kernel && !e.attr.exclude_hv);
	event_free(&e);
	e = must_parse(PLAIN, "cycles:p");
	assert_true(e.user && e.kernel && e.attr.precise_ip == 1);
	event_free(&e);
	check_name("PERF_COUNT_SW_CPU_CLOCK", "cpu-clock");
	check_name("perf::TASK-CLOCK:u:2M", "task-clock:u");
	check_name("CPU-CLOCK", "cpu-clock");
	check_name("PERF_COUNT_HW_CPU_CYCLES:k", "cycles:k");
	check_name("cpu-cycles:u", "cpu-cycles:u");
	check_name("faults", "faults");
	check_error(PLAIN, "{cycles", EINVAL, "groups are not supported");
	check_error(PLAIN, "cycles:pppp", EINVAL, "ppp");
	check_error(PLAIN, "cycles:h", EINVAL, "hypervisor");
	check_error(PLAIN, "cycles:x", EINVAL, "not a modifier");
	check_error(PLAIN, "cycles:G", EINVAL, "not a modifier");
	check_error(PLAIN, "cycles:0", EINVAL, "positive");
	check_error(PLAIN, "cycles:12x", EINVAL, "positive");
	check_error(PLAIN, "cycles@", EINVAL, "positive");
	check_error(PLAIN, "cycles:9223372036854775808", EINVAL, "positive");
	check_error(PLAIN, "cpu-clock:9999", EINVAL, "nanoseconds");
	check_error(PLAIN, "cpu-clock:p", EOPNOTSUPP, "precise");
	check_error(PLAIN, "cs:u", EOPNOTSUPP, "never");
}

static void test_pmu(void **state)
{
	struct event e;

	(void)state;
	check_code(PLAIN, "cpu/config=0x1,event=0x3c,umask=1/", PERF_TYPE_RAW, 0x13c, 0);
	check_code(PLAIN, "cpu/event=0xcd,umask=0x1,ldlat=30,inv/", PERF_TYPE_RAW, 0x8001cd, 30);
	check_code(PLAIN, "cpu/split=0xabc/", PERF_TYPE_RAW, 0xa000000bc, 0);
	check_code(PLAIN, "cpu/config1=0xffffffffffffffff/", PERF_TYPE_RAW, 0, UINT64_MAX);
	check_code(PLAIN, "cpu/mem-loads/", PERF_TYPE_RAW, 0x1cd, 3);
	/* What follows an event's name changes it. */
	check_code(PLAIN, "cpu/mem-loads,ldlat=99/", PERF_TYPE_RAW, 0x1cd, 99);
	check_code(PLAIN, "topdown-slots", PERF_TYPE_RAW, 0x400, 0);
	check_code(PLAIN, "cas_count_read", 13, 4, 0);
	check_code(PLAIN, "cpu/cycles/", PERF_TYPE_HARDWARE, 0x400000000, 0);
	e = must_parse(PLAIN, "cpu/event=0x3c,name=halt,period=5k/pp:7");
	assert_string_equal(e.name, "halt");
	assert_int_equal(e.attr.precise_ip, 2);
	assert_int_equal(e.period, 5000); /* the term is nearer to the event */
	event_free(&e);
	e = must_parse(PLAIN, "cpu/event=0x3c/:u:7");
	assert_string_equal(e.name, "cpu/event=0x3c/:u");
	assert_true(e.period == 7 && !e.kernel && !e.cpus);
	event_free(&e);
}

static void test_pmu_errors(void **state)
{
	(void)state;
	check_error(PLAIN, "gpu/event=1/", ENOENT, "no PMU 'gpu'");
	check_error(PLAIN, "cpu/evnt=1/", ENOENT, "evnt");
	check_error(PLAIN, "cpu/event=1", EINVAL, "two slashes");
	check_error(PLAIN, "cpu/event=1/x", EINVAL, "two slashes");
	check_error(PLAIN, "cpu/event=0x100/", EINVAL, "does not fit");
	check_error(PLAIN, "cpu/event=abc/", EINVAL, "not a number");
	check_error(PLAIN, "cpu/broken=1/", EINVAL, "unknown way");
	check_error(PLAIN, "cpu/period=0/", EINVAL, "positive");
	check_error(PLAIN, "../event=1/", ENOENT, "PMU");
	check_error(PLAIN, "cpu/..=1/", EINVAL, "field");
	check_error(PLAIN, "/event=1/", ENOENT, "PMU");
	check_error(PLAIN, "cpu/loop/", ENOENT, "loop"); /* an event file that names itself */
}

static void test_hybrid(void **state)
{
	struct event e = must_parse(HYBRID, "cpu_atom/mem-loads/");

	(void)state;
	assert_int_equal(e.attr.type, 10);
	assert_string_equal(e.cpus, "8-15");
	assert_true(event_runs_on(&e, 8) && !event_runs_on(&e, 7));
	event_free(&e);
	e = must_parse(HYBRID, "cpu_atom/cycles/");
	assert_true(e.attr.type == PERF_TYPE_HARDWARE && e.attr.config == 10ull << 32);
	event_free(&e);
	e = must_parse(HYBRID, "cycles");
	assert_true(event_runs_on(&e, 0) && event_runs_on(&e, 15));
	event_free(&e);
	assert_int_equal(host_first_cpu(HYBRID, "8-15"), 8);
	assert_int_equal(host_first_cpu(HYBRID, "3-7"), -ENODEV);
	assert_int_equal(host_first_cpu(HYBRID, NULL), 0);
	assert_true(host_has_core_pmu(HYBRID) && host_has_core_pmu(PLAIN));
	assert_true(host_is_virtual(HYBRID) && !host_is_virtual(PLAIN));
	assert_int_equal(host_idle_ns(HYBRID), (4500 + 20) * (1000000000 / sysconf(_SC_CLK_TCK)));
	assert_int_equal(host_idle_ns(PLAIN), 0); /* it does not say */
	assert_int_equal(host_interrupts(HYBRID), 12345);
	assert_int_equal(host_interrupts(PLAIN), 0);
}

static void test_tracepoints(void **state)
{
	(void)state;
	check_code(PLAIN, "sched:sched_switch", PERF_TYPE_TRACEPOINT, 314, 0);
	check_code(PLAIN, "sched:sched_switch:k:10", PERF_TYPE_TRACEPOINT, 314, 0);
	/* Called like modifiers. */
	check_code(PLAIN, "sched:up", PERF_TYPE_TRACEPOINT, 315, 0);
	check_code(PLAIN, "sched:up:k:10", PERF_TYPE_TRACEPOINT, 315, 0);
	check_error(PLAIN, "sched:sched_swich", ENOENT, "did you mean sched:sched_switch");
	check_error(PLAIN, "sched:sched_switch:u", EOPNOTSUPP, "never");
	check_error(PLAIN, "sched:sched_odd", ENOENT, "sched");
	check_error(PLAIN, "sched:..", ENOENT, "sched");
	check_error(HYBRID, "sched:sched_switch", EOPNOTSUPP, "mount -t tracefs");
}

static void test_libpfm(void **state)
{
	(void)state;
	/* A table of the library that no machine of this kind can be: it must know the name. */
	check_error(PLAIN, "TC_DELIVER_MODE:DD", EOPNOTSUPP, "not for this processor");
	check_code(PLAIN, "PERF_COUNT_HW_INSTRUCTIONS", PERF_TYPE_HARDWARE,
		   PERF_COUNT_HW_INSTRUCTIONS, 0);
}

static void test_distance(void **state)
{
	struct event_suggest s;
	char near[300];

	(void)state;
	assert_int_equal(event_suggest_distance("cycles", "cycles", 3), 0);
	assert_int_equal(event_suggest_distance("CPU_clock", "cpu-clock", 3), 0);
	assert_int_equal(event_suggest_distance("cylces", "cycles", 3), 1);
	assert_int_equal(event_suggest_distance("kitten", "sitting", 3), 3);
	assert_int_equal(event_suggest_distance("kitten", "sitting", 2), 3);
	assert_int_equal(event_suggest_distance("", "abc", 9), 3);
	event_suggest_init(&s, "cylces");
	event_suggest_offer(&s, "ref-cycles");
	event_suggest_offer(&s, "cycle");
	event_suggest_offer(&s, "cycles");
	event_suggest_offer(&s, "cycles");
	event_suggest_format(&s, near, sizeof(near));
	assert_string_equal(near, "cycles or cycle");
}

/* Text that nobody would type must give an error, not a crash. */
static void test_hostile(void **state)
{
	static const char *const texts[] = {
		"/",	  "//",	       "///",	  ":",		"::",	      "@",
		"a/",	  "cpu/,,,=/", "cpu/=1/", "cpu/name=/", "\x1b[2J",    "a:b:c:d:e",
		"cpu//u", "%s%n",      "r",	  "-",		"L1-dcache--"};
	struct event e;
	struct diag diag;
	char *big = malloc(5000);

	(void)state;
	assert_non_null(big);
	memset(big, 'a', 4999);
	big[4999] = 0;
	assert_int_equal(event_name_parse(PLAIN, big, &e, &diag), -EINVAL);
	big[1020] = 0;
	assert_int_equal(event_name_parse(PLAIN, big, &e, &diag), -ENOENT);
	free(big);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (!event_name_parse(PLAIN, texts[i], &e, &diag))
			event_free(&e);
}

/* What this machine itself says: an event either opens, or the error says which of the two it is.
 * Without privileges everything is -EACCES, and there is nothing more to see. */
static void test_this_machine(void **state)
{
	struct event e;
	struct diag diag = {0};
	const char *why = NULL;
	int r = event_parse("cpu-clock", &e, &diag), fd;

	(void)state;
	if (r == -EACCES || r == -EOPNOTSUPP)
		skip();
	assert_int_equal(r, 0);
	fd = event_open(&e, host_first_cpu("", NULL), 2000000, -1, &diag);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(event_open(&e, 4000, 2000000, -1, &diag), -ENODEV);
	event_free(&e);
	r = event_parse("cycles", &e, &diag);
	if (!r)
		event_free(&e);
	else if (r != -EBUSY)
		assert_int_equal(r, -EOPNOTSUPP);
	assert_int_equal(event_parse("cycels", &e, &diag), -ENOENT);
	assert_int_equal(event_default(&e, &why, &diag), 0);
	assert_non_null(why);
	assert_int_equal(event_is_clock(&e), !strncmp(e.name, "cpu-clock", 9));
	event_free(&e);
}

/* Makes each folder of a path below root, and gives the whole. */
static void make_folders(const char *root, const char *path, char *out, size_t room)
{
	for (const char *at = path; at; at = strchr(at + 1, '/')) {
		const char *next = strchr(at + 1, '/');

		snprintf(out, room, "%s%.*s", root, (int)(next ? next - path : 99), path);
		mkdir(out, 0755);
	}
}

/* A real tracepoint, from a tracefs that is mounted for this process only. */
static void test_real_tracepoint(void **state)
{
	char root[] = "/tmp/culprit-test-XXXXXX", path[64];
	struct event e;
	struct diag diag = {0};
	int fd;

	(void)state;
	if (geteuid() || unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
		skip();
	assert_non_null(mkdtemp(root));
	/* The mounts are in this namespace alone, and go with it. */
	if (mount("tmpfs", root, "tmpfs", 0, NULL)) {
		rmdir(root);
		skip();
	}
	make_folders(root, "/sys/kernel/tracing", path, sizeof(path));
	if (!mount("tracefs", path, "tracefs", 0, NULL)) {
		assert_int_equal(event_name_parse(root, "sched:sched_swich", &e, &diag), -ENOENT);
		assert_non_null(strstr(diag.text, "sched:sched_switch"));
		assert_int_equal(event_name_parse(root, "sched:sched_switch:5", &e, &diag), 0);
		assert_true(event_is_tracepoint(&e) && e.attr.config && e.period == 5);
		fd = event_open(&e, host_first_cpu("", NULL), 0, -1, &diag);
		assert_true(fd >= 0 || fd == -EACCES);
		if (fd >= 0)
			close(fd);
		event_free(&e);
		umount(path);
	}
	umount(root);
	rmdir(root);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_generic),	     cmocka_unit_test(test_tick),
		cmocka_unit_test(test_cache),	     cmocka_unit_test(test_listing),
		cmocka_unit_test(test_modifiers),    cmocka_unit_test(test_pmu),
		cmocka_unit_test(test_pmu_errors),   cmocka_unit_test(test_hybrid),
		cmocka_unit_test(test_tracepoints),  cmocka_unit_test(test_libpfm),
		cmocka_unit_test(test_distance),     cmocka_unit_test(test_hostile),
		cmocka_unit_test(test_this_machine), cmocka_unit_test(test_real_tracepoint),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
