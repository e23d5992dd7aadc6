/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <stdlib.h>
#include <string.h>
#include "cfg/image.h"

/*
 * Functions that never return, by their documentation or declaration. Functions inside an image are
 * mostly found without their names; this list is for those of other images. Sorted.
 */
static const char *const never[] = {
	"Perl_croak",
	"Perl_croak_memory_wrap",
	"Perl_croak_no_modify",
	"Perl_croak_nocontext",
	"Perl_croak_sv",
	"Perl_croak_xs_usage",
	"Perl_die_unwind",
	"Perl_my_exit",
	"PyThread_exit_thread",
	"Py_Exit",
	"Py_FatalError",
	"_Exit",
	"_Py_FatalErrorFormat",
	"_Py_FatalErrorFunc",
	"_Unwind_Resume",
	"_ZSt10unexpectedv",
	"_ZSt17rethrow_exceptionNSt15__exception_ptr13exception_ptrE",
	"_ZSt9terminatev",
	"__assert",
	"__assert_fail",
	"__assert_perror_fail",
	"__assert_rtn",
	"__chk_fail",
	"__cxa_bad_cast",
	"__cxa_bad_typeid",
	"__cxa_call_terminate",
	"__cxa_call_unexpected",
	"__cxa_deleted_virtual",
	"__cxa_pure_virtual",
	"__cxa_rethrow",
	"__cxa_throw",
	"__cxa_throw_bad_array_new_length",
	"__fortify_fail",
	"__gcj_throw",
	"__libc_fatal",
	"__longjmp_chk",
	"__module_put_and_kthread_exit",
	"__stack_chk_fail",
	"__stack_chk_fail_local",
	"__stack_smash_handler",
	"__ubsan_handle_builtin_unreachable",
	"_exit",
	"_longjmp",
	"abort",
	"acpi_processor_ffh_play_dead",
	"arch_cpu_idle_dead",
	"bert_panic",
	"cpu_bringup_and_idle",
	"cpu_startup_entry",
	"do_exit",
	"do_group_exit",
	"do_task_dead",
	"err",
	"errx",
	"ex_handler_msr_mce",
	"exit",
	"fortify_panic",
	"g_assertion_message",
	"g_assertion_message_cmpnum",
	"g_assertion_message_cmpstr",
	"g_assertion_message_expr",
	"hlt_play_dead",
	"kthread_complete_and_exit",
	"kthread_exit",
	"kunit_try_catch_throw",
	"longjmp",
	"machine_real_restart",
	"make_task_dead",
	"nmi_panic_self_stop",
	"panic",
	"panic_smp_self_stop",
	"pthread_exit",
	"quick_exit",
	"rb_bug",
	"rb_exc_raise",
	"rb_fatal",
	"rb_raise",
	"rewind_stack_and_make_dead",
	"rust_begin_unwind",
	"rust_panic",
	"sev_es_terminate",
	"siglongjmp",
	"snp_abort",
	"stop_this_cpu",
	"thrd_exit",
	"usercopy_abort",
	"verr",
	"verrx",
	"x86_64_start_kernel",
	"x86_64_start_reservations",
	"xen_cpu_bringup_again",
	"xen_start_kernel",
};

static int compare_name(const void *key, const void *member)
{
	return strcmp(key, *(const char *const *)member);
}

/* _ZSt20__throw_length_errorPKc and the others of libstdc++ and libc++. */
static bool is_standard_throw(const char *name)
{
	if (strncmp(name, "_ZSt", 4) != 0)
		return false;
	name += 4;
	name += strspn(name, "0123456789");
	return strncmp(name, "__throw_", 8) == 0;
}

bool cfg_name_never_returns(const char *name)
{
	/* core::panicking::*, however it is mangled */
	static const char *const starts[] = {"_ZN4core9panicking", "_ZN4llvm18report_fatal_error",
					     "_ZN4llvm25llvm_unreachable_internal",
					     "_ZN4llvm22report_bad_alloc_error"};

	if (!name)
		return false;
	if (bsearch(name, never, sizeof(never) / sizeof(*never), sizeof(*never), compare_name))
		return true;
	for (size_t i = 0; i < sizeof(starts) / sizeof(*starts); i++)
		if (strncmp(name, starts[i], strlen(starts[i])) == 0)
			return true;
	return is_standard_throw(name);
}

bool cfg_name_is_part_of(const char *part, const char *whole)
{
	if (!part || !whole)
		return false;
	size_t size = strlen(whole);
	return strncmp(part, whole, size) == 0 && strncmp(part + size, ".cold", 5) == 0;
}

bool cfg_name_is_indirect(const char *name)
{
	return name && strncmp(name, "__x86_indirect_", 15) == 0;
}

bool cfg_name_is_return(const char *name)
{
	return name &&
	       (strcmp(name, "__x86_return_thunk") == 0 || strcmp(name, "srso_return_thunk") == 0 ||
		strcmp(name, "srso_alias_return_thunk") == 0 ||
		strcmp(name, "retbleed_return_thunk") == 0 ||
		strcmp(name, "its_return_thunk") == 0 || strcmp(name, "zen_untrain_ret") == 0);
}
