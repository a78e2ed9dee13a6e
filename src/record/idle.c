/* SPDX-License-Identifier: Apache-2.0 */
/* Deep idle and loaded idle are told apart by what the devices say: does a process hold them, do they work?
 */
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "record/internal.h"

#include "base/banned.h"

#define BUSY_UTIL 0.05 /* a device that works more than this is not idle */
#define PIDS_MAX  65536

static int64_t *all_pids(const char *proc, size_t *n)
{
    size_t cap = 1024;
    int64_t *v = malloc(cap * sizeof *v), pid;
    DIR *d = v ? opendir(proc) : NULL;
    *n = 0;
    for (struct dirent *e; d && (e = readdir(d)) && *n < PIDS_MAX;) {
        if (jm_num_i64(jm_span_of(e->d_name), &pid) || pid <= 0)
            continue;
        if (*n == cap) {
            int64_t *more = realloc(v, 2 * cap * sizeof *v);
            if (!more)
                break;
            v = more;
            cap *= 2;
        }
        v[(*n)++] = pid;
    }
    if (d)
        closedir(d);
    return v;
}

struct seen {
    size_t gpus; /* with a utilisation */
    double util, clock_hz;
    size_t clocks;
};

static struct seen look(struct jm_recorder *r)
{
    struct seen s = {.util = NAN};
    pthread_mutex_lock(&r->live_lock);
    for (size_t i = 0; i < r->n_chan; i++) {
        const struct jm_channel *c = &r->chan[i];
        const struct jm_live_channel *l = &r->live[i];
        if (!l->has_last || l->last.status != JM_S_OK)
            continue;
        double v = jm_channel_value(c, l->last.value);
        if (strcmp(c->name, "util.gpu") == 0) {
            s.util = s.gpus++ ? fmax(s.util, v) : v;
        } else if (strcmp(c->name, "clock.sm") == 0) {
            s.clock_hz += v;
            s.clocks++;
        }
    }
    pthread_mutex_unlock(&r->live_lock);
    return s;
}

enum jm_idle_kind jm_recorder_idle_kind(struct jm_recorder *r, char *why, size_t cap)
{
    size_t n = 0;
    int64_t *pids = all_pids(r->cfg.env.proc_root ? r->cfg.env.proc_root : "/proc", &n);
    int held = pids ? jm_record_count_used(r, pids, n) : JM_ENOMEM;
    struct seen s = look(r);
    struct jm_str t;
    free(pids);
    jm_str_init(&t);
    if (held > 0)
        jm_str_addf(&t, "processes hold %d device%s", held, held == 1 ? "" : "s");
    else
        jm_str_adds(&t, held == 0 ? "no process was seen on a device"
                                  : "which processes hold the devices is not known");
    if (s.gpus)
        jm_str_addf(&t, ", utilisation at most %.0f %%", 100 * s.util);
    if (s.clocks)
        jm_str_addf(&t, ", SM clock %.0f MHz", s.clock_hz / (double)s.clocks / 1e6);
    if (cap)
        snprintf(why, cap, "%s", t.buf);
    jm_str_release(&t);
    if (s.gpus && s.util > BUSY_UTIL)
        return JM_IDLE_BUSY;
    return held < 0 ? JM_IDLE_UNKNOWN : held ? JM_IDLE_LOADED : JM_IDLE_DEEP;
}

const char *jm_idle_kind_name(int kind)
{
    static const char *const names[] = {"unknown", "deep", "loaded", "busy"};
    return kind >= 0 && kind <= JM_IDLE_BUSY ? names[kind] : NULL;
}
