/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "instsample/ibs.h"

#include <errno.h>
#include <string.h>
#include "util/buf.h"

enum caps {
	CAPS_OPCNTEXT = 1u << 6,
	CAPS_BRNTRGT = 1u << 5,
	CAPS_RIPINVALIDCHK = 1u << 7,
	CAPS_OPBRNFUSE = 1u << 8,
	CAPS_FETCHCTLEXTD = 1u << 9,
	CAPS_OPDATA4 = 1u << 10,
	CAPS_ZEN4 = 1u << 11,
	CAPS_OPLDLAT = 1u << 12,
	CAPS_STRMST_RMTSOCKET = 1u << 16,
};

#define REGISTERS_MAX 9
#define OP_LEAST      7
#define FETCH_LEAST   3

static const struct ibs_field op_fields[] = {
	{IBS_OP_CTL, 0, 16, 0, "opmaxcnt"},
	{IBS_OP_CTL, 16, 1, CAPS_ZEN4, "l3_miss_only"},
	{IBS_OP_CTL, 17, 1, 0, "op_en"},
	{IBS_OP_CTL, 18, 1, 0, "op_val"},
	{IBS_OP_CTL, 19, 1, 0, "cnt_ctl"},
	{IBS_OP_CTL, 20, 7, CAPS_OPCNTEXT, "opmaxcnt_ext"},
	{IBS_OP_CTL, 32, 27, 0, "opcurcnt"},
	{IBS_OP_CTL, 59, 4, CAPS_OPLDLAT, "ldlat_thrsh"},
	{IBS_OP_CTL, 63, 1, CAPS_OPLDLAT, "ldlat_en"},
	{IBS_OP_DATA, 0, 16, 0, "comp_to_ret_ctr"},
	{IBS_OP_DATA, 16, 16, 0, "tag_to_ret_ctr"},
	{IBS_OP_DATA, 34, 1, 0, "op_return"},
	{IBS_OP_DATA, 35, 1, 0, "op_brn_taken"},
	{IBS_OP_DATA, 36, 1, 0, "op_brn_misp"},
	{IBS_OP_DATA, 37, 1, 0, "op_brn_ret"},
	{IBS_OP_DATA, 38, 1, CAPS_RIPINVALIDCHK, "op_rip_invalid"},
	{IBS_OP_DATA, 39, 1, CAPS_OPBRNFUSE, "op_brn_fuse"},
	{IBS_OP_DATA, 40, 1, 0, "op_microcode"},
	{IBS_OP_DATA2, 0, 3, 0, "data_src_lo"},
	{IBS_OP_DATA2, 4, 1, 0, "rmt_node"},
	{IBS_OP_DATA2, 5, 1, 0, "cache_hit_st"},
	{IBS_OP_DATA2, 6, 2, CAPS_ZEN4, "data_src_hi"},
	{IBS_OP_DATA2, 8, 1, CAPS_STRMST_RMTSOCKET, "strm_st"},
	{IBS_OP_DATA2, 9, 1, CAPS_STRMST_RMTSOCKET, "rmt_socket"},
	{IBS_OP_DATA3, 0, 1, 0, "ld_op"},
	{IBS_OP_DATA3, 1, 1, 0, "st_op"},
	{IBS_OP_DATA3, 2, 1, 0, "dc_l1tlb_miss"},
	{IBS_OP_DATA3, 3, 1, 0, "dc_l2tlb_miss"},
	{IBS_OP_DATA3, 4, 1, 0, "dc_l1tlb_hit_2m"},
	{IBS_OP_DATA3, 5, 1, 0, "dc_l1tlb_hit_1g"},
	{IBS_OP_DATA3, 6, 1, 0, "dc_l2tlb_hit_2m"},
	{IBS_OP_DATA3, 7, 1, 0, "dc_miss"},
	{IBS_OP_DATA3, 8, 1, 0, "dc_mis_acc"},
	{IBS_OP_DATA3, 13, 1, 0, "dc_wc_mem_acc"},
	{IBS_OP_DATA3, 14, 1, 0, "dc_uc_mem_acc"},
	{IBS_OP_DATA3, 15, 1, 0, "dc_locked_op"},
	{IBS_OP_DATA3, 16, 1, 0, "dc_miss_no_mab_alloc"},
	{IBS_OP_DATA3, 17, 1, 0, "dc_lin_addr_valid"},
	{IBS_OP_DATA3, 18, 1, 0, "dc_phy_addr_valid"},
	{IBS_OP_DATA3, 19, 1, 0, "dc_l2_tlb_hit_1g"},
	{IBS_OP_DATA3, 20, 1, 0, "l2_miss"},
	{IBS_OP_DATA3, 21, 1, 0, "sw_pf"},
	{IBS_OP_DATA3, 22, 4, 0, "op_mem_width"},
	{IBS_OP_DATA3, 26, 6, 0, "op_dc_miss_open_mem_reqs"},
	{IBS_OP_DATA3, 32, 16, 0, "dc_miss_lat"},
	{IBS_OP_DATA3, 48, 16, 0, "tlb_refill_lat"},
};

