/* SPDX-License-Identifier: Apache-2.0 */
/* Series of Prometheus (wire/promdev.h says which are energy or power) as channels of a run. */
#ifndef JM_IMPORT_PROMDEV_H
#define JM_IMPORT_PROMDEV_H

#include "import/devlog.h"
#include "wire/promdev.h"

struct jm_promdev {
    struct jm_devlog l;
    int64_t series, unnamed, unknown; /* met; without a name; of no metric in the table */
    int64_t mig, cores, combined;     /* that repeat a GPU per instance, a socket per core; relabelled ones */
    int driver;                       /* DCGM_FI_DRIVER_VERSION label */
    char host[96], version[64];       /* that all series name; "" none, or several */
    bool hosts, versions;             /* several */
    char first_unknown[160];
};

#define JM_PROMDEV_TENTH_KWH 1000 /* text10 of energies in 0.1 kWh */
enum { JM_PROMDEV_OTHER = -1, JM_PROMDEV_REPEAT = -2 };
/* Channel of a series and the power of ten of its numbers, or JM_PROMDEV_*. */
int jm_promdev_channel(struct jm_promdev *p, const struct jm_prom_series *s, int *text10);
/* A value as Prometheus writes it: NaN and infinities are no value. */
void jm_promdev_put(struct jm_promdev *p, int ch, int64_t t, int text10, struct jm_span text);
int jm_promdev_end(struct jm_promdev *p);
int jm_prom_import_dump(const char *path, const char *out, const struct jm_import_opts *o,
                        struct jm_err *err);
int jm_prom_import_text(const char *path, const char *out, const struct jm_import_opts *o,
                        struct jm_err *err);
int jm_prom_import_csv(const char *path, const char *out, const struct jm_import_opts *o, struct jm_err *err);

#endif
