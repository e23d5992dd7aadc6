/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_SIM_PLUGIN_QEMU_API_H
#define CULPRIT_SIM_PLUGIN_QEMU_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Version 1 of QEMU's interface for plugins, as far as it is used here: after QEMU's documentation
 * (docs/devel/tcg-plugins), since Debian's package has plugins but not their header.
 */
#define QEMU_PLUGIN_API 1

typedef uint64_t qemu_id;

struct qemu_info {
	const char *target_name;
	struct {
		int min, cur;
	} version;
	bool system_emulation;
	int smp_vcpus, max_vcpus;
};

struct qemu_plugin_tb;
struct qemu_plugin_insn;

enum { QEMU_NO_REGISTERS = 0 };
enum { QEMU_MEMORY_BOTH = 3 };

void qemu_plugin_register_vcpu_init_cb(qemu_id id, void (*f)(qemu_id id, unsigned vcpu));
void qemu_plugin_register_vcpu_exit_cb(qemu_id id, void (*f)(qemu_id id, unsigned vcpu));
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_id id,
					   void (*f)(qemu_id id, struct qemu_plugin_tb *tb));
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *tb,
					  void (*f)(unsigned vcpu, void *arg), int flags,
					  void *arg);
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *insn,
				      void (*f)(unsigned vcpu, uint32_t info, uint64_t address,
						void *arg),
				      int flags, int accesses, void *arg);
void qemu_plugin_register_vcpu_syscall_cb(qemu_id id,
					  void (*f)(qemu_id id, unsigned vcpu, int64_t number,
						    uint64_t a1, uint64_t a2, uint64_t a3,
						    uint64_t a4, uint64_t a5, uint64_t a6,
						    uint64_t a7, uint64_t a8));
void qemu_plugin_register_atexit_cb(qemu_id id, void (*f)(qemu_id id, void *arg), void *arg);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t index);
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *insn);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *insn);
void *qemu_plugin_insn_haddr(const struct qemu_plugin_insn *insn);
unsigned qemu_plugin_mem_size_shift(uint32_t info);
bool qemu_plugin_mem_is_store(uint32_t info);

#endif
