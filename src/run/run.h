/* SPDX-License-Identifier: Apache-2.0 */
/* The run file (*.jmr): one SQLite file that holds everything that was observed, raw, and nothing that was
 * concluded. docs/run-file.md describes its schema.
 *
 * Writing: one thread. Readings are gathered per channel and written as 10 s chunks; everything is durable at
 * the latest JM_RUN_FLUSH_NS after it was put. A crash loses at most that; jm_run_recover finishes the file.
 * Reading: read-only, never migrates in place. */
#ifndef JM_RUN_RUN_H
#define JM_RUN_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/span.h"
#include "base/str.h"
#include "model/channel.h"
#include "model/domain.h"
#include "model/request.h"
#include "model/window.h"

#define JM_RUN_APPLICATION_ID 0x4a4d5231 /* "JMR1" */
#define JM_RUN_VERSION        1
#define JM_RUN_FLUSH_NS       (10 * JM_NS_PER_S)
#define JM_RUN_RAW_MAX        (64u << 20) /* larger raw files are kept by name and hash */

/* ---- writing
 * -------------------------------------------------------------------------------------------------- */

struct jm_run_writer;

struct jm_run_create {
    const char *label;    /* may be NULL */
    const char *kind;     /* "recorded" or "imported" */
    const char *source;   /* "mlperf", "bench http://...", ... */
    int64_t created_real; /* ns UTC */
    uint64_t seed;  /* of resampling, so that the same file gives the same digits; the id is made from it */
    bool overwrite; /* else an existing file is JM_ECONFLICT */
};

int jm_run_create(const char *path, const struct jm_run_create *c, struct jm_run_writer **out,
                  struct jm_err *err);

/* A meter as it is in the run. state: "ok", "absent", "denied", "lost", ... with reason and mend ("" where
 * ok). Returns its index >= 0. */
struct jm_run_meter {
    char name[32];     /* "nvml" */
    char instance[96]; /* library path, root, ... */
    char state[24];
    char reason[256], mend[256];
    int64_t period_ns; /* asked sampling period */
    bool simulated;
};
int jm_run_put_meter(struct jm_run_writer *w, const struct jm_run_meter *m, struct jm_err *err);
int jm_run_set_meter_state(struct jm_run_writer *w, int meter, const char *state, const char *reason,
                           struct jm_err *err);
int jm_run_put_domains(struct jm_run_writer *w, const struct jm_domain_tree *t,
                       struct jm_err *err); /* replaces */
/* Gives the channel its id (index in the run) in *id. */
int jm_run_put_channel(struct jm_run_writer *w, const struct jm_channel *c, int *id, struct jm_err *err);
/* Measured facts learned later (period, window) replace the row. */
int jm_run_update_channel(struct jm_run_writer *w, const struct jm_channel *c, struct jm_err *err);
/* Readings of one channel must come in order of t0. */
int jm_run_put_readings(struct jm_run_writer *w, const struct jm_reading *r, size_t n, struct jm_err *err);
int jm_run_put_clock_pair(struct jm_run_writer *w, const struct jm_clock_pair *p, struct jm_err *err);
/* Opening writes the row with t1 = 0 at once, so that a cut run still has it; closing sets t1. Ids are given
 * by the caller in order from 0. */
int jm_run_open_window(struct jm_run_writer *w, const struct jm_window *win, struct jm_err *err);
int jm_run_close_window(struct jm_run_writer *w, int id, int64_t t1, struct jm_err *err);
int jm_run_put_mark(struct jm_run_writer *w, const struct jm_mark *m, struct jm_err *err);
/* Environment and configuration: "host.name", "nvml.driver", "plan.concurrency", ... the last value of a key
 * counts. */
int jm_run_put_env(struct jm_run_writer *w, const char *key, const char *value, struct jm_err *err);
int jm_run_put_request(struct jm_run_writer *w, const struct jm_request *r, const struct jm_token_event *ev,
                       size_t n_ev, struct jm_err *err);
/* Text of a request, only with --keep-text. */
int jm_run_put_text(struct jm_run_writer *w, int64_t request, struct jm_span prompt, struct jm_span output,
                    struct jm_err *err);
/* A raw reply or file; compressed and kept up to JM_RUN_RAW_MAX, else name and hash only. origin: where it
 * came from. */
int jm_run_put_raw(struct jm_run_writer *w, const char *name, const char *origin, struct jm_span data,
                   struct jm_err *err);
