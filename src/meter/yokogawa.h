/* SPDX-License-Identifier: Apache-2.0 */
/* What the two files of the meter yokogawa share. */
#ifndef JM_METER_YOKOGAWA_H
#define JM_METER_YOKOGAWA_H

#include "meter/meter.h"
#include "meter/scpi.h"

#define JM_YOKOGAWA_PORT       10001 /* WT300E's; others have what their manual says */
#define JM_YOKOGAWA_TIMEOUT_MS 2000
#define JM_YOKOGAWA_ELEMENTS   6
#define JM_YOKOGAWA_SCALE      (-6) /* native power uW, energy uJ, volts uV, amps uA */

/* What follows the address. */
struct jm_yokogawa_options {
    char address[256];
    double volts, amps, rate_s;
    int64_t baud, elements;
    bool dc, automatic;
};

struct jm_yokogawa {
    struct jm_scpi io;
    int elements;
    double volt_range, amp_range; /* as last seen */
    int64_t range_changes;
    uint32_t condition;
    int energy, power, volts, amps, pf, state, ranges, first_element; /* channels */
    bool started;                                                     /* the integration is ours */
    struct jm_span said; /* its last answer, until the next question */
};

int jm_yokogawa_parse(const char *text, struct jm_yokogawa_options *o, struct jm_err *err);
/* "YOKOGAWA,WT310E,C3XA04010E,F1.04", the product's name without what a simulated one has in front. */
int jm_yokogawa_identify(struct jm_scpi *io, const char *address, char idn[128], char product[32],
                         bool *simulated, struct jm_err *err);
/* The elements that a product has: its last digit where the name tells it. */
int jm_yokogawa_elements(const char *product);
/* Ranges, rate, items, integration. */
int jm_yokogawa_configure(struct jm_meter *m, const struct jm_yokogawa_options *o, struct jm_err *err);
int jm_yokogawa_channels(struct jm_meter *m, int inlet, struct jm_err *err);
/* Accuracy where the model's is known and the ranges are fixed. The counter's is that of the power at
 * opening. */
int jm_yokogawa_accuracies(struct jm_meter *m, const char *product, bool dc, struct jm_err *err);

#endif
