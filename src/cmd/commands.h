/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * The subcommands, in the order in which `culprit help` shows them: CMD(name, one line of help).
 * Each is int cmd_NAME(int argc, char **argv) in cmd/NAME.c. No include guard: a list to expand.
 */
CMD(doctor, "what this machine allows, and how to mend what it does not")
CMD(help, "the commands, or the options of one")
