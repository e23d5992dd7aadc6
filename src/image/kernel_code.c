/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "image/kernel.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include "image/kernel_read.h"
#include "image/kernel_state.h"

int image_kernel_code(struct image_kernel *k, uint64_t address, size_t size, uint8_t **ret_data,
		      struct diag *diag)
{
	char path[PATH_MAX];
	struct diag kcore = {0}, bpf = {0};

	if (!size || size > IMAGE_KERNEL_CODE_MAX || address + size < address)
		return diag_fail(diag, EINVAL, "cannot read %zu bytes of the kernel at once", size);
	uint8_t *data = malloc(size);
	if (!data)
		return -ENOMEM;
	snprintf(path, sizeof(path), "%s/proc/kcore", k->root);
	int r = kernel_read_kcore(path, address, data, size, &kcore);
	if (r && !*k->root)
		r = kernel_read_bpf(&k->reader, address, data, size, &bpf);
	if (!r) {
		*ret_data = data;
		return 0;
	}
	free(data);
	if (r == -EFAULT)
		return diag_fail(diag, ENOENT, "%s", bpf.text);
	return diag_fail(diag, r == -EPERM || r == -EACCES ? EACCES : ENOENT,
			 "the kernel's memory cannot be read (%s%s%s): run as root or with CAP_BPF "
			 "and CAP_PERFMON, on a kernel without lockdown=confidentiality",
			 kcore.text, *bpf.text ? "; " : "", bpf.text);
}
