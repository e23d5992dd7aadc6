/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "exchange/perf.h"

#include <errno.h>
#include <string.h>
#include <linux/perf_event.h>

_Static_assert((int)IBS_OP == DB_RAW_IBS_OP && (int)IBS_FETCH == DB_RAW_IBS_FETCH &&
		       IBS_VALUES_MAX == DB_RAW_VALUES_MAX,
	       "the database has the numbers of instsample/ibs.h");

static const struct {
	enum ibs_kind kind;
	const char *pmu;
} pmus[] = {{IBS_OP, "ibs_op"}, {IBS_FETCH, "ibs_fetch"}};

void perf_raw_pmu(struct perf *p, uint32_t type, const char *name, size_t size)
{
	p->pmus_known = true;
	for (size_t i = 0; i < sizeof(pmus) / sizeof(*pmus); i++)
		if (size == strlen(pmus[i].pmu) && !memcmp(name, pmus[i].pmu, size))
			p->ibs_type[pmus[i].kind] = type;
}

/* Without the table of PMUs an event's name says whose it is, as perf writes it: "ibs_op/.../". */
static bool is_named(const struct perf_attr *a, const char *pmu)
{
	size_t size = strlen(pmu);

	return !strncmp(a->name, pmu, size) && a->name[size] == '/';
}

enum ibs_kind perf_raw_kind(const struct perf *p, const struct perf_attr *a, bool *ret_is_told)
{
	bool is_dynamic = a->type >= PERF_TYPE_MAX;

	*ret_is_told = !is_dynamic || p->pmus_known;
	for (size_t i = 0; i < sizeof(pmus) / sizeof(*pmus) && is_dynamic; i++)
		if (p->pmus_known ? p->ibs_type[pmus[i].kind] == a->type : is_named(a, pmus[i].pmu))
			return pmus[i].kind;
	return 0;
}

static int add_registers(struct perf *p, struct perf_attr *a, const struct perf_raw *raw,
			 const struct ibs_record *record)
{
	struct harvest_raw out = {
		.event = a->event,
		.subject = raw->subject,
		.place = raw->place,
		.target = HARVEST_NONE,
		.form = {record->form.kind, record->form.caps, record->form.mask}};
	enum perf_mode mode = record->target >> 63 ? PERF_KERNEL : PERF_USER;
	enum perf_found found;
	int r = 0;

	memcpy(out.values, record->values, sizeof(out.values));
	if (record->target)
		r = perf_world_place(p, raw->pid, mode, record->target, &out.target, &found);
	if (!r)
		r = harvest_raw(p->harvest, &out);
	/* Of too many the rest is left out; the samples themselves are not. */
	if (r == -E2BIG) {
		p->counters.raw_too_many++;
		p->counters.raw_bytes += raw->size;
		return 0;
	}
	a->raws += r == 0;
	return r;
}

static int add(struct perf *p, struct perf_attr *a, const struct perf_raw *raw,
	       const struct ibs_record *record)
{
	struct perf_inst at = {.pid = raw->pid, .subject = raw->subject, .place = raw->place};
	struct inst_record inst;

	inst_from_ibs(record, &inst, &at.data);
	a->raw_elsewhere += record->place && record->place != raw->address;
	a->raw_physical += record->had_physical;
	int r = perf_inst_add(p, a, &at, &inst);
	return r || !p->in->keep_raw ? r : add_registers(p, a, raw, record);
}

int perf_raw_take(struct perf *p, struct perf_attr *a, const struct perf_raw *raw)
{
	struct ibs_record record;
	bool is_told;
	enum ibs_kind kind = perf_raw_kind(p, a, &is_told);

	if (kind && !ibs_take(kind, raw->at, raw->size, &record))
		return add(p, a, raw, &record);
	p->counters.raw_malformed += kind != 0;
	p->counters.raw_other_event += !kind && is_told;
	p->counters.raw_unknown_pmu += !kind && !is_told;
	p->counters.raw_bytes += raw->size;
	return 0;
}