/* Bytes that the raw rows written so far take, compressed. */
int64_t jm_run_raw_stored(const struct jm_run_writer *w);
/* A file too large to be kept, by the hash that the caller made of it piece by piece. */
int jm_run_put_raw_hash(struct jm_run_writer *w, const char *name, const char *origin, const char *sha256,
                        int64_t bytes, struct jm_err *err);
/* A scrape of the engine's metrics: t0/t1 of the request, text as it came. */
int jm_run_put_scrape(struct jm_run_writer *w, const char *url, int64_t t0, int64_t t1, struct jm_span text,
                      struct jm_err *err);
/* A factor (PUE, price, carbon) as used or fetched. */
int jm_run_put_factor(struct jm_run_writer *w, const char *kind, const char *key, double value,
                      const char *unit, const char *source, struct jm_err *err);

/* A number that a foreign file states about itself, under the file's own name. It is never a result: show
 * puts it beside what is computed again from the same file. */
struct jm_run_claim {
    char key[96];      /* as the file calls it, "mean_ttft_ms" */
    char metric[48];   /* the id of the catalogue that it claims to be, "" where there is none */
    char stat[16];     /* "mean", "p99", "std", "min", "sum", "" */
    double value;      /* as written; NAN: the file has the key without a number */
    char unit[24];     /* of value, "ms" */
    char source[256];  /* how the tool comes to it, where that is known */
    char boundary[16]; /* of an energy or power: "gpu", "wall", ...; "" not said, or it has none */
    int window;        /* index of the window that it is about, -1: the whole file */
};
int jm_run_put_claim(struct jm_run_writer *w, const struct jm_run_claim *c, struct jm_err *err);

/* Writes what is due (now_mono: current time); force: everything. */
int jm_run_flush(struct jm_run_writer *w, int64_t now_mono, bool force, struct jm_err *err);
/* Writes everything, and a file of its own that holds what was written so far; it is not sealed. path must
 * not exist. */
int jm_run_copy(struct jm_run_writer *w, int64_t now_mono, const char *path, struct jm_err *err);
/* Finishes: everything written, journal folded in, sealed. Frees w also on error. */
int jm_run_seal(struct jm_run_writer *w, struct jm_err *err);
/* Closes without sealing (what is written stays and can be recovered). Frees w. */
void jm_run_abandon(struct jm_run_writer *w);
/* Removes a run file with its journal; what is no regular file stays and is JM_ECONFLICT. */
int jm_run_remove(const char *path, struct jm_err *err);

/* Seals a cut run in place (from file and -wal) and marks it as cut. *lost_after: last time with data.
 * Already sealed files are left as they are (returns 1). */
int jm_run_recover(const char *path, int64_t *lost_after, struct jm_err *err);

/* ---- reading
 * -------------------------------------------------------------------------------------------------- */

struct jm_run;

struct jm_run_info {
    char id[40], label[128], kind[16], source[256], joulemark[32];
    int64_t created_real;
    uint64_t seed;
    bool sealed, cut;
    int version;
    char sha256[65]; /* "" unless sealed */
};

int jm_run_open(const char *path, struct jm_run **out, struct jm_err *err);
void jm_run_close(struct jm_run *r);
const char *jm_run_path(const struct jm_run *r);
const struct jm_run_info *jm_run_info(const struct jm_run *r);
const struct jm_domain_tree *jm_run_domains(const struct jm_run *r);
const struct jm_channel *jm_run_channels(const struct jm_run *r, size_t *n);
const struct jm_run_meter *jm_run_meters(const struct jm_run *r, size_t *n);
const struct jm_window *jm_run_windows(const struct jm_run *r, size_t *n);
const struct jm_mark *jm_run_marks(const struct jm_run *r, size_t *n);
const struct jm_clock_pair *jm_run_clock_pairs(const struct jm_run *r, size_t *n);
/* NULL when absent. */
const char *jm_run_env(const struct jm_run *r, const char *key);
/* The same as a decimal number; NAN when absent or none. */
double jm_run_number(const struct jm_run *r, const char *key);
struct jm_run_env_row {
    const char *key, *value;
};
const struct jm_run_env_row *jm_run_env_rows(const struct jm_run *r, size_t *n); /* sorted by key */
const struct jm_request *jm_run_requests(const struct jm_run *r,
                                         size_t *n); /* sorted by id; loaded at first use */
/* Damage among the requests is found when they are loaded: 0, or why there are none. */
int jm_run_requests_check(const struct jm_run *r, struct jm_err *err);
struct jm_run_raw {
    const char *name, *origin, *sha256;
    int64_t bytes;
    bool kept;
};
const struct jm_run_raw *jm_run_raw(const struct jm_run *r, size_t *n);
int jm_run_raw_data(const struct jm_run *r, const char *name, struct jm_str *out, struct jm_err *err);

