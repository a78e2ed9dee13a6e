/* SPDX-License-Identifier: Apache-2.0 */
/* What is declared of a site: its power usage effectiveness (PUE) and its water usage effectiveness (WUE), as
 * they are given on a command line: "1.12", "1.12,2" or
 * "1.12,period=2025,category=2,source=annual report"; "1.8,period=2025,source=annual report". They are
 * declared, never measured here.
 *
 * The category says where the IT energy below the fraction was measured (ISO/IEC 30134-2): 1 at the output of
 * the UPS, 2 at the output of the PDU, 3 at the input of the IT equipment. */
#ifndef JM_MODEL_PUE_H
#define JM_MODEL_PUE_H

#include "base/err.h"
#include "base/str.h"

struct jm_pue {
    double value;     /* 0: not given; 1 to 10 */
    char category[4]; /* "1", "2", "3", "" not known */
    char period[48];
    char source[160];
};

/* JM_EUSAGE with a sentence. source may hold commas: it is last. */
int jm_pue_parse(const char *text, struct jm_pue *out, struct jm_err *err);
/* "a PUE of 1.12 (category 2, 2025, annual report)", appended. */
void jm_pue_say(const struct jm_pue *p, struct jm_str *s);
/* "the output of the UPS", ...; NULL: the category is not known. */
const char *jm_pue_point(const struct jm_pue *p);

/* Water that the site uses a kilowatt-hour of IT energy (ISO/IEC 30134-9). */
struct jm_wue {
    double value; /* L/kWh; 0: not given; up to 100 */
    char period[48];
    char source[160];
};

/* As jm_pue_parse, without a category. */
int jm_wue_parse(const char *text, struct jm_wue *out, struct jm_err *err);
/* "a WUE of 1.8 L/kWh (2025, annual report)", appended. */
void jm_wue_say(const struct jm_wue *w, struct jm_str *s);
/* The option's text again, appended: what jm_wue_parse reads back as it was. */
void jm_wue_text(const struct jm_wue *w, struct jm_str *s);

#endif
