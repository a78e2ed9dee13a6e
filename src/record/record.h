/* SPDX-License-Identifier: Apache-2.0 */
/* The recorder: a reader thread a meter with its own rate and deadline, a recorder thread that alone touches
 * the run file. Window edges are bursts (docs/recording.md): each counter is polled around the edge until it
 * has moved on both sides, so that its energy at the common edge can be interpolated between its own
 * refreshes. */
#ifndef JM_RECORD_RECORD_H
#define JM_RECORD_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "meter/meter.h"
#include "model/request.h"
#include "model/window.h"
#include "run/run.h"

struct jm_recorder;

struct jm_record_cfg {
    const char *path; /* run file to create */
    struct jm_run_create create;
    struct jm_meter_env env;
    const char *meters; /* "nvml,rapl"; NULL: all that can be read */
    int64_t period_ns;  /* sampling period; 0: each meter's own */
    int64_t edge_ns;    /* longest burst on one side of an edge; 0: 4 refresh periods, at most 500 ms */
    bool no_edge;       /* plain reads at edges */
    int64_t pair_ns;    /* clock pairs this often; 0: 1 s */
    struct jm_clock
        clock; /* ops == NULL: the system's. A virtual clock runs everything in the caller's thread. */
    bool inline_threads;        /* true: no threads; the caller drives with jm_recorder_run_until */
    const char *mark_socket;    /* path of the datagram socket for marks; NULL: none */
    bool no_selftest;           /* bursts without the self-test before them; the run says so */
    const char *selftest_cache; /* file with the verdicts of earlier self-tests: one a boot, driver and set of
                                   devices is enough. NULL: always test */
    int chrony_port;            /* chronyd's command port; 0: 323 */
    const struct jm_meter_ops *const *registry; /* NULL: jm_meter_registry */
    /* Sees all readings, in the recorder's thread; NULL: nobody does. */
    void (*tap)(void *self, const struct jm_reading *r, size_t n);
    void *tap_self;
    const struct jm_log *log;
};

/* Opens meters (those that cannot be read become rows with their reason), creates the run file, writes
 * environment. It is no error when no meter can be read (requests are still recorded): see
 * jm_recorder_channels. */
int jm_recorder_new(const struct jm_record_cfg *cfg, struct jm_recorder **out, struct jm_err *err);
/* The slowest refresh period or averaging window of a channel of energy or power, ns; 0: none is known. */
int64_t jm_recorder_slowest(struct jm_recorder *r);
size_t jm_recorder_channels(struct jm_recorder *r);
/* As they are in the run; before the start. Borrowed. */
const struct jm_channel *jm_recorder_channel_list(const struct jm_recorder *r);
/* Text of what was tried and what mends it, for the case of no channel. Borrowed. */
const char *jm_recorder_why(const struct jm_recorder *r);
/* Self-tests (refresh periods, two-rate test that fast polling does not change a counter's rate) and sampling
 * start. */
int jm_recorder_start(struct jm_recorder *r, struct jm_err *err);
/* Without threads: sample until mono time t. */
int jm_recorder_run_until(struct jm_recorder *r, int64_t t, struct jm_err *err);
/* Begins a window and returns its id (>= 0) and its t0. Blocks for the burst before the edge; the burst after
 * it goes on while the caller works. Windows may overlap; one that begins right after another began or ended
 * shares its edge. */
int jm_recorder_window_begin(struct jm_recorder *r, enum jm_role role, const char *name, int trial,
                             int64_t *t0, struct jm_err *err);
/* Blocks for the bursts on both sides of the edge. */
int jm_recorder_window_end(struct jm_recorder *r, int id, int64_t *t1, struct jm_err *err);
/* Safe from any thread. Copied. */
int jm_recorder_mark(struct jm_recorder *r, const char *name);
int jm_recorder_request(struct jm_recorder *r, const struct jm_request *q, const struct jm_token_event *ev,
                        size_t n_ev);
int jm_recorder_text(struct jm_recorder *r, int64_t request, struct jm_span prompt, struct jm_span output);
int jm_recorder_env(struct jm_recorder *r, const char *key, const char *value);
int jm_recorder_scrape(struct jm_recorder *r, const char *url, int64_t t0, int64_t t1, struct jm_span text);
int jm_recorder_raw(struct jm_recorder *r, const char *name, const char *origin, struct jm_span data);
/* Keeps a passport in the run, when it is of an instrument that is read. Before the start. JM_ECONFLICT with
 * one sentence when it is of another device, driver or firmware. */
struct jm_passport_file;
int jm_recorder_passport(struct jm_recorder *r, const struct jm_passport_file *p, struct jm_span text,
                         struct jm_err *err);
/* Beside steps of load: instruments that refresh slowly are read several times a refresh. */
void jm_recorder_fine(struct jm_recorder *r, bool on);
/* A file of its own that holds all of the recording up to now: windows that ended, and what was handed over
 * before. It is not sealed and is the caller's to remove. path must not exist. Not from a load thread. */
int jm_recorder_copy(struct jm_recorder *r, const char *path, struct jm_err *err);
/* Pids of the endpoint: which GPUs do they use? Writes env "sut.*"; returns the number of GPUs found, 0:
 * none, or a negative error when that cannot be known. */
int jm_recorder_find_sut(struct jm_recorder *r, const int64_t *pids, size_t n, struct jm_err *err);

/* What kind of idle the devices are in now: deep (no process on them), loaded (a process holds them and they
 * do not work), busy (they work), unknown (no meter can say). why: what was seen. */
enum jm_idle_kind { JM_IDLE_UNKNOWN, JM_IDLE_DEEP, JM_IDLE_LOADED, JM_IDLE_BUSY };
enum jm_idle_kind jm_recorder_idle_kind(struct jm_recorder *r, char *why, size_t cap);
const char *jm_idle_kind_name(int kind); /* "unknown", "deep", "loaded", "busy" */

struct jm_record_live { /* for progress lines */
    int64_t elapsed_ns;
    double watts;   /* sum of the power of the widest cut read, NAN: none */
    double celsius; /* of the hottest device, as last read; NAN: none */
    size_t meters_ok, meters;
    uint64_t readings, late;
    int failed; /* JM_E* of the first failed write (JM_EFULL: the disk is full): nothing more is written */
};
void jm_recorder_live(struct jm_recorder *r, struct jm_record_live *out);

/* Stops threads, seals the file and frees r, also on error (then the file is what could be written; err
 * says). */
int jm_recorder_finish(struct jm_recorder *r, struct jm_err *err);

#endif
