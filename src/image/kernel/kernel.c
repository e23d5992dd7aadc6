/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * The set of regions over time. /proc/kallsyms says what there is; events of BPF programs say it
 * sooner and with sizes. A region that went away is kept for GONE_REFRESHES refreshes, since its
 * last samples are still on their way, unless its addresses are reused.
 */
#include "image/kernel/kernel.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "image/kernel/kernel_read.h"
#include "image/kernel/kernel_scan.h"
#include "image/kernel/kernel_state.h"

#define GONE_REFRESHES 2

static int kernel_new(const char *root, bool whole, struct image_kernel **ret, struct diag *diag)
{
	struct image_kernel *k = calloc(1, sizeof(*k));
	int r = -ENOMEM;

	if (!k || !(k->root = strdup(root)))
		goto fail;
	/* Before the scan: what comes between the two is then scanned again. */
	k->signature_known = whole && !kernel_scan_signature(root, &k->signature);
	r = kernel_scan(root, whole, &k->regions, &k->counts.lines_refused, diag);
	if (r)
		goto fail;
	k->counts.scans = whole;
	k->unnamed = kernel_scan_bpf_region(KERNEL_MADE_START, KERNEL_MADE_END - KERNEL_MADE_START,
					    KERNEL_UNNAMED_PATH)
			     .region;
	*ret = k;
	return 0;
fail:
	image_kernel_free(k);
	return r;
}

int image_kernel_new(const char *root, struct image_kernel **ret, struct diag *diag)
{
	return kernel_new(root, true, ret, diag);
}

int image_kernel_new_core(const char *root, struct image_kernel **ret, struct diag *diag)
{
	return kernel_new(root, false, ret, NULL) ? kernel_new(root, true, ret, diag) : 0;
}

void image_kernel_free(struct image_kernel *k)
{
	if (!k)
		return;
	kernel_regions_free(&k->regions);
	kread_bpf_free(k->reader);
	free(k->root);
	free(k);
}

struct image_kernel_counts image_kernel_counts(const struct image_kernel *k)
{
	struct image_kernel_counts counts = k->counts;

	counts.regions = k->regions.count;
	counts.regions_refused = k->regions.refused;
	return counts;
}

/* Carries over to a new scan what only the old set knew. */
static int regions_inherit(struct kernel_regions *to, const struct kernel_regions *from)
{
	for (size_t i = 0; i < from->count; i++) {
		struct kernel_region old = from->list[i];
		long same = kernel_regions_find_start(to, old.region.start);

		if (same >= 0 && !strcmp(to->list[same].region.path, old.region.path)) {
			/* Never longer than what the next region leaves to it. */
			if (old.exact && old.region.end < to->list[same].region.end)
				to->list[same].region.end = old.region.end;
			to->list[same].exact |= old.exact;
			continue;
		}
		if (++old.gone > GONE_REFRESHES ||
		    !kernel_regions_is_free(to, old.region.start, old.region.end))
			continue;
		int r = kernel_regions_insert(to, &old);
		if (r && r != -ENOSPC)
			return r;
	}
	return 0;
}

int image_kernel_refresh(struct image_kernel *k)
{
	struct kernel_regions fresh = {0};
	uint64_t signature = 0, lines_refused;
	bool known = !kernel_scan_signature(k->root, &signature);

	if (known && k->signature_known && signature == k->signature)
		return 0;
	int r = kernel_scan(k->root, true, &fresh, &lines_refused, NULL);
	if (!r)
		r = regions_inherit(&fresh, &k->regions);
	if (r) {
		kernel_regions_free(&fresh);
		return r;
	}
	fresh.refused += k->regions.refused;
	kernel_regions_free(&k->regions);
	k->regions = fresh;
	k->signature = signature;
	k->signature_known = known;
	k->counts.lines_refused = lines_refused;
	k->counts.scans++;
	return 0;
}

int image_kernel_ksymbol(struct image_kernel *k, uint64_t address, uint64_t size, const char *name,
			 int unregister)
{
	long at = kernel_regions_find_start(&k->regions, address);
	uint64_t end = address + size < address ? UINT64_MAX : address + size;

	if (unregister && at >= 0 && !strcmp(k->regions.list[at].region.path, name)) {
		if (!k->regions.list[at].gone)
			k->regions.list[at].gone = 1;
		return 0;
	}
	/* Before the first scan it may well have been there. */
	if (unregister && (k->counts.scans || !kernel_regions_is_free(&k->regions, address, end)))
		return -ENOENT;
	struct kernel_region r = kernel_scan_bpf_region(address, size, name);
	if (!address || !size || !*name || r.region.end - r.region.start != size)
		return -EINVAL;
	r.exact = true;
	r.gone = unregister ? 1 : 0;
	return kernel_regions_insert(&k->regions, &r);
}

const struct image_kernel_region *image_kernel_find(const struct image_kernel *k, uint64_t address)
{
	long i = kernel_regions_find(&k->regions, address);

	return i < 0 ? NULL : &k->regions.list[i].region;
}

bool image_kernel_is_core(const struct image_kernel *k, uint64_t address)
{
	return address >= k->regions.core_start && address < k->regions.core_end;
}
