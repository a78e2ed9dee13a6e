/* SPDX-License-Identifier: Apache-2.0 */
/* Private to the dcgm*.c files. */
#ifndef JM_METER_DCGM_H
#define JM_METER_DCGM_H

#include "meter/dcgm_api.h"
#include "meter/instrument.h"
#include "meter/meter.h"
#include "wire/promdev.h"

#define JM_DCGM_WATCH_NS     (100 * JM_NS_PER_MS) /* as often as NVML's counter refreshes */
#define JM_DCGM_MAX_PER_PART 4                    /* fields of one entity */

/* ---- dcgm_place.c: where in the domain tree what DCGM names lies */

/* The domain of a quantity below node: the same that the meters nvml and grace give it. *shared: another
 * meter of this run shows it already, so its joules are a mirror's. ordinal: of a GPU, by PCI bus; -1: not
 * known. */
int jm_dcgm_place(struct jm_domain_tree *tree, int node, size_t known, const struct jm_promdev_quantity *q,
                  int ordinal, bool *shared, struct jm_err *err);

/* ---- dcgm_link.c: the library, the connection, the watches */

struct jm_dcgm_part { /* one entity */
    struct jm_dcgm_entity e;
    char uuid[96], name[96], bus_id[32];
    int ordinal; /* of a GPU, by PCI bus id */
    bool selected;
};

/* Entities of one group are asked by one call: each for each field. */
struct jm_dcgm_batch {
    struct jm_dcgm_entity e[JM_DCGM_MAX_ENTITIES];
    uint16_t field[JM_DCGM_MAX_PER_PART];
    unsigned n_e, n_f;
    struct jm_dcgm_value *value; /* n_e * n_f */
};
enum { JM_DCGM_GPUS, JM_DCGM_CPUS, JM_DCGM_SWITCHES, JM_DCGM_BATCHES };

struct jm_dcgm_link {
    struct jm_dcgm_api api;
    char address[200]; /* "localhost:5555", "unix:PATH", "embedded" */
    int64_t timeout_ns, watch_ns;
    jm_dcgm_handle handle;
    bool up, embedded, started; /* connected; initialised */
    jm_dcgm_group group[JM_DCGM_BATCHES];
    jm_dcgm_fields fields[JM_DCGM_BATCHES];
    struct jm_dcgm_part part[3 * JM_DCGM_MAX_ENTITIES];
    size_t n_part, n_gpu, n_mig; /* GPUs come first */
    char version[64], driver[80], note[192];
    int driver_major;
    struct jm_dcgm_batch batch[JM_DCGM_BATCHES];
};

/* Loads, connects and lists the entities; selects as env->devices says. probe (may be NULL) gets state,
 * reason and mend when it fails. address: NULL is the host engine of this host, and where none runs, an
 * embedded one. */
int jm_dcgm_link_open(struct jm_dcgm_link *l, const struct jm_meter_env *env, const char *lib,
                      const char *address, int64_t timeout_ns, struct jm_probe *probe, struct jm_err *err);
void jm_dcgm_link_close(struct jm_dcgm_link *l);
/* Groups and watches of the batches as they are now; also after a new connection. */
int jm_dcgm_link_watch(struct jm_dcgm_link *l, struct jm_err *err);
/* A connection anew after the host engine went away. */
int jm_dcgm_link_again(struct jm_dcgm_link *l, struct jm_err *err);
/* One call for a batch. The call's return; each value has its own. */
int jm_dcgm_ask(struct jm_dcgm_link *l, struct jm_dcgm_batch *b, bool live);
/* "HOST", "HOST:PORT", "[::1]:5555", "unix:PATH", "/PATH", "embedded"; JM_EUSAGE. */
int jm_dcgm_address_check(const char *address, struct jm_err *err);

/* ---- dcgm_read.c */

struct jm_dcgm_src { /* of one channel */
    uint8_t batch;
    uint16_t entity, field; /* which of the batch */
    int text10;
    int64_t seen_us, last_t; /* of the sample given last: its own stamp, and the reading's */
};

struct jm_dcgm {
    struct jm_dcgm_link link;
    struct jm_dcgm_src *src; /* one a channel; those after are clock and age */
    size_t n_src;
    int clock;          /* channel of the host engine's clock against ours */
    int64_t offset_ns;  /* realtime of the host engine minus ours */
    int64_t bound_ns;   /* of it */
    int64_t offset_due; /* when it is measured anew */
    int64_t again_due;  /* when a new connection is tried */
};

size_t jm_dcgm_read(struct jm_meter *m, const struct jm_clock *clock, enum jm_read_set set,
                    struct jm_reading *out);
/* The clock of the host engine by one live value: *offset and half the time the question took. 0, or a
 * negative return of DCGM. */
int jm_dcgm_clock(struct jm_dcgm *d, const struct jm_clock *clock, struct jm_reading *r);

#endif
