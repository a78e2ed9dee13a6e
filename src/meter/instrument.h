/* SPDX-License-Identifier: Apache-2.0 */
/* Configured instruments: an entry of `meters:` in joulemark.yaml is one instance of a kind of meter, with a
 * name, an address, a place in the domain tree, secrets by file or environment, bounds and a pace.
 *
 *   meters:
 *     - name: bmc1              # names the instance in the run
 *       meter: redfish          # the kind; its own keys stand beside the common ones
 *       url: https://bmc1
 *       at: node                # what it measures: inlet ac, inlet dc, psu, node, gpu, rack, chassis, site
 *       host: node1             # of which host; not said: this one
 *       interval: 5s
 *       user: reader
 *       password_env: BMC_PASSWORD
 *       tls: {ca: bmc-ca.pem}
 *
 * A meter of this kind gives its rows in jm_meter_ops (meter/meter.h): opts, conf_size, conf_init,
 * conf_check, open_conf. Common keys are parsed here, with line and column, unknown keys and wrong units
 * refused. */
#ifndef JM_METER_INSTRUMENT_H
#define JM_METER_INSTRUMENT_H

#include "base/option.h"
#include "meter/meter.h"

/* A secret: in the file itself (a warning), in a file of its own, or in the environment. Never stored, shown
 * or logged; read when it is needed and wiped after. */
struct jm_secret {
    const char *text, *file, *env;
};

/* Three rows NAME, NAME_file, NAME_env for a struct jm_secret at offset of the conf struct.
 *   JM_OPTS_SECRET("community", offsetof(struct conf, community), "Community of SNMP v2c.") */
#define JM_OPTS_SECRET(key, at, about)                                                                       \
    {key,                                                                                                    \
     0,                                                                                                      \
     JM_OPT_STR,                                                                                             \
     (at) + offsetof(struct jm_secret, text),                                                                \
     .arg = "SECRET",                                                                                        \
     .help = about " Better not in this file: see the next two keys."},                                      \
        {key "_file",   0,                                                                                   \
         JM_OPT_STR,    (at) + offsetof(struct jm_secret, file),                                             \
         .arg = "FILE", .help = "The same, in the first line of a file that others cannot read."},           \
    {                                                                                                        \
        key "_env", 0, JM_OPT_STR, (at) + offsetof(struct jm_secret, env),                                   \
            .arg = "NAME", .help = "The same, in an environment variable."                                   \
    }

#define JM_SECRET_MAX 256
/* Bytes of the secret in out, ended by NUL; 0 where none is set. what: "the password of bmc1". A file that
 * others can read, an unset variable and two ways at once are errors. Wipe out with explicit_bzero. */
int jm_secret_get(const struct jm_secret *s, const char *what, char out[JM_SECRET_MAX], struct jm_err *err);
bool jm_secret_given(const struct jm_secret *s);

struct jm_tls_opts {
    const char *ca;  /* file of CA certificates; NULL: the system's */
    const char *pin; /* 64 hex digits: SHA-256 of the peer's certificate (DER); NULL: none */
    bool insecure;   /* nothing is verified: a fact of the run says so */
};

/* Where an outlet, branch, socket or sub-meter of an instrument leads. */
struct jm_feed {
    const char *part; /* as the kind counts: "3", "A1", "L1" */
    const char *host; /* NULL: the entry's */
    const char *label;
    int at; /* enum jm_domain_kind, -1: the entry's */
};
#define JM_FEEDS_MAX 256

struct jm_early;
struct jm_opening;
struct jm_instruments;

struct jm_instrument {
    const char *name, *kind;
    const struct jm_meter_ops *ops;
    const struct jm_instruments *list;
    size_t line;                 /* in the configuration */
    int64_t interval_ns;         /* 0: the instrument's own pace */
    int64_t timeout_ns;          /* of one exchange; never 0 */
    int at;                      /* enum jm_domain_kind; -1: what the kind measures by itself */
    const char *host, *device;   /* NULL: this host; device: UUID or bus address of a part */
    struct jm_opt_list contains; /* hosts and entries that lie inside it */
    struct jm_feed feed[JM_FEEDS_MAX];
    size_t n_feed;
    double gain_tol, offset_tol; /* accuracy: relative and absolute part (W); NAN: not said */
    double max_power_w;          /* 0: not said */
    const char *user;
    struct jm_secret password;
    struct jm_tls_opts tls;
    void *conf;  /* ops->conf_size bytes */
    void *users; /* who reads it now: jm_instrument_hold */
};

struct jm_instruments {
    struct jm_instrument **v;
    size_t n;
    char file[256]; /* the configuration */
};

/* The row `meters:` of a configuration (see base/option.h, JM_OPT_MAPS with a selector); base is a struct
 * jm_instruments. */
