/* SPDX-License-Identifier: Apache-2.0 */
/* What every importer of a result file does: a run file with the raw file in it, windows, requests with their
 * token events, claims, and what is missing by name. The first failure sticks (b->rc): later calls do
 * nothing, and jm_build_end gives it. */
#ifndef JM_IMPORT_BUILD_H
#define JM_IMPORT_BUILD_H

#include <stdbool.h>
#include <stdint.h>

#include "import/import.h"
#include "import/json_walk.h"
#include "run/run.h"

struct jm_build {
    int rc;
    struct jm_err *err;
    struct jm_run_writer *w;
    const struct jm_ifile *f;
    const struct jm_import_opts *o;
    const char *out;
    int windows, window, trial; /* window: index of the open one, -1 before the first */
    int about;       /* the window that claims are about: the open one, unless set; -1: the whole file */
    int64_t t0, t1;  /* of the open window; t1 grows with the requests put into it */
    int64_t last_t1; /* end of the last one */
    int64_t requests;
    struct jm_token_event *ev;
    size_t n_ev, cap_ev;
    struct jm_build_plan { /* for jm_build_repeat: a plan by its hash, and how often it was seen */
        uint64_t hash;
        int seen; /* 0: a free place */
    } * plan;
    size_t n_plan, cap_plan;
    uint64_t *ids; /* hashes of the requests' own ids, for jm_build_id */
    size_t n_ids, cap_ids;
    struct jm_err own;
};

/* Creates the run and keeps the file in it. tool: "vllm-bench". date_ns: when it was measured, UTC; the mtime
 * of the file where it does not say. */
int jm_build_begin(struct jm_build *b, const char *tool, const struct jm_ifile *f,
                   const struct jm_import_opts *o, const char *out, int64_t date_ns, struct jm_err *err);
/* Seals the run, or removes it when anything failed. Returns b->rc. */
int jm_build_end(struct jm_build *b);
/* A file of one document or of several (JSON lines): opens it, begins the run at the date of the first
 * document (date: ns UTC or -1; NULL: the mtime), calls one for each that was selected (n from 1) and ends
 * the run. */
typedef int64_t (*jm_build_date_fn)(const struct jm_ifile *f, const struct jm_jtoken *doc);
typedef void (*jm_build_one_fn)(struct jm_build *b, const struct jm_jtoken *doc, int n);
int jm_build_documents(const char *tool, const char *path, const char *out, const struct jm_import_opts *o,
                       jm_build_date_fn date, jm_build_one_fn one, struct jm_err *err);
