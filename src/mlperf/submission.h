/* SPDX-License-Identifier: Apache-2.0 */
/* What stands around a session in a submission: the description of its system, its measurement files, the
 * other runs of the same benchmark, the declared nameplate power; and the rules over it. Layouts:
 *
 *   <division>/<submitter>/results/<system>/<benchmark>/<scenario>/performance/...   a round's repository,
 * with <division>/<submitter>/{systems,measurements,compliance,documentation}/...       beside results/
 *   <dir>/performance/... with <dir>/system.json and <dir>/measurements/             one session taken out
 * (flat)
 *
 * Sources: mlcommons/inference tools/submission (submission_checker.py to v5.1, submission_checker/ since),
 * mlcommons/inference_policies (power_measurement.adoc, inference_rules.adoc, submission_rules.adoc). */
#ifndef JM_MLPERF_SUBMISSION_H
#define JM_MLPERF_SUBMISSION_H

#include "mlperf/rule.h"

/* Power that the power supplies are built for. It is declared, never measured: no efficiency is made of it.
 */
struct jm_mlperf_nameplate {
    bool present;           /* a file or a field was there */
    double watts;           /* of the supplies that must be there; NaN: not given, or not whole */
    double published_watts; /* the same by the arithmetic of the public checker, which takes 0 for what is
                               missing */
    const char *source;     /* "systems/X_power.yaml", "system_power_capacity"; NULL: none */
    const char *error;      /* why it is not whole; NULL: it is */
    int components, supplies, redundant; /* leaves, supplies in all, and those beyond what is needed */
};

/* Files of the submission that a rule asks for, with the level where they were found. */
enum jm_mlperf_level {
    JM_MLPERF_AT_NONE,
    JM_MLPERF_AT_SCENARIO,
    JM_MLPERF_AT_BENCHMARK,
    JM_MLPERF_AT_SYSTEM,
    JM_MLPERF_AT_MEASUREMENTS,
    JM_MLPERF_AT_ELSEWHERE /* somewhere else in the submitter's folder, where the public checker does not look
                            */
};
struct jm_mlperf_doc {
    const char *path; /* below the submitter's folder (flat: below the session); NULL: not found */
    enum jm_mlperf_level level;
    int64_t bytes;
};

struct jm_mlperf_submission {
    bool flat;                /* a session that was taken out of its submission */
    bool tree;                /* the folders are those of a submission */
    char round[8];            /* as it was asked for */
    char scenario_dir[4096];  /* folder that holds performance/ */
    char submitter_dir[4096]; /* folder that holds results/, systems/, measurements/; "": none */
    /* of the path, or of the description where the layout has no such folder; "": not known */
    char division[16], submitter[128], system[256], benchmark[128], scenario[24];
    /* of the system description; NULL: absent */
    const char *system_path, *system_error;
    const char *system_name, *availability, *system_type, *accelerator, *framework, *processor,
        *description_division, *description_submitter;
    double nodes, accelerators_per_node; /* NaN: not given */
    bool network;                        /* is_network */
    bool system_power_only;              /* the performance row is not published */
    const struct jm_json *description;   /* the whole document; NULL: none */
    /* implementation: the JSON that describes it */
    struct jm_mlperf_doc analyzer_table, power_settings, user_conf, readme, mlperf_conf, implementation;
    bool has_measurements;       /* a folder for them was found */
    double user_min_duration_ms; /* of user.conf for this scenario; NaN */
    struct jm_mlperf_nameplate nameplate;
    /* files where no file is to be, required ones that are not there, and empty ones; "run_1/ptd_out.txt" */
    const char **stray, **missing, **empty;
    size_t n_stray, n_missing, n_empty;
    int runs;                         /* folders run_<i> of performance/ */
    const char *power_elsewhere;      /* power logs beside an accuracy or compliance run; NULL: none */
    struct jm_mlperf_analyzer_table { /* what analyzer_table says, "": nothing */
        char vendor[64], model[64], firmware[64], interface[64], wiring[64], channels[64], which[64];
    } analyzer;
    const char *settings; /* the beginning of power_settings, on one line; NULL */
    struct jm_mlperf_arena *arena;
    struct jm_json *own;
    bool no_memory; /* while it was read */
};

/* path: anything at or below a session's scenario folder. A file that is absent, hostile or too large leaves
 * its part empty and never fails the others. JM_ENOMEM only. */
int jm_mlperf_submission_read(const char *path, const char *round, struct jm_mlperf_submission **out,
                              struct jm_err *err);
void jm_mlperf_submission_free(struct jm_mlperf_submission *m);

/* The scenario folder whose run an inferred result uses (the one of the run's own scenario, beside this one).
 * False: it is not inferred, or none is there. */
bool jm_mlperf_submission_base(const struct jm_mlperf_submission *m, const struct jm_mlperf_session *s,
                               char path[4096]);

/* Rules over one session in its submission; outcomes are added to c and its verdict is raised. base: the
 * session that an inferred result uses, NULL: not at hand (it is then read from beside, if it is there). */
int jm_mlperf_submission_check(const struct jm_mlperf_submission *m, const struct jm_mlperf_session *s,
                               const struct jm_mlperf_result *r, const struct jm_mlperf_session *base,
                               struct jm_mlperf_checked *c, struct jm_err *err);

/* Two runs of the same result: the submitter's and its reproduction (audit: within 2 %), or a result of this
 * round and one of an earlier (random audit left out where the efficiency is within 10 %). */
int jm_mlperf_submission_audit(const struct jm_mlperf_session *a, const struct jm_mlperf_result *ra,
                               const struct jm_mlperf_session *b, const struct jm_mlperf_result *rb,
                               struct jm_mlperf_checked *c, struct jm_err *err);

/* Nameplate power of the text of systems/<system>_power.yaml; source and error are left NULL, why is "" where
 * it is whole. Pure. */
void jm_mlperf_nameplate_read(struct jm_span yaml, struct jm_mlperf_nameplate *out, char why[256]);

#endif