static const struct ibs_field fetch_fields[] = {
	{IBS_FETCH_CTL, 0, 16, 0, "fetch_maxcnt"},
	{IBS_FETCH_CTL, 16, 16, 0, "fetch_cnt"},
	{IBS_FETCH_CTL, 32, 16, 0, "fetch_lat"},
	{IBS_FETCH_CTL, 48, 1, 0, "fetch_en"},
	{IBS_FETCH_CTL, 49, 1, 0, "fetch_val"},
	{IBS_FETCH_CTL, 50, 1, 0, "fetch_comp"},
	{IBS_FETCH_CTL, 51, 1, 0, "ic_miss"},
	{IBS_FETCH_CTL, 52, 1, 0, "phy_addr_valid"},
	{IBS_FETCH_CTL, 53, 2, 0, "l1tlb_pgsz"},
	{IBS_FETCH_CTL, 55, 1, 0, "l1tlb_miss"},
	{IBS_FETCH_CTL, 56, 1, 0, "l2tlb_miss"},
	{IBS_FETCH_CTL, 57, 1, 0, "rand_en"},
	{IBS_FETCH_CTL, 58, 1, 0, "fetch_l2_miss"},
	{IBS_FETCH_CTL, 59, 1, CAPS_ZEN4, "l3_miss_only"},
	{IBS_FETCH_CTL, 60, 1, CAPS_ZEN4, "fetch_oc_miss"},
	{IBS_FETCH_CTL, 61, 1, CAPS_ZEN4, "fetch_l3_miss"},
	{IBS_FETCH_EXTENDED, 0, 16, CAPS_FETCHCTLEXTD, "itlb_refill_lat"},
};

#define COUNT(list) (sizeof(list) / sizeof(*(list)))

/* By kind, then by number. */
static const char *const kinds[] = {
	[IBS_OP] = "ibs_op",
	[IBS_FETCH] = "ibs_fetch",
};
static const char *const op_names[REGISTERS_MAX] = {"IbsOpCtl",	   "IbsOpRip",	  "IbsOpData",
						    "IbsOpData2",  "IbsOpData3",  "IbsDcLinAd",
						    "IbsDcPhysAd", "IbsBrTarget", "IbsOpData4"};
static const char *const fetch_names[] = {"IbsFetchCtl", "IbsFetchLinAd", "IbsFetchPhysAd",
					  "IcIbsExtdCtl"};

const char *ibs_kind_name(uint32_t kind)
{
	return kind < COUNT(kinds) ? kinds[kind] : NULL;
}

const char *ibs_register_name(uint32_t kind, unsigned number)
{
	if (kind == IBS_OP && number < COUNT(op_names))
		return op_names[number];
	return kind == IBS_FETCH && number < COUNT(fetch_names) ? fetch_names[number] : NULL;
}

const struct ibs_field *ibs_fields(uint32_t kind, size_t *ret_count)
{
	*ret_count = kind == IBS_OP	 ? COUNT(op_fields)
		     : kind == IBS_FETCH ? COUNT(fetch_fields)
					 : 0;
	return kind == IBS_OP ? op_fields : fetch_fields;
}

bool ibs_field_get(const struct ibs_field *field, const struct ibs_form *form,
		   const uint64_t *values, uint64_t *ret)
{
	uint32_t bit = 1u << field->number;

	if (!(form->mask & bit) || (form->caps & field->caps) != field->caps)
		return false;
	values += __builtin_popcount(form->mask & (bit - 1));
	*ret = *values >> field->low & ((1ull << field->bits) - 1);
	return true;
}

static bool has_bit(uint64_t value, unsigned bit)
{
	return value >> bit & 1;
}

