/* SPDX-License-Identifier: Apache-2.0 */
/* What the levels are judged by, gathered once. */
#ifndef JM_AUDIT_LEVELS_H
#define JM_AUDIT_LEVELS_H

#include "audit/audit.h"

/* The energy that a level is asked of: the widest boundary that a measure window has a value at. */
struct jm_seen {
    const struct jm_run *run;
    struct jm_report *r;
    const struct jm_result *gpu, *device, *node, *wall, *facility; /* "energy"; NULL: none has a value */
    const struct jm_result *best;    /* wall, node, device or gpu, as measured (not carried) */
    const struct jm_result *carried; /* of node or wall, by a calibration */
    const struct jm_window *window;  /* that best is of; else the first measure window; NULL */
    double seconds;
    /* of the instruments that best counts, in that window */
    int rows, counters; /* energy rows and those of counters */
    double spacing_s;   /* how far apart readings in the window are, of the instrument with the widest; NAN */
    double fewest;      /* readings inside the window, of the instrument that has least; NAN */
    double gap_s, covered; /* seconds without data; least share of the window that is covered */
    double accuracy;       /* worst stated accuracy, share; NAN: one has none */
    bool full_run;         /* readings from the first to the last window */
    bool idle;             /* there is an idle window */
    int hosts;             /* that the run has meters of */
};

/* NULL evidence: out of memory. */
void jm_seen_make(const struct jm_run *run, struct jm_report *r, struct jm_seen *s);
bool jm_seen_finding(const struct jm_seen *s, const char *id); /* one of this id, or of "id." */
void jm_levels_eehpc(struct jm_seen *s, struct jm_levels *l);
void jm_levels_mlperf(struct jm_seen *s, struct jm_levels *l);

#endif
