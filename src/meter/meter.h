/* SPDX-License-Identifier: Apache-2.0 */
/* The interface of a meter: something that can be read. One file a source, one row in registry.c.
 *
 * Life: probe (cheap, no side effect, says why not and how to mend it) → open (finds devices, makes channels
 * and domains) → read, many times, from one thread, never allocating → close. */
#ifndef JM_METER_METER_H
#define JM_METER_METER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/option.h"
#include "base/span.h"
#include "model/channel.h"
#include "model/domain.h"

#define JM_METER_OPS_VERSION 1

struct jm_instrument;
struct jm_instruments;
struct jm_raw_sink;

/* Where things are looked for; every path can be set, so that every reader can be replayed on a fake tree.
 * NULL means the default. */
struct jm_meter_env {
    const char *sysfs_root;     /* "/sys" */
    const char *proc_root;      /* "/proc" */
    const char *dev_root;       /* "/dev" */
    const char *nvml_lib;       /* "libnvidia-ml.so.1" */
    const char *level_zero_lib; /* "libze_loader.so.1" */
    const char *hlml_lib;       /* "libhlml.so" */
    const char *amdsmi_lib;     /* AMD SMI or ROCm SMI; NULL: what is installed */
    const char *dcgm_lib;       /* "libdcgm.so.4", else ".3" */
    const char *dcgm;           /* address of a DCGM host engine; NULL: only when asked for by name */
    const char *devices;     /* GPU selection by CUDA's rules: "0,2", "GPU-8932f937", "MIG-..."; NULL: all */
    const char *replay_path; /* run file that replay plays; NULL: no replay */
    const char *yokogawa;    /* address of a power analyzer, with options; NULL: none */
    const char *ptd;         /* address of a PTDaemon, with options; NULL: none */
    double tdp_w;            /* estimate: CPU TDP in W; 0: estimate not asked for */
    const struct jm_instruments *instruments; /* entries of `meters:` in joulemark.yaml; NULL: none */
    const char *host;                         /* name of this host */
    const struct jm_raw_sink *opening; /* open_conf: takes raw replies until it returns; NULL: nobody does */
    struct jm_clock clock;             /* ops == NULL: the system's */
    const struct jm_log *log;
    /* perf: opens an event of the PMU (type, config) on a CPU, system-wide; a descriptor or -errno. NULL:
     * perf_event_open(2). */
    int (*perf_open)(void *self, uint32_t type, uint64_t config, int cpu);
    void *perf_self;
};

enum jm_probe_state {
    JM_PROBE_OK,
    JM_PROBE_ABSENT,
    JM_PROBE_DENIED,
    JM_PROBE_UNSUPPORTED,
    JM_PROBE_OFF /* can be read, but only when asked for by name (or, for an estimate, by its option) */
};

struct jm_probe {
    enum jm_probe_state state;
    char reason[256]; /* what was tried and what came of it */
    char mend[256];   /* the one command that mends it, "" where there is none */
};

struct jm_meter_ops;

/* A fact about the instrument or its device for the run's environment: "nvml.driver" = "580.95.05". */
struct jm_meter_fact {
    char key[64], value[192];
};

/* Where raw replies of an instrument go; put waits for nobody. */
struct jm_raw_sink {
    void (*put)(void *self, int64_t t0, int64_t t1, const char *origin, struct jm_span reply, unsigned flags);
    void *self;
};
enum jm_raw_flag {
    JM_RAW_BAD = 1 << 0,   /* could not be decoded: kept before all others */
    JM_RAW_SHAPE = 1 << 1, /* the first of this kind, or its form has changed: kept before the usual ones */
};

struct jm_meter {
    const struct jm_meter_ops *ops;
    const struct jm_instrument *conf; /* the entry it was opened from; NULL: opened without one */
    const struct jm_raw_sink *raw;    /* set by who reads it, after opening; NULL: nobody keeps replies */
    char instance[96];                /* of a configured one: the name of its entry */
    bool simulated;
    struct jm_channel *chan; /* owned by the meter; ids are 0..n_chan-1 until the recorder gives run ids */
    size_t n_chan;
    struct jm_meter_fact *fact;
    size_t n_fact;
    int64_t period_ns;     /* suggested sampling period */
    int64_t max_period_ns; /* a longer pause between two reads can lose a wrap; 0: no such bound */
    int64_t deadline_ns;   /* a read that takes longer is a finding */
    bool alive;            /* false: the device vanished; reads give JM_S_LOST */
    void *priv;
};

enum jm_read_set {
    JM_READ_ALL,    /* every channel */
    JM_READ_EDGE,   /* only channels with JM_CHF_EDGE */
    JM_READ_COUNTER /* only counters with JM_CHF_EDGE: the fastest set, for bursts */
};

struct jm_meter_ops {
    int version;          /* JM_METER_OPS_VERSION */
    const char *name;     /* "nvml" */
    const char *summary;  /* one line */
    const char *boundary; /* "gpu", "device", "node", "wall": what it can give at best */
    int (*probe)(const struct jm_meter_env *env, struct jm_probe *out);
    /* Devices, domains (into tree) and channels. A meter that opens with no readable channel is an error with
     * a reason. */
    int (*open)(const struct jm_meter_env *env, struct jm_domain_tree *tree, struct jm_meter **out,
                struct jm_err *err);
    /* One reading a channel of the set, in order, into out (room for n_chan); returns how many. Stamps come
     * from clock. reading.channel is the index in chan[]. Never fails as a whole: what could not be read has
     * its status. Never allocates. JM_READ_ALL leaves out a slow channel (a limit, a mode) on most of its
     * calls, so that every stamp is one of a real read; the other sets are always complete. */
    size_t (*read)(struct jm_meter *m, const struct jm_clock *clock, enum jm_read_set set,
                   struct jm_reading *out);
    void (*close)(struct jm_meter *m);
    /* Optional: which devices do these processes, or processes started by them, use? device_used[i] is of the
     * i-th distinct chan[].device in order of appearance. Returns how many are used (0: none), or a negative
     * JM_E* when that cannot be known. NULL: the meter has no idea. May allocate. */
    int (*find_process)(struct jm_meter *m, const int64_t *pids, size_t n_pids, bool *device_used,
                        size_t n_devices);
    const char *needs; /* permission and parts that it takes to be read, one line */
    const char *traps; /* what is known to go wrong with such sources and what is done about it: one a line,
                          for docs/meters.md */

