/* SPDX-License-Identifier: Apache-2.0 */
/* The public power checker, followed revision by revision: which of its eleven checks pass, pass with a
 * warning, or fail, and the first thing it says. It is followed to the letter, its errors included, so that
 * "official" means just that; what should be said is for the rules (rule.h).
 *
 * Source: mlcommons/power-dev compliance/check.py and its copies in mlcommons/inference
 * (tools/submission/power, tools/submission/submission_checker/checks/power). */
#ifndef JM_MLPERF_OFFICIAL_H
#define JM_MLPERF_OFFICIAL_H

#include "mlperf/rule.h"

/* What differs between the revisions of the checker. */
enum jm_mlperf_duration_rule {
    JM_MLPERF_DUR_ABS_5,   /* |ranging - testing| / longer < 5 % */
    JM_MLPERF_DUR_DROP_5,  /* (ranging - testing) / ranging < 5 % */
    JM_MLPERF_DUR_DROP_50, /* ... < 50 %, in a text of 5 % */
    JM_MLPERF_DUR_WARN_50  /* ... > 50 % is a warning */
};
enum jm_mlperf_power_rule {
    JM_MLPERF_POWER_NONE,
    JM_MLPERF_POWER_EVERY, /* ranging against testing, every line of spl.txt must be a sample */
    JM_MLPERF_POWER_TIME   /* lines that do not begin with Time are passed over */
};
enum jm_mlperf_delta_text {
    JM_MLPERF_DELTA_200,   /* "is equal or more than 200ms." */
    JM_MLPERF_DELTA_SHORT, /* "is more than 500ms: 854.4" */
    JM_MLPERF_DELTA_LONG   /* "is more than 800ms.Observed difference is 854.4ms" */
};
struct jm_mlperf_revision {
    const char *name;                     /* "r3.0", "inf_v4.1", "c4b3ad8" */
    const char *rounds;                   /* of whose sessions it is the checker */
    const char *versions, *versions_text; /* of PTDaemon: "1.9.1 1.9.2"; as its message ends */
    int models;                           /* 0: four of v1.0; 1: eight names; 2: those and DC */
    const char *sources;                  /* sets of sources.tsv that it accepts: "A B" */
    const char *sources_too; /* sets that the copy of the submission checker of the round accepts beside;
                                NULL: none */
    double tolerance_ms;
    enum jm_mlperf_delta_text delta_text;
    bool local_load; /* power_begin and power_end are local time: the client's timezone is added */
    bool local_log;  /* the server's timezone is added to stamps of ptd_logs.txt */
    enum jm_mlperf_duration_rule duration;
    enum jm_mlperf_power_rule power;
    bool one_more_message; /* the server recorded one message more than the client */
    bool client_json;      /* client.json is hashed by the server */
    int fourth_amps;       /* 0: the third SR,A puts the range back; 1: the third or the fourth, which must be
                              there;       2: which may be there */
    int common_errors;     /* of ranging that are no warning: the first n of the table */
    bool usb;              /* "USB." outside ranging is a warning */
    bool uncertain_fails;  /* > 1 % in the load fails */
    bool slip;             /* the tolerance in ms is added as seconds to the load window */
    bool replaces_error;   /* warnings show ERROR as Warning */
    int config_list;       /* ptd_config is 0: an object; 1: a list; 2: either */
    bool logging;          /* lines carry INFO:main: and their like */
    const char *source;
};
extern const struct jm_mlperf_revision jm_mlperf_revision_table[]; /* ends with a NULL name */
/* NULL: no such revision. "HEAD" is the newest. */
const struct jm_mlperf_revision *jm_mlperf_revision_find(const char *name);
/* That of a round; the newest where the round is not known. */
const struct jm_mlperf_revision *jm_mlperf_revision_of(const char *round);

struct jm_mlperf_model {
    const char *name;
    int type, set; /* device type of PTDaemon; from which set of a revision */
};
extern const struct jm_mlperf_model jm_mlperf_models[]; /* ends with a NULL name */
bool jm_mlperf_model_in(const struct jm_mlperf_model *m, int set);

extern const unsigned char jm_mlperf_sources_tsv[];
extern const size_t jm_mlperf_sources_tsv_len;
/* The set that the n hashes are ("B"), 0: none. */
char jm_mlperf_sources_set(const struct jm_mlperf_hash *h, size_t n);

/* Fills out (release with jm_mlperf_checked_release of what holds it). Only JM_ENOMEM. */
int jm_mlperf_official_follow(const struct jm_mlperf_session *s, const struct jm_mlperf_revision *r,
                              struct jm_mlperf_official *out, struct jm_err *err);
/* As the public tool prints it. */
void jm_mlperf_official_print(const struct jm_mlperf_official *o, struct jm_str *out);

#endif
