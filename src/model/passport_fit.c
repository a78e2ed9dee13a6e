/* SPDX-License-Identifier: Apache-2.0 */
/* Is a passport of the very instrument that a run has? */
#include <stdio.h>
#include <string.h>

#include "model/passport.h"

#include "base/banned.h"

static bool put(char *out, size_t cap, const char *text)
{
    if (!text || !text[0])
        return false;
    snprintf(out, cap, "%s", text);
    jm_text_plain(out, strlen(out), false);
    return true;
}

static const char *fact(jm_passport_fact_fn fn, const void *self, const char *of, const char *key)
{
    char name[160];
    snprintf(name, sizeof name, "%.100s.%s", of, key);
    return fn(self, name);
}

void jm_passport_identify(struct jm_passport_for *x, const char *instance, jm_passport_fact_fn fn,
                          const void *self)
{
    static const char *const kernel[] = {"rapl", "perf", "hwmon"}, *const identity[] = {"identity",
                                                                                        "firmware", "descr",
                                                                                        "address"};
    char of[128];
    x->driver[0] = x->firmware[0] = '\0';
    put(x->driver, sizeof x->driver, fact(fn, self, x->meter, "driver"));
    for (size_t i = 0; !x->driver[0] && i < sizeof kernel / sizeof *kernel; i++)
        if (!strcmp(x->meter, kernel[i]) && put(of, sizeof of, fn(self, "host.kernel"))) {
            /* "Linux 6.1.0-28-amd64 #1 SMP ...": its name and release */
            size_t n = strcspn(of, " ");
            n += of[n] ? 1 + strcspn(of + n + 1, " ") : 0;
            of[n] = '\0';
            snprintf(x->driver, sizeof x->driver, "%.60s", of);
        }
    /* what a configured instrument says of itself; its address where it says nothing */
    snprintf(of, sizeof of, "instrument.%.60s", instance && instance[0] ? instance : "?");
    bool found = put(x->firmware, sizeof x->firmware, fact(fn, self, x->meter, "identity"));
    for (size_t i = 0; !found && i < sizeof identity / sizeof *identity; i++)
        found = put(x->firmware, sizeof x->firmware, fact(fn, self, of, identity[i]));
}

/* A name that is one device in the world. */
static bool unique(const char *device)
{
    return strncmp(device, "GPU-", 4) == 0 || strncmp(device, "MIG-", 4) == 0;
}

enum jm_passport_match jm_passport_match(const struct jm_passport *p, const struct jm_passport_row *r,
                                         const struct jm_passport_for *x)
{
    if (strcmp(r->device, x->device) != 0 || strcmp(r->channel, x->channel) != 0 ||
        (r->meter[0] && strcmp(r->meter, x->meter) != 0))
        return JM_PASSPORT_OTHER;
    if (strcmp(r->driver[0] || unique(r->device) == false ? r->driver : p->driver, x->driver) != 0)
        return JM_PASSPORT_DRIVER;
    if (strcmp(r->firmware, x->firmware) != 0)
        return JM_PASSPORT_FIRMWARE;
    if (!unique(r->device) && !r->firmware[0] && strcmp(p->host, x->host) != 0)
        return JM_PASSPORT_HOST;
    return JM_PASSPORT_FITS;
}

static const char *told(const char *text)
{
    return text[0] ? text : "one that is not told";
}

int jm_passport_fits(const struct jm_passport *p, const struct jm_passport_for *x, size_t n, bool any_driver,
                     struct jm_err *err)
{
    size_t fits = 0;
    if (!p->n)
        return jm_err_set(err, JM_ECONFLICT, "the passport holds no instrument");
    for (size_t k = 0; k < p->n; k++)
        for (size_t i = 0; i < n; i++) {
            const struct jm_passport_row *r = &p->row[k];
            enum jm_passport_match m = jm_passport_match(p, r, &x[i]);
            const char *had = r->driver[0] ? r->driver : p->driver;
            if (m == JM_PASSPORT_DRIVER && !any_driver)
                return jm_err_set(err, JM_ECONFLICT,
                                  "the passport of %.80s was made under the driver %s, and here it is %s; "
                                  "characterize it again",
                                  r->device, told(had), told(x[i].driver));
            if (m == JM_PASSPORT_FIRMWARE && !any_driver)
                return jm_err_set(err, JM_ECONFLICT,
                                  "the passport of %.80s is of the instrument \"%s\", and here it is \"%s\"; "
                                  "characterize it again",
                                  r->device, told(r->firmware), told(x[i].firmware));
            if (m == JM_PASSPORT_HOST)
                return jm_err_set(err, JM_ECONFLICT,
                                  "the passport of %.80s was made on the host %s, and this is %s, where the "
                                  "same name is another device",
                                  r->device, told(p->host), told(x[i].host));
            fits += m != JM_PASSPORT_OTHER;
        }
    if (fits)
        return 0;
    return jm_err_set(err, JM_ECONFLICT, "the passport is of %.80s%s, which this run does not read",
                      p->row[0].device, p->n > 1 ? " and others" : "");
}
