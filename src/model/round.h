/* SPDX-License-Identifier: Apache-2.0 */
/* MLPerf results as a table: a row a session (or Training or Tiny result). mlperf/ fills it from the files of
 * one session up to those of whole rounds, show/ draws it. Memory grows with the rows alone.
 *
 * Text belongs to its row. A number that is not known is NaN, a count -1, a text NULL. */
#ifndef JM_MODEL_ROUND_H
#define JM_MODEL_ROUND_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* The last: a system whose nameplate power is declared (v6.1). It is no result. */
enum jm_round_kind {
    JM_ROUND_SESSION,
    JM_ROUND_TRAINING,
    JM_ROUND_TINY,
    JM_ROUND_NAMEPLATE,
    JM_ROUND_KIND_COUNT
};

/* In the order of their weight; the first: nobody judged. */
enum jm_round_verdict { JM_RV_NONE, JM_RV_PASS, JM_RV_NOTE, JM_RV_WARN, JM_RV_FAIL };
const char *jm_round_verdict_name(enum jm_round_verdict v); /* "pass", …; "not checked" */

/* One figure by the rule of the round, and as it should be with its 95 % interval. */
struct jm_round_pair {
    double published, proper, lo, hi;
    char unit[20];
};

struct jm_round_finding {
    enum jm_round_verdict verdict;
    char *id, *text, *evidence;
};

/* A check of the official checker of the round. */
struct jm_round_official {
    enum jm_round_verdict verdict;
    char *title, *text;
};

/* Samples of spl.txt: in all, inside the load window, and by their sentinels. */
struct jm_round_samples {
    int64_t rows, good, bad, missed, over, nonpositive;
};

struct jm_round_row {
    enum jm_round_kind kind;
    char *path;  /* as asked for, down to the session */
    char *place; /* canonical; what the submission calls its location ends it */
    char *error; /* why there is no figure; NULL: there is */

    char *round, *round_from;
    char *division, *availability, *submitter, *suite; /* suite: "datacenter", "edge" */
    char *system, *system_name;                        /* the folder's name; the description's */
    char *accelerator, *host;
    double accelerators, hosts, nodes; /* accelerators and hosts in one node */
    char *benchmark, *model, *scenario, *run_scenario;
    bool inferred;          /* scenario is not the one that ran */
    const char *provenance; /* "measured", "simulated" */
    char *unofficial;       /* why it is no official measurement; NULL: nothing says so */

    struct jm_round_pair power, energy, mj_per_stream, samples_per_j, j_per_token, tokens_per_j;
    double metric; /* as published, in the unit of the round */
    double metric_proper;
    char metric_unit[20];
    double performance, samples_per_s, tokens_per_s;
    char performance_unit[28];
    double seconds, queries, dropped;
    char *accuracy; /* what the interval rests on, or why there is none */
    char *excludes; /* what it leaves out */

    /* the value that a results table beside the logs gives, in that table's unit */
    double reported;
    char reported_unit[20];
    char *reported_from;
    double reported_off; /* ours over theirs minus 1, units made equal; NaN: they cannot be compared */
    bool reported_agrees;

    double design_power_w; /* nameplate: declared, never measured */

    struct jm_round_samples window, file;
    int64_t broken, out_of_order, duplicate_stamps, bytes;
    int64_t t0, t1; /* load window, Unix ns; -1 */
    double max_gap_s, bridged_s, over_s, max_volts, max_amps, power_factor;
    double director_clock_s; /* largest |client − server| at the phases */
    int channels, analyzers;
    char *analyzer, *ptd, *ranges;

    bool checked;
    enum jm_round_verdict official, own;
    char *revision;
    struct jm_round_official check[11];
    struct jm_round_finding *finding; /* note and worse, worst first */
    size_t n_finding;

    /* runs of a Training result, windows of a Tiny one: energy in the row's unit, NaN: not measured */
    struct jm_round_part {
        char *name, *why;
        double published, proper, seconds;
    } * part;
    size_t n_part;
    /* more lines of a Training or Tiny result, or of the page of one session */
    struct jm_round_fact {
        char *group, *name, *value;
    } * fact;
    size_t n_fact;
};

/* A folder or file that could not be read, or what a table could not be matched with. */
struct jm_round_trouble {
    char *path, *why;
};

struct jm_round_table {
    struct jm_round_row **row;
    size_t n_row;
    struct jm_round_trouble *trouble;
    size_t n_trouble;
    char **asked; /* the folders that were asked for */
    size_t n_asked;
    int64_t folders, sessions; /* looked into; found, before filters */
    int64_t without_power, compliance, links, filtered, bytes;
    int64_t tables, table_rows; /* results tables, and their rows with power */
    bool interrupted;
};

/* A row without a value in any field; NULL: no memory. */
struct jm_round_row *jm_round_row_new(void);
void jm_round_row_free(struct jm_round_row *r);
/* Replaces *at by a copy of text (NULL: none); false: no memory. */
bool jm_round_set(char **at, const char *text);
/* A fact for the page of the row (up to 499 bytes); false: no memory. */
bool jm_round_fact_add(struct jm_round_row *r, const char *group, const char *name, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
bool jm_round_part_add(struct jm_round_row *r, const char *name, double published, double proper,
                       double seconds, const char *why);
bool jm_round_finding_add(struct jm_round_row *r, enum jm_round_verdict v, const char *id, const char *text,
                          const char *evidence);
void jm_round_table_release(struct jm_round_table *t);

/* The only result of the table, nameplates aside; NULL: there are none or more. */
const struct jm_round_row *jm_round_only(const struct jm_round_table *t);

/* Accelerators in all nodes; NaN: not known. */
double jm_round_accelerators(const struct jm_round_row *r);
/* proper over published minus 1 of the power; NaN. */
double jm_round_difference(const struct jm_round_row *r);
/* The figure that rows are compared by: tokens/J where there are tokens, else samples/J; NULL: neither. */
const struct jm_round_pair *jm_round_efficiency(const struct jm_round_row *r);
/* Ascending, numbers inside names by value; NULL last. */
int jm_round_natural(const char *a, const char *b);
/* Benchmark, then scenario, case aside: 0 where results are of the same kind. */
int jm_round_key(const struct jm_round_row *a, const struct jm_round_row *b);
/* Round, submitter, system, benchmark, scenario, path. */
int jm_round_compare(const struct jm_round_row *a, const struct jm_round_row *b);

#endif
