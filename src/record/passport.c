/* SPDX-License-Identifier: Apache-2.0 */
/* Passports that a recording takes along: held against the instruments that are there, then kept in the run.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "model/passport.h"
#include "record/internal.h"

#include "base/banned.h"

struct facts {
    const struct jm_meter *m;
    const char *kernel;
};

static const char *fact(const void *self, const char *key)
{
    const struct facts *f = self;
    return strcmp(key, "host.kernel") == 0 ? f->kernel : jm_meter_fact(f->m, key);
}

int jm_recorder_passport(struct jm_recorder *r, const struct jm_passport_file *p, struct jm_span text,
                         struct jm_err *err)
{
    struct jm_passport_for *x = calloc(r->n_chan + 1, sizeof *x);
    struct utsname u = {0};
    char kernel[256] = "", name[160];
    size_t n = 0;
    if (!x)
        return jm_err_set(err, JM_ENOMEM, "out of memory for the passport %s", p->name);
    if (!uname(&u))
        snprintf(kernel, sizeof kernel, "%.60s %.100s", u.sysname, u.release);
    const char *host = r->cfg.env.host && *r->cfg.env.host ? r->cfg.env.host : u.nodename;
    for (size_t i = 0; i < r->n_reader; i++) {
        const struct jm_meter *m = r->reader[i] ? r->reader[i]->m : NULL;
        struct facts f = {m, kernel};
        for (size_t k = 0; m && k < m->n_chan && n < r->n_chan; k++) {
            x[n] = (struct jm_passport_for){m->chan[k].device, m->chan[k].name, m->ops->name, host, "", ""};
            jm_passport_identify(&x[n++], m->instance, fact, &f);
        }
    }
    int rc = jm_passport_fits(&p->p, x, n, false, err);
    if (!rc) {
        snprintf(name, sizeof name, JM_PASSPORT_RAW "%.12s/%s", p->sha256, p->name);
        rc = jm_recorder_raw(r, name, p->name, text);
        if (rc)
            jm_err_set(err, rc, "the passport %s cannot be kept in the run", p->name);
    }
    free(x);
    return rc;
}
