/* SPDX-License-Identifier: Apache-2.0 */
/* Which Prometheus metrics are energy or power of a device: one table, metric name → what it is. For the
 * importers of what Prometheus kept, and for the meters that ask an exporter or the library behind it. */
#ifndef JM_WIRE_PROMDEV_H
#define JM_WIRE_PROMDEV_H

#include "wire/devkind.h"

#define JM_PROMDEV_LABELS 64
struct jm_prom_series {
    struct jm_span metric; /* "": a series without a name, as functions give them */
    struct jm_span name[JM_PROMDEV_LABELS], value[JM_PROMDEV_LABELS];
    size_t n;
};

/* Series that show the same value once for each part of a device. */
enum jm_promdev_repeat { JM_PROMDEV_ONCE, JM_PROMDEV_MIG, JM_PROMDEV_CORE };

struct jm_promdev_quantity {
    struct jm_dev_kind kind;
    enum jm_domain_kind domain;
    bool tenth_kwh;                         /* a counter in 0.1 kWh: kind.text10 is 0 */
    uint16_t field;                         /* DCGM's id, 0: none */
    char host[96];                          /* that the labels name, "" */
    char key[200], label[260], parent[180]; /* of the device; the part of a Grace it lies in, "" */
    enum jm_promdev_repeat repeats;
    struct jm_span of, model; /* which part; the product; both point into the labels */
};

/* What a series is. driver: major version of NVIDIA's where no label says it, 0: not known. False: the metric
 * is not in the table. */
bool jm_promdev_describe(const struct jm_prom_series *s, int driver, struct jm_promdev_quantity *q);
/* The same by DCGM's field id; key and host stay empty. */
bool jm_promdev_field(uint16_t id, struct jm_span model, int driver, struct jm_promdev_quantity *q);
/* '{a="b",c="d"}' of PromQL and of the text format; escapes stay as written. What stands before the brace is
 * the metric, or it is the label __name__. False: no such thing. */
bool jm_promdev_labels(struct jm_span text, struct jm_prom_series *s);
struct jm_prom_sample;
/* A sample of the text format as a series; spans as the sample's. */
struct jm_prom_series jm_promdev_series(const struct jm_prom_sample *s);
/* The table for people: pattern, what it is ("energy, counter"), where ("gpu"), source, and what its numbers
 * are in ("mJ"). False: no such row. */
struct jm_promdev_row {
    const char *metric, *kind, *domain, *unit, *source, *provenance;
};
bool jm_promdev_row(size_t i, struct jm_promdev_row *out);
/* The value of a label that is there and not empty. */
bool jm_promdev_label(const struct jm_prom_series *s, struct jm_span name, struct jm_span *v);
/* Is the metric in the table? */
bool jm_promdev_knows(struct jm_span metric);

#endif
