/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include "collect/check/check.h"
#include "collect/events/event_tracepoint.h"
#include "collect/host/host.h"

#define CONFIG_BYTES_MAX (4 << 20)

/* Options without which nothing works; each is a matter of building another kernel. */
static const char *const needed_options[] = {
	"CONFIG_PERF_EVENTS",
	"CONFIG_BPF_SYSCALL",
	"CONFIG_BPF_EVENTS",
	"CONFIG_DEBUG_INFO_BTF",
};
/* Each makes something better. */
static const char *const wished_options[] = {
	"CONFIG_BPF_JIT",     "CONFIG_KALLSYMS",	"CONFIG_MEMBARRIER",
	"CONFIG_TRACEPOINTS", "CONFIG_HIGH_RES_TIMERS",
};

static void check_version(struct check_list *l)
{
	char release[128];
	struct check *c;
	int major = 0, minor = 0;

	if (host_read_text(l->root, "/proc/sys/kernel/osrelease", release, sizeof(release)) < 0 ||
	    sscanf(release, "%d.%d", &major, &minor) != 2) {
		check_add(l, "version", CHECK_PARTIAL, "unknown: /proc is not mounted");
		return;
	}
	/* The perf event cookie, by which the handler knows its event, came with 5.15. */
	if (major > 5 || (major == 5 && minor >= 15)) {
		check_add(l, "version", CHECK_GOOD, "%s", release);
		return;
	}
	c = check_add(l, "version", CHECK_BAD, "%s: older than 5.15, the first that works",
		      release);
	check_mend(c, "install a kernel of version 5.15 or later");
}

static void check_pids(struct check_list *l)
{
	struct diag diag;
	int r = host_check_pids(l->root, &diag);

	if (r == -ENOENT)
		check_mend(check_add(l, "pid_namespace", CHECK_BAD, "/proc is not mounted"),
			   "mount -t proc proc /proc");
	else if (r)
		check_mend(
			check_add(l, "pid_namespace", CHECK_BAD,
				  "a container's: its process IDs are not those that are sampled"),
			"run it on the host, or in a container with --pid=host");
	else
		check_add(l, "pid_namespace", CHECK_GOOD, "the machine's own");
}

/* The configuration as text; NULL when the kernel does not give it. The caller frees it. */
static char *read_config(const char *root)
{
	char path[512], *text = malloc(CONFIG_BYTES_MAX);
	gzFile f;
	int n = -1;

	if (!text)
		return NULL;
	snprintf(path, sizeof(path), "%s/proc/config.gz", root);
	f = gzopen(path, "rbe");
	if (!f) {
		char release[128];

		if (host_read_text(root, "/proc/sys/kernel/osrelease", release, sizeof(release)) >
		    0) {
			snprintf(path, sizeof(path), "%s/boot/config-%s", root, release);
			f = gzopen(path, "rbe"); /* reads what is not compressed as it is */
		}
	}
	if (f) {
		n = gzread(f, text, CONFIG_BYTES_MAX - 1);
		gzclose(f);
	}
	if (n <= 0) {
		free(text);
		return NULL;
	}
	text[n] = 0;
	return text;
}

/* Built in; nothing here can be a module. */
static bool has_option(const char *config, const char *option)
{
	char line[96];

	snprintf(line, sizeof(line), "\n%s=y\n", option);
	return strstr(config, line);
}

static void list_missing(const char *config, const char *const *options, size_t count, char *out,
			 size_t room)
{
	size_t used = 0;

	out[0] = 0;
	for (size_t i = 0; i < count && used < room; i++)
		if (!has_option(config, options[i]))
			used += (size_t)snprintf(out + used, room - used, "%s%s", used ? " " : "",
						 options[i]);
}

static void check_config(struct check_list *l)
{
	char *config = read_config(l->root), missing[180];
	struct check *c;

	if (!config) {
		check_add(l, "config", CHECK_FACT,
			  "not provided by this kernel; what matters is tested below");
		return;
	}
	list_missing(config, needed_options, sizeof(needed_options) / sizeof(needed_options[0]),
		     missing, sizeof(missing));
	if (missing[0]) {
		c = check_add(l, "config", CHECK_BAD, "without %s", missing);
		check_mend(c, "use a kernel built with %s", missing);
	} else {
		check_add(l, "config", CHECK_GOOD, "has all that is needed");
	}
	list_missing(config, wished_options, sizeof(wished_options) / sizeof(wished_options[0]),
		     missing, sizeof(missing));
	if (missing[0]) {
		c = check_add(l, "config_wishes", CHECK_PARTIAL, "without %s", missing);
		check_mend(c, "use a kernel built with %s", missing);
	}
	free(config);
}

static void check_btf(struct check_list *l)
{
	struct check *c;

	if (host_exists(l->root, "/sys/kernel/btf/vmlinux")) {
		check_add(l, "btf", CHECK_GOOD, "/sys/kernel/btf/vmlinux");
		return;
	}
	c = check_add(
		l, "btf", CHECK_BAD,
		"no /sys/kernel/btf/vmlinux: the in-kernel program cannot adapt to this kernel");
	check_mend(c, "use a kernel built with CONFIG_DEBUG_INFO_BTF=y (or mount -t sysfs sysfs "
		      "/sys)");
}

static void check_clock(struct check_list *l)
{
	char name[64];
	struct check *c;

	if (host_read_text(l->root,
			   "/sys/devices/system/clocksource/clocksource0/current_clocksource", name,
			   sizeof(name)) < 0)
		return;
	/* Each of these is a trip to a device or to the hypervisor for each reading of the time. */
	if (!strcmp(name, "hpet") || !strcmp(name, "acpi_pm") || !strcmp(name, "xen")) {
		c = check_add(l, "clocksource", CHECK_PARTIAL, "%s: each reading is slow", name);
		check_mend(c, "sudo sh -c 'echo tsc > "
			      "/sys/devices/system/clocksource/clocksource0/current_clocksource'");
	} else {
		check_add(l, "clocksource", CHECK_GOOD, "%s", name);
	}
}

static void check_nohz(struct check_list *l)
{
	char cpus[128];

	if (host_read_text(l->root, "/sys/devices/system/cpu/nohz_full", cpus, sizeof(cpus)) > 0 &&
	    strcmp(cpus, "(null)"))
		check_add(l, "nohz_full", CHECK_PARTIAL,
			  "CPUs %s run without ticks: tables are switched more slowly, and "
			  "sampling disturbs CPUs that were to be left alone",
			  cpus);
	else
		check_add(l, "nohz_full", CHECK_GOOD, "off");
}

static void check_tracefs(struct check_list *l)
{
	int denied;
	const char *folder = event_tracepoint_folder(l->root, &denied);
	struct check *c;

	if (folder) {
		check_add(l, "tracefs", CHECK_GOOD, "%s", folder);
		return;
	}
	c = check_add(l, "tracefs", CHECK_PARTIAL,
		      denied ? "may not be read: no tracepoint events"
			     : "not mounted: no tracepoint events");
	check_mend(c, denied ? "sudo mount -o remount,mode=755 /sys/kernel/tracing"
			     : "sudo mount -t tracefs nodev /sys/kernel/tracing");
}

void check_kernel(struct check_list *l)
{
	l->group = "kernel";
	check_version(l);
	check_pids(l);
	check_config(l);
	check_btf(l);
	check_tracefs(l);
	check_clock(l);
	check_nohz(l);
	check_add(l, "virtual_machine", CHECK_FACT, "%s",
		  host_is_virtual(l->root)
			  ? "yes: an interrupt costs several times what it does on bare metal"
			  : "no");
}
