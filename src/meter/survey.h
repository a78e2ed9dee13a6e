/* SPDX-License-Identifier: Apache-2.0 */
/* What can be read here, where its boundary is, how often it really refreshes, and, for what cannot be read,
 * why not and what mends it. Pure data; the command `joulemark meters` and the recorder's refusal show it. */
#ifndef JM_METER_SURVEY_H
#define JM_METER_SURVEY_H

#include "meter/instrument.h"

struct jm_survey_channel {
    struct jm_channel c; /* period measured where it moved in the time given */
    struct jm_reading now;
    enum jm_boundary
        boundary; /* the narrowest boundary that it lies inside; JM_B_NONE: it is no energy or power */
    bool added;   /* false: shown, never added (mirror, part of others, unknown contents) */
};

struct jm_survey_meter {
    const struct jm_meter_ops *ops;
    const struct jm_instrument *conf; /* NULL: not one of the configuration's */
    char address[192];                /* of a configured one, without secrets */
    struct jm_probe probe;            /* state OK: the rest is filled */
    char instance[96];
    bool simulated;
    struct jm_survey_channel *chan;
    size_t n_chan;
    struct jm_meter_fact *fact;
    size_t n_fact;
    int64_t period_ns;     /* suggested sampling period */
    int64_t max_period_ns; /* longest pause between two reads; 0: no such bound */
    int64_t read_ns;       /* one read of every channel took so long */
    size_t n_moved;        /* channels whose period was measured */
};

struct jm_survey {
    struct jm_survey_meter *m;
    size_t n, n_ok;
    struct jm_domain_tree tree;
};

struct jm_survey_options {
    const char *meters; /* "nvml,rapl"; NULL: all */
    int64_t budget_ns;  /* longest observation of refresh periods, a meter; 0: none */
    /* Told before a meter is observed, may be NULL. */
    void (*progress)(void *self, const char *meter);
    void *self;
};

/* JM_EUSAGE when the list names no meter; a meter that fails is a row of the survey and no error. */
int jm_meter_survey(const struct jm_meter_env *env, const struct jm_survey_options *o, struct jm_survey *out,
                    struct jm_err *err);
void jm_meter_survey_release(struct jm_survey *s);
/* JM_EUSAGE with the nearest known name when list (NULL: all) names neither a kind nor one of the configured
 * instruments (NULL: none). */
int jm_meter_check_list(const char *list, const struct jm_instruments *conf, struct jm_err *err);
bool jm_meter_listed(const char *list, const char *name); /* NULL lists all */

/* What one value of a channel means, in words: "counter", "mean of the last 1 s", "25 ms of each 100 ms". */
const char *jm_channel_meaning(const struct jm_channel *c, char buf[64]);

#endif
