/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "collect/host/mapping_types.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <bpf/btf.h>

#define NESTED_MAX 4

/* The members of an unnamed one within are its own. */
static bool type_has(const struct btf *btf, const struct btf_type *t, const char *member,
		     unsigned depth)
{
	const struct btf_member *m = btf_members(t);

	for (unsigned i = 0; i < btf_vlen(t); i++) {
		const char *name = btf__name_by_offset(btf, m[i].name_off);
		const struct btf_type *in = btf__type_by_id(btf, m[i].type);

		if (name && !strcmp(name, member))
			return true;
		if (name && !*name && in && btf_is_composite(in) && depth < NESTED_MAX &&
		    type_has(btf, in, member, depth + 1))
			return true;
	}
	return false;
}

static bool has_member(const struct btf *btf, const char *type, const char *member)
{
	int id = btf__find_by_name_kind(btf, type, BTF_KIND_STRUCT);

	return id > 0 && type_has(btf, btf__type_by_id(btf, (__u32)id), member, 0);
}

int mapping_types_check(const char *what, struct diag *diag)
{
	static const struct {
		const char *type, *member;
	} needed[] = {
		{"mm_struct", "mm_mt"},
		{"maple_tree", "ma_root"},
		{"maple_range_64", "pivot"},
		{"maple_arange_64", "pivot"},
		{"vm_area_struct", "vm_flags"},
		{"vm_area_struct", "vm_start"},
		{"vm_area_struct", "vm_file"},
		{"vm_area_struct", "vm_pgoff"},
		{"file", "f_inode"},
		{"inode", "i_generation"},
		{"task_struct", "self_exec_id"},
		{"task_struct", "start_boottime"},
	};
	struct btf *btf = btf__load_vmlinux_btf();
	int r = 0;

	if (!btf)
		return diag_fail(diag, EOPNOTSUPP,
				 "%s need the kernel's types (/sys/kernel/btf/vmlinux: "
				 "CONFIG_DEBUG_INFO_BTF=y)",
				 what);
	if (btf__find_by_name_kind(btf, "maple_tree", BTF_KIND_STRUCT) < 0)
		r = diag_fail(diag, EOPNOTSUPP, "%s need Linux 6.1 or newer", what);
	for (unsigned i = 0; !r && i < sizeof(needed) / sizeof(*needed); i++)
		if (!has_member(btf, needed[i].type, needed[i].member))
			r = diag_fail(diag, EOPNOTSUPP,
				      "%s need %s in the kernel's struct %s, which this kernel "
				      "does not have",
				      what, needed[i].member, needed[i].type);
	btf__free(btf);
	return r;
}