    /* ---- configured instruments (meter/instrument.h, docs/instruments.md); open_conf NULL: there are none.
     * One entry of `meters:` is one instance with a thread of its own. A kind that exists only when
     * configured leaves probe, open and find_process NULL. */
    const struct jm_opt *opts;     /* the kind's own keys, into its conf struct; NULL: only the common ones */
    size_t conf_size;              /* of that struct; zeroed, then conf_init */
    void (*conf_init)(void *conf); /* defaults; NULL: all zero */
    /* After all keys of an entry: what is missing or does not fit together. The sentence needs neither file
     * nor line. NULL: nothing to check. */
    int (*conf_check)(const struct jm_instrument *in, struct jm_err *err);
    void (*conf_release)(void *conf); /* what JM_OPT_MAPS rows allocated; NULL: nothing */
    /* The address as it may be shown, e.g. "https://bmc1/redfish/v1"; NULL: the key `address` or `url`. */
    void (*conf_address)(const struct jm_instrument *in, char *out, size_t cap);
    /* As open, for one entry: in->conf is the conf struct, jm_instrument_domain says where in the tree its
     * channels lie. Talks to the device within in->timeout_ns for each step. Period, accuracy, sanity bound
     * and the instance's name are put on afterwards by jm_instrument_open: set the instrument's own. Devices
     * of channels begin with in->name. Raw replies go to env->opening (m->raw = env->opening). Called in a
     * thread of its own; tree and out are the call's own. */
    int (*open_conf)(const struct jm_meter_env *env, const struct jm_instrument *in,
                     struct jm_domain_tree *tree, struct jm_meter **out, struct jm_err *err);
    int64_t min_interval_ns;  /* a shorter `interval` is refused: nothing refreshes faster; 0: no bound */
    const char *why_interval; /* said then: "a BMC samples its sensors once a second or slower" */
};

/* All meters, in the order they are tried. Ends with NULL. */
extern const struct jm_meter_ops *const jm_meter_registry[];
const struct jm_meter_ops *jm_meter_find(const char *name);

const char *jm_probe_state_name(int s);

/* Index of a channel by device and name, -1: none. */
int jm_meter_channel(const struct jm_meter *m, const char *device, const char *name);

/* Helpers for meters. */
struct jm_meter *jm_meter_alloc(const struct jm_meter_ops *ops, struct jm_err *err);
struct jm_channel *
jm_meter_add_channel(struct jm_meter *m,
                     struct jm_err *err); /* zeroed, tolerances NAN; valid until the next */
int jm_meter_add_fact(struct jm_meter *m, struct jm_err *err, const char *key, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* The last value stated for key, or NULL. */
const char *jm_meter_fact(const struct jm_meter *m, const char *key);
void jm_meter_dispose(struct jm_meter *m); /* frees channels, facts and m (not priv); m may be NULL */
bool jm_meter_in_set(const struct jm_channel *c, enum jm_read_set set);
/* mend: NULL or "" where there is none. */
void jm_probe_set(struct jm_probe *out, enum jm_probe_state state, const char *mend, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* Hands a raw reply to whoever keeps them (the run's raw table, bounded), so that an audit can decode it
 * again. origin: URI or OID it came from, without secrets. The reply itself is searched for the secrets of
 * the entry. From read and from open; costs a copy. */
void jm_meter_raw(const struct jm_meter *m, int64_t t0, int64_t t1, const char *origin, struct jm_span reply,
                  unsigned flags);
/* A gauge "clock.offset" of device in s (ns native): the instrument's own clock minus this host's realtime at
 * the middle of the request. Give it a reading each time the instrument states its time. */
struct jm_channel *jm_meter_add_clock(struct jm_meter *m, const char *device, struct jm_err *err);
/* A gauge "age" of device in s (ns native): how long ago, by its own account (ReadingTime, ETag, minute_ts),
 * the instrument took the values that it gave. */
struct jm_channel *jm_meter_add_age(struct jm_meter *m, const char *device, struct jm_err *err);
/* Probe and open of a kind as without configuration; a kind that exists only configured is off and says how.
 */
int jm_meter_probe(const struct jm_meter_ops *ops, const struct jm_meter_env *env, struct jm_probe *out);
int jm_meter_open(const struct jm_meter_ops *ops, const struct jm_meter_env *env, struct jm_domain_tree *tree,
                  struct jm_meter **out, struct jm_err *err);
/* The clock of env, the system's where it has none. */
struct jm_clock jm_meter_clock(const struct jm_meter_env *env);
/* The domain of the node that env stands for. */
int jm_meter_host(const struct jm_meter_env *env, struct jm_domain_tree *tree, struct jm_err *err);

/* Measures by observation (meter/observe.c): polls the counters and power gauges of m for at most budget_ns
 * and sets period_ns and period_measured of those that moved. n_moved: how many. */
int jm_meter_measure_periods(struct jm_meter *m, const struct jm_clock *clock, int64_t budget_ns,
                             size_t *n_moved, struct jm_err *err);

#endif