/* A failure that the importer found itself. */
int jm_build_fail(struct jm_build *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Another file that belongs to it, kept in the run. */
void jm_build_raw(struct jm_build *b, const struct jm_ifile *f, const char *as);

void jm_build_env(struct jm_build *b, const char *key, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* The value of a member as the environment's key; nothing where it is absent, null, an object or an array. */
void jm_build_env_of(struct jm_build *b, const char *key, const struct jm_jtoken *v);
/* import.missing.WHAT: "token_times", "the file has means and percentiles only" */
void jm_build_missing(struct jm_build *b, const char *what, const char *why);
/* import.times: how the times of the run were come by. */
void jm_build_times(struct jm_build *b, const char *how);

/* Opens the next window [t0, t0 + ns], role measure; closes the one before. Times are ns UTC. */
void jm_build_window(struct jm_build *b, int trial, const char *name, int64_t t0, int64_t ns);
/* The same for another role: a warm-up, a cool-down. */
void jm_build_window_as(struct jm_build *b, enum jm_role role, int trial, const char *name, int64_t t0,
                        int64_t ns);
/* The same for files without absolute times: moved behind the window before where it would overlap it. */
void jm_build_window_after(struct jm_build *b, int trial, const char *name, int64_t t0, int64_t ns);

/* How many earlier windows had the same plan (any text that tells plans apart): the trial of this one. */
int jm_build_repeat(struct jm_build *b, const char *plan);

/* ---- claims: what the file says of itself, about the window b->about
 */
void jm_build_claim(struct jm_build *b, const char *key, const char *metric, const char *stat, double value,
                    const char *unit, const char *source);
/* A row for keys of an object. key: "duration"; with one * it stands for a statistic ("*_ttft_ms": mean,
 * median, std, p99, ...), written as stat. */
struct jm_claim_row {
    const char *key, *metric, *stat, *unit, *source, *boundary;
};
/* metric is an id of the catalogue, or one of these, which the checks know too: "duration" (s),
 * "requests.all", "requests.ok", "requests.failed", "tokens.input", "tokens.output", "tokens.cached",
 * "tokens.total_per_s", "tokens.input_per_s", "isl", "osl" (per request), "energy.duration" (s, of the window
 * of the energy), "concurrency" (mean in flight). */
/* Every number of the object (not of objects in it) by the rows (ended by key == NULL); one that no row names
 * is a claim without metric and unit. prefix: before the key, "" or "metrics.". Texts, true and false become
 * "file.<prefix><key>" in the environment. */
void jm_build_claims(struct jm_build *b, const struct jm_jtoken *object, const struct jm_claim_row *rows,
                     const char *prefix);
/* One member of it. */
void jm_build_member(struct jm_build *b, const char *prefix, const struct jm_jtoken *key,
                     const struct jm_jtoken *v, const struct jm_claim_row *rows);
/* The same for an energy, a power or what rests on one, which has a boundary ("gpu", "" where the file does
 * not say). A source that begins with "estimate: " says that it is none that was measured: a model, a
 * constant, a prediction, or something with one of them in it. */
void jm_build_energy_claim(struct jm_build *b, const char *key, const char *metric, const char *stat,
                           double value, const char *unit, const char *source, const char *boundary);
/* An object of statistics ({"avg": 1, "p99": 2, ...}); key: its name. Numbers deeper are found too
 * ("percentiles"). */
void jm_build_stats(struct jm_build *b, const char *key, const struct jm_jtoken *object, const char *metric,
                    const char *unit, const char *source);
/* The name of a statistic as claims have it: "avg" -> "mean", "median" and "50%" -> "p50", "stddev" -> "std".
 * False: it is none. */
bool jm_build_stat(struct jm_span name, char stat[16]);

/* ---- requests */
/* A token event of the next request. tokens < 0: not known how many it carried. */
void jm_build_event(struct jm_build *b, int64_t t, int64_t tokens, unsigned flags);
/* Puts the request (id and trial are given here) with the events gathered, sets first and last token and
 * events from them where they are not set, and forgets the events. */
void jm_build_request(struct jm_build *b, struct jm_request *q);

/* ids.c: the file's own id of a request (text or number; anything else is none). An id that comes again in
 * the same window is a request written twice: how many there are is import.duplicates. The first 4 million
 * ids are looked at (8 bytes each). */
void jm_build_id(struct jm_build *b, const struct jm_jtoken *id);
/* By jm_build_end: how many ids had come before. Frees them. */
int64_t jm_build_id_repeats(struct jm_build *b);
uint64_t jm_build_hash(uint64_t h, struct jm_span text); /* FNV-1a on; h: 0 to begin */

/* A request of a tool that keeps durations: start (-1: not known; it is placed at the start of the window),
 * time to the first chunk and to the end (-1: not known) and the gaps between chunks (NULL, or an array in
 * units of 10^exponent s). Sets the stamps that follow, gathers the events, and grows the window. A chunk is
 * one token where there are as many chunks as tokens, else of unknown count. Set the token
 * counts and the end before. */
void jm_build_timed(struct jm_build *b, struct jm_request *q, int64_t start, int64_t ttft, int64_t e2e,
                    const struct jm_jtoken *gaps, int exponent);
/* How a request ended, by the words of its error. */
enum jm_end jm_build_end_of(const char *error);

/* "20250827-142530", "2025-08-27T14:25:30[.123456789][Z|+02:00]" (blank for T) → ns UTC. *zone: it said one;
 * without one it is taken as UTC. False: no date. */
bool jm_build_date(struct jm_span text, int64_t *ns, bool *zone);

#endif
