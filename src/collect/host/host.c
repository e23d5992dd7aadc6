/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "collect/host/host.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CPUS_MAX 65536

static int open_under(const char *root, const char *path)
{
	char full[PATH_MAX];
	int fd;

	if (snprintf(full, sizeof(full), "%s%s", root, path) >= (int)sizeof(full))
		return -ENAMETOOLONG;
	/* Not blocking: nothing here is worth waiting for, a FIFO least of all. */
	fd = open(full, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	return fd < 0 ? -errno : fd;
}

long host_read_text(const char *root, const char *path, char *out, size_t room)
{
	int fd = open_under(root, path);
	size_t size = 0;
	ssize_t n = 0;

	if (fd < 0)
		return fd;
	while (size + 1 < room && (n = read(fd, out + size, room - 1 - size)) > 0)
		size += (size_t)n;
	if (n < 0) {
		int r = errno;

		close(fd);
		return -r;
	}
	close(fd);
	while (size && isspace((unsigned char)out[size - 1]))
		size--;
	out[size] = 0;
	return (long)size;
}

int host_read_number(const char *root, const char *path, long long *ret)
{
	char text[64], *end;
	long size = host_read_text(root, path, text, sizeof(text));
	long long v;

	if (size < 0)
		return (int)size;
	errno = 0;
	v = strtoll(text, &end, 10);
	if (end == text || *end || errno)
		return -EINVAL;
	*ret = v;
	return 0;
}

bool host_exists(const char *root, const char *path)
{
	char full[PATH_MAX];

	return snprintf(full, sizeof(full), "%s%s", root, path) < (int)sizeof(full) &&
	       !access(full, F_OK);
}

bool host_is_virtual(const char *root)
{
	char text[16384];
	const char *flags;

	if (host_exists(root, "/proc/device-tree/hypervisor") ||
	    host_exists(root, "/sys/hypervisor/type"))
		return true;
	if (host_read_text(root, "/proc/cpuinfo", text, sizeof(text)) < 0)
		return false;
	flags = strstr(text, "\nflags");
	return flags && memmem(flags + 1, strcspn(flags + 1, "\n"), " hypervisor", 11);
}

bool host_has_core_pmu(const char *root)
{
	static const char devices[] = "/sys/bus/event_source/devices";
	char path[PATH_MAX];
	bool found = false;
	DIR *dir;

	if (snprintf(path, sizeof(path), "%s%s", root, devices) >= (int)sizeof(path))
		return false;
	dir = opendir(path);
	if (!dir)
		return false;
	/* x86 has "cpu"; each kind of core of a mixed machine has its own with a list of CPUs. */
	for (struct dirent *d; !found && (d = readdir(dir));) {
		if (d->d_name[0] == '.')
			continue;
		if (!strcmp(d->d_name, "cpu"))
			found = true;
		else if (snprintf(path, sizeof(path), "%s/%s/cpus", devices, d->d_name) <
			 (int)sizeof(path))
			found = host_exists(root, path);
	}
	closedir(dir);
	return found;
}

/* Reads one "A" or "A-B" of a list; false at its end or where it is not a list. */
static bool next_range(const char **at, long *ret_first, long *ret_last)
{
	char *end;

	if (!isdigit((unsigned char)**at))
		return false;
	*ret_first = *ret_last = strtol(*at, &end, 10);
	if (*end == '-')
		*ret_last = strtol(end + 1, &end, 10);
	*at = *end == ',' ? end + 1 : end;
	return true;
}

bool host_list_has_cpu(const char *list, int cpu)
{
	long first, last;

	while (next_range(&list, &first, &last))
		if (cpu >= first && cpu <= last)
			return true;
	return false;
}

static void read_online(const char *root, char *out, size_t room)
{
	if (host_read_text(root, "/sys/devices/system/cpu/online", out, room) < 0)
		snprintf(out, room, "0");
}

bool host_cpu_is_online(const char *root, int cpu)
{
	char online[4096];

	read_online(root, online, sizeof(online));
	return host_list_has_cpu(online, cpu);
}

uint64_t host_idle_ns(const char *root)
{
	unsigned long long idle, waiting;
	char text[512];

	if (host_read_text(root, "/proc/stat", text, sizeof(text)) < 0 ||
	    sscanf(text, "cpu %*u %*u %*u %llu %llu", &idle, &waiting) != 2)
		return 0;
	return (idle + waiting) * (1000000000u / (uint64_t)sysconf(_SC_CLK_TCK));
}

uint64_t host_interrupts(const char *root)
{
	char path[PATH_MAX], line[512];
	unsigned long long count = 0;
	bool fresh = true;
	FILE *f;

	if (snprintf(path, sizeof(path), "%s/proc/stat", root) >= (int)sizeof(path))
		return 0;
	f = fopen(path, "re");
	/* The line of interrupts is as long as there are kinds of them. */
	while (f && fgets(line, sizeof(line), f)) {
		if (fresh && sscanf(line, "intr %llu", &count) == 1)
			break;
		fresh = strchr(line, '\n') != NULL;
	}
	if (f)
		fclose(f);
	return count;
}

int host_first_cpu(const char *root, const char *list)
{
	char online[4096];
	const char *at = online;
	long first, last;

	read_online(root, online, sizeof(online));
	while (next_range(&at, &first, &last))
		for (long cpu = first; cpu <= last && cpu < CPUS_MAX; cpu++)
			if (!list || host_list_has_cpu(list, (int)cpu))
				return (int)cpu;
	return -ENODEV;
}

const char *host_program_path(char *out, size_t room)
{
	ssize_t n = readlink("/proc/self/exe", out, room - 1);

	if (n <= 0 || (size_t)n == room - 1) /* no /proc, or cut */
		n = snprintf(out, room, "%s", "/usr/bin/culprit");
	out[n] = 0;
	return out;
}

/* PROC_PID_INIT_INO of include/linux/proc_ns.h: the same on every machine. */
#define FIRST_PID_NAMESPACE 0xeffffffcu

int host_check_pids(const char *root, struct diag *diag)
{
	char path[PATH_MAX];
	struct stat st;

	snprintf(path, sizeof(path), "%s/proc/self/ns/pid", root);
	if (stat(path, &st))
		return diag_fail(diag, ENOENT,
				 "/proc is not mounted, so processes cannot be identified: mount "
				 "-t proc proc /proc");
	if (st.st_ino != FIRST_PID_NAMESPACE)
		return diag_fail(
			diag, EOPNOTSUPP,
			"in a PID namespace (a container's), process IDs are not those that are "
			"sampled: run it on the host, or in a container with --pid=host");
	return 0;
}