/* In the order of the file; none in a run that was recorded. */
const struct jm_run_claim *jm_run_claims(const struct jm_run *r, size_t *n);

/* A growing array of readings. */
struct jm_readings {
    struct jm_reading *v;
    size_t n, cap;
};
void jm_readings_release(struct jm_readings *a);
/* Readings of a channel with t1 >= from and t0 <= to, plus one chunk on each side (so that edges can be
 * interpolated), in order, appended to *out. INT64_MIN and INT64_MAX read all. */
int jm_run_readings(const struct jm_run *r, int channel, int64_t from, int64_t to, struct jm_readings *out,
                    struct jm_err *err);
/* First and last time with data of a channel, without decoding. False: none. */
bool jm_run_channel_span(const struct jm_run *r, int channel, int64_t *first, int64_t *last, int64_t *count);

/* Token events of all requests, request by request in order of id: calls fn once a request that has some. fn
 * returns non-zero to stop (passed on). */
typedef int (*jm_run_events_fn)(void *self, int64_t request, const struct jm_token_event *ev, size_t n);
int jm_run_events(const struct jm_run *r, jm_run_events_fn fn, void *self, struct jm_err *err);
/* The same in the order of the file (nearly that of the requests' ends), which reads each block once only. */
int jm_run_events_stored(const struct jm_run *r, jm_run_events_fn fn, void *self, struct jm_err *err);

/* Text of a request, appended; JM_EABSENT when none was kept. */
int jm_run_text(const struct jm_run *r, int64_t request, struct jm_str *prompt, struct jm_str *output,
                struct jm_err *err);
/* Scrapes in order of time; text is empty where only the hash was kept. fn as for events. */
typedef int (*jm_run_scrape_fn)(void *self, const char *url, int64_t t0, int64_t t1, struct jm_span text);
int jm_run_scrapes(const struct jm_run *r, jm_run_scrape_fn fn, void *self, struct jm_err *err);
struct jm_run_factor {
    char kind[32], key[96], unit[32], source[256];
    double value; /* NAN: none */
};
/* Calls fn for each factor in the order they were put. */
typedef int (*jm_run_factor_fn)(void *self, const struct jm_run_factor *f);
int jm_run_factors(const struct jm_run *r, jm_run_factor_fn fn, void *self, struct jm_err *err);

/* mono → UTC by the nearest clock pair; false when the run has none. */
bool jm_run_to_real(const struct jm_run *r, int64_t mono, int64_t *real);

/* ---- export, merge
 * ---------------------------------------------------------------------------------------------- */

/* Export of everything raw: format "csv" (a folder of CSV files, one a table, one a channel) or "json" (one
 * file). */
int jm_run_export(const struct jm_run *r, const char *format, const char *path, struct jm_err *err);
/* A new run with the contents of several (e.g. hosts of one system), times brought to the first one's clock
 * by their clock pairs. What is known of each is kept as merge.N.* in the environment: host, id, the shift of
 * its clock, the bound of its clock's error, the span of its readings. An instrument that two of them read,
 * and a machine that was recorded twice, count once: the later channel is a mirror. Windows are those of the
 * runs that have requests, else of the first. */
struct jm_run_group {
    const char *name, *role; /* role: "serve", "prefill", "decode" */
    const char *gpus;        /* "host:0,1,2" or "host" (all of it), several with commas; index, UUID or its
                                beginning */
};
/* A host that was to be recorded and gave nothing. */
struct jm_run_missing {
    const char *host, *why;
};
/* How far the clock of a host was seen to be off from one and the same other, s; NAN: not looked. */
struct jm_run_clock {
    double least_s, most_s;
};
struct jm_run_merge_opts {
    const char *label;  /* NULL: the first one's */
    double tolerance_s; /* that a host's clock may be wrong by; NAN: none was asked for */
    const struct jm_run_group *group;
    size_t n_group;
    bool overwrite;
    bool common; /* each run has one window of the same span: the window is what all of them share */
    const char *const *name; /* of each run: what groups may call its host too; NULL: only by its own name */
    const struct jm_run_clock *clock; /* of each run; NULL: nobody looked */
    const struct jm_run_missing *missing;
    size_t n_missing;
};
int jm_run_merge(const char *const *paths, size_t n, const char *out, const struct jm_run_merge_opts *o,
                 struct jm_err *err);

#endif