extern const struct jm_opt_maps jm_instrument_maps;
/* Keys of every entry, for docs and messages. */
extern const struct jm_opt jm_instrument_keys[];
/* A thread that hangs still uses its entry: then the whole list stays, and false says that the arena must
 * stay too. */
bool jm_instruments_release(struct jm_instruments *list);
void jm_instrument_hold(const struct jm_instrument *in);
void jm_instrument_drop(const struct jm_instrument *in);
const struct jm_instrument *jm_instruments_find(const struct jm_instruments *list, const char *name);
/* Only the list of a file whose other keys are left alone: for tests and fuzzing. Free the arena after the
 * list. */
int jm_instruments_parse(struct jm_instruments *list, struct jm_span text, const char *file,
                         struct jm_opt_arena **arena, struct jm_err *err);
/* Things a reader should know that are no errors: a secret in the file, TLS unverified. One a line. */
void jm_instruments_warnings(const struct jm_instruments *list, struct jm_str *out);

/* The racks, chassis and inlets that entries say they measure, with the hosts inside them; before any meter
 * is opened, so that each finds its place. */
int jm_instruments_topology(const struct jm_instruments *list, const struct jm_meter_env *env,
                            struct jm_domain_tree *tree, struct jm_err *err);
/* The domain that (a part of) an entry measures, made when new. part: NULL for the whole; one of its feeds'
 * names goes where the feed leads. deflt: where neither says it. Negative JM_E* on error. */
int jm_instrument_domain(const struct jm_instrument *in, const struct jm_meter_env *env,
                         struct jm_domain_tree *tree, const char *part, enum jm_domain_kind deflt,
                         struct jm_err *err);
const struct jm_feed *jm_instrument_feed(const struct jm_instrument *in, const char *part);
/* "NAME" or "NAME/part": the device of its channels. */
void jm_instrument_device(const struct jm_instrument *in, const char *part, char out[96]);
/* Password of the entry; 0: none. */
int jm_instrument_password(const struct jm_instrument *in, char out[JM_SECRET_MAX], struct jm_err *err);
/* Its address, user and secrets removed. */
void jm_instrument_address(const struct jm_instrument *in, char *out, size_t cap);
/* A URL without user and password: "https://u:p@host/x" is "https://host/x". */
void jm_address_redact(const char *address, char *out, size_t cap);
/* JM_EUSAGE where a URL carries user or password. For conf_check. */
int jm_address_check(const char *address, struct jm_err *err);

/* open_conf, then what the entry says: name, interval, accuracy, sanity bound, facts. */
int jm_instrument_open(const struct jm_meter_env *env, const struct jm_instrument *in,
                       struct jm_domain_tree *tree, struct jm_meter **out, struct jm_err *err);

/* For a configured meter that is no longer alive: opens its entry again. 0: m has the new connection, its
 * channels and its place are what they were. JM_ECONFLICT: what answers now has other channels. Everything
 * that may have begun anew (counters) is for the caller to mark. */
int jm_instrument_reopen(const struct jm_meter_env *env, struct jm_meter *m, struct jm_err *err);

/* All at once, each in its own thread (with a virtual clock: one after the other). Opened or not, each has
 * its row in out (n of them). keep: one that may answer later is tried again (meter/opening.h), and one that
 * hangs goes on; else it is left behind. What hangs uses its entry until it comes back. */
struct jm_opened {
    const struct jm_instrument *in;
    struct jm_meter *m; /* NULL: why says why not */
    int rc;
    struct jm_err why;
    unsigned tries;
    struct jm_early *early;   /* raw replies of opening it; NULL: memory ran out */
    struct jm_opening *later; /* goes on trying; NULL: over */
};
int jm_instruments_open_all(const struct jm_meter_env *env, const struct jm_instrument *const *in, size_t n,
                            bool keep, struct jm_domain_tree *tree, struct jm_opened *out,
                            struct jm_err *err);
void jm_opened_release(struct jm_opened *o);
/* Those that a list of meters ("nvml,bmc1"; NULL: all) asks for by kind or name, borrowed, into *out (free
 * it). Returns how many, or JM_ENOMEM. */
int jm_instruments_select(const struct jm_instruments *list, const char *meters,
                          const struct jm_instrument ***out, struct jm_err *err);
/* Bytes of the secrets of an entry that stand in text are made '*'. Takes no notice of those that cannot be
 * had. */
struct jm_redactor {
    char secret[8][JM_SECRET_MAX];
    size_t len[8], n;
};
void jm_redactor_init(struct jm_redactor *r, const struct jm_instrument *in);
void jm_redactor_apply(const struct jm_redactor *r, char *text, size_t n);
void jm_redactor_wipe(struct jm_redactor *r);

#endif