/* Where each of count registers stands; -1: the record lacks it. False: they cannot be told. */
static bool place_op(uint32_t caps, size_t count, int at[REGISTERS_MAX])
{
	bool target = caps & CAPS_BRNTRGT, data4 = caps & CAPS_OPDATA4;

	for (int i = 0; i < REGISTERS_MAX; i++)
		at[i] = i < OP_LEAST ? i : -1;
	/* Kernels that are older than a register do not read it, whatever the processor can. */
	if (count > OP_LEAST && target)
		at[IBS_OP_TARGET] = OP_LEAST;
	if (count > (size_t)OP_LEAST + target && data4)
		at[IBS_OP_DATA4] = OP_LEAST + target;
	return count >= OP_LEAST && count <= (size_t)OP_LEAST + target + data4;
}

static bool place_fetch(uint32_t caps, size_t count, int at[REGISTERS_MAX])
{
	size_t foreign = (size_t) !!(caps & CAPS_BRNTRGT) + !!(caps & CAPS_OPDATA4);

	for (int i = 0; i < REGISTERS_MAX; i++)
		at[i] = i < FETCH_LEAST ? i : -1;
	if (count == FETCH_LEAST)
		return true;
	if (count == FETCH_LEAST + 1 && caps & CAPS_FETCHCTLEXTD) {
		at[IBS_FETCH_EXTENDED] = FETCH_LEAST;
		return true;
	}
	/* Linux before 5.12 appends two registers of ops, which say nothing about a fetch. */
	return foreign && count == FETCH_LEAST + foreign;
}

static void keep(struct ibs_record *r, unsigned number, uint64_t value)
{
	r->values[__builtin_popcount(r->form.mask)] = value;
	r->form.mask |= 1u << number;
}

static uint64_t value_at(const uint8_t *registers, int at)
{
	struct cursor c = cursor_over(registers + 8 * (size_t)at, 8);

	return cursor_u64(&c);
}

/* What the registers say to be invalid was left there by an earlier sample: it is not kept. */
static void take_op(const uint8_t *registers, const int at[REGISTERS_MAX], struct ibs_record *r)
{
	uint64_t data = value_at(registers, IBS_OP_DATA), data3 = value_at(registers, IBS_OP_DATA3);

	keep(r, IBS_OP_CTL, value_at(registers, IBS_OP_CTL));
	keep(r, IBS_OP_DATA, data);
	keep(r, IBS_OP_DATA2, value_at(registers, IBS_OP_DATA2));
	keep(r, IBS_OP_DATA3, data3);
	keep(r, IBS_OP_LINEAR, has_bit(data3, 17) ? value_at(registers, IBS_OP_LINEAR) : 0);
	if (at[IBS_OP_DATA4] >= 0)
		keep(r, IBS_OP_DATA4, value_at(registers, at[IBS_OP_DATA4]));
	if (at[IBS_OP_TARGET] >= 0 && has_bit(data, 37))
		r->target = value_at(registers, at[IBS_OP_TARGET]);
	if (!(r->form.caps & CAPS_RIPINVALIDCHK && has_bit(data, 38)))
		r->place = value_at(registers, IBS_OP_RIP);
	r->had_physical = has_bit(data3, 18) && value_at(registers, IBS_OP_PHYSICAL);
}

static void take_fetch(const uint8_t *registers, const int at[REGISTERS_MAX], struct ibs_record *r)
{
	uint64_t control = value_at(registers, IBS_FETCH_CTL);

	keep(r, IBS_FETCH_CTL, control);
	if (at[IBS_FETCH_EXTENDED] >= 0)
		keep(r, IBS_FETCH_EXTENDED, value_at(registers, at[IBS_FETCH_EXTENDED]));
	r->place = value_at(registers, IBS_FETCH_LINEAR);
	r->had_physical = has_bit(control, 52) && value_at(registers, IBS_FETCH_PHYSICAL);
}

int ibs_take(enum ibs_kind kind, const void *raw, size_t size, struct ibs_record *ret)
{
	struct cursor c = cursor_over(raw, size);
	uint32_t caps = cursor_u32(&c);
	struct ibs_record r = {.form = {.kind = kind, .caps = caps}};
	size_t count = cursor_left(&c) / 8;
	int at[REGISTERS_MAX];

	if (c.error || cursor_left(&c) % 8)
		return -EBADMSG;
	if (!(kind == IBS_OP ? place_op : place_fetch)(caps, count, at))
		return -EBADMSG;
	if (kind == IBS_OP)
		take_op(c.at, at, &r);
	else
		take_fetch(c.at, at, &r);
	*ret = r;
	return 0;
}
