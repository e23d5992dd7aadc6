/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_REPORT_WHY_WHY_H
#define CULPRIT_REPORT_WHY_WHY_H

#include "report/estimates.h"

/*
 * Where the time went and what is to blame, in a few plain sentences, what matters most first. Each
 * rests on what was measured: it has its share, how sure it is, and the report that shows it.
 * doc/why.md has the rules.
 */

#define WHY_SENTENCES_MAX 10

/* What a sentence is about: of enum why_kind, for scripts. */
#define WHY_LIST(X)                                                                     \
	X(STALL, "stall")	/* a line or an instruction that waits, and for what */ \
	X(FUNCTION, "function") /* a function whose time is not in such places */       \
	X(CAUSES, "causes")	/* where all cycles went */                             \
	X(LOOP, "loop")		/* the loop with the most time of its own */            \
	X(PATH, "path")		/* the chain of calls that most of the time is under */ \
	X(PROGRAM, "program")	/* what the time was spent for, where it is several */  \
	X(KERNEL, "kernel")                                                             \
	X(DOUBT, "doubt") /* what makes the other sentences less sure */

#define WHY_NUMBER(kind, ...) WHY_##kind,
enum why_kind { WHY_LIST(WHY_NUMBER) WHY_KINDS };

struct why_sentence {
	enum why_kind kind;
	const char *text; /* names in it are escaped (text_escape) */
	double percent;	  /* of the report's samples; of a doubt: of what it is about */
	enum frequency_confidence confidence; /* low is said in the text, with the reason */
	const char *evidence; /* the command line, for a shell, of the report that shows it */
	/* Where to look, as far as it is one place: names as they are, not escaped; else NULL, and
	 * 0. address: where has_address. */
	const char *image, *build_id, *function, *file;
	uint32_t line;
	bool has_address;
	uint64_t address;
};

struct why_report {
	struct why_sentence list[WHY_SENTENCES_MAX];
	size_t count;
	struct table *table;

	struct arena *memory; /* private: of all texts */
};

/*
 * Of the session's selection, without --image and --function, which it does not have. Errors as in
 * report_session_read; no samples are no error, but a sentence. why_free() after a failure, too.
 */
int why_make(struct report_session *s, struct why_report *ret, struct report_header *h,
	     struct diag *diag);
void why_free(struct why_report *r); /* what it owns */

/* As text: the sentences by number, each with its evidence; then the header. width: as in
 * table_print(). 0 or a negative errno. */
int why_print(const struct why_report *w, const struct report_header *h, FILE *out, int width);

#endif
