/* SPDX-License-Identifier: Apache-2.0 */
/* Power usage effectiveness as it is given on a command line: "1.12", "1.12,2" or
 * "1.12,period=2025,category=2,source=annual report". A PUE is declared, never measured here.
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

#endif
