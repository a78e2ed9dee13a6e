/* SPDX-License-Identifier: Apache-2.0 */
/* A simulated libdcgm.so.4: a host engine over the simulated GPUs. What it watches it has read at multiples
 * of the watch period since the watch began, whenever it is asked for it, so that it needs no thread and
 * works in virtual time. Every address answers; a host engine goes away by a fault of its own (what=dcgm):
 *
 *   lost           the connection breaks, and what was watched is forgotten: connect anew
 *   frozen         nothing is read any more, the values grow old
 *   error,code=16  each value has the status NOT_WATCHED; any other code likewise
 *   not_supported, no_permission   blanks
 *   init,code=12   a connection is refused: VER_MISMATCH; 17 is NO_PERMISSION, 21 nobody there */
#include "dcgm_sim.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HANDLES 16
#define GROUPS  64
#define WATCHES 8192
#define API     __attribute__((visibility("default")))

struct watch {
    dcgmHandle_t handle;
    uint32_t group, id;
    unsigned short field;
    int64_t from_ns, every_ns; /* every_ns 0: free */
};

static struct {
    pthread_mutex_t lock;
    unsigned users;
    struct simgpu *s;
    int64_t born[HANDLES]; /* when connected; 0: free */
    struct {
        dcgmHandle_t handle; /* 0: free */
        char name[64];
        unsigned n;
        dcgmGroupEntityPair_t e[64];
    } group[GROUPS];
    struct {
        dcgmHandle_t handle;
        unsigned n;
        unsigned short f[128];
    } fields[GROUPS];
    struct watch watch[WATCHES];
    unsigned n_watch;
} lib = {.lock = PTHREAD_MUTEX_INITIALIZER};

#define F(name, ...)                                                                                         \
    dcgmReturn_t name(__VA_ARGS__);                                                                          \
    API dcgmReturn_t name(__VA_ARGS__)
#define RETURN(r)                                                                                            \
    do {                                                                                                     \
        dcgmReturn_t r_ = (r);                                                                               \
        pthread_mutex_unlock(&lib.lock);                                                                     \
        return r_;                                                                                           \
    } while (0)

F(dcgmInit, void)
{
    char why[256] = "";
    const char *path = getenv(SIMGPU_ENV);
    pthread_mutex_lock(&lib.lock);
    if (!lib.s && (!path || simgpu_open(&lib.s, path, why, sizeof why)))
        RETURN(DCGM_ST_INIT_ERROR);
    lib.users++;
    RETURN(DCGM_ST_OK);
}

F(dcgmShutdown, void)
{
    pthread_mutex_lock(&lib.lock);
    if (!lib.users)
        RETURN(DCGM_ST_UNINITIALIZED);
    if (--lib.users == 0) {
        simgpu_close(lib.s);
        lib.s = NULL;
        memset(lib.born, 0, sizeof lib.born);
        memset(lib.group, 0, sizeof lib.group);
        memset(lib.fields, 0, sizeof lib.fields);
        lib.n_watch = 0;
    }
    RETURN(DCGM_ST_OK);
}

static dcgmReturn_t begin(dcgmHandle_t *out)
{
    if (!lib.s)
        return DCGM_ST_UNINITIALIZED;
    int64_t now = simgpu_now(lib.s);
    const struct simgpu_fault *f = sim_dcgm_fault(lib.s, SIMGPU_FAULT_INIT, -1, now);
    if (f)
        return -f->code;
    if (sim_dcgm_fault(lib.s, SIMGPU_FAULT_LOST, -1, now))
        return DCGM_ST_CONNECTION_NOT_VALID;
    for (int i = 0; i < HANDLES; i++)
        if (!lib.born[i]) {
            lib.born[i] = now > 0 ? now : 1;
            *out = (dcgmHandle_t)i + 1;
            return DCGM_ST_OK;
        }
    return DCGM_ST_MAX_LIMIT;
}

static void forget(dcgmHandle_t h)
{
    for (int i = 0; i < GROUPS; i++) {
        if (lib.group[i].handle == h)
            lib.group[i].handle = 0;
        if (lib.fields[i].handle == h)
            lib.fields[i].handle = 0;
    }
    for (unsigned i = 0; i < lib.n_watch; i++)
        if (lib.watch[i].handle == h)
            lib.watch[i].every_ns = 0;
}

/* A handle that was made before the host engine went away is of no use any more. */
static dcgmReturn_t check(dcgmHandle_t h)
{
    if (!lib.s)
        return DCGM_ST_UNINITIALIZED;
    if (h < 1 || h > HANDLES || !lib.born[h - 1])
        return DCGM_ST_BADPARAM;
    int64_t now = simgpu_now(lib.s);
    for (uint32_t i = 0; i < lib.s->h->fault_count; i++) {
        const struct simgpu_fault *f = &lib.s->h->fault[i];
        int64_t at = lib.s->h->start_ns + f->from_ns;
        if (f->kind == SIMGPU_FAULT_LOST && (f->what & SIMGPU_W_DCGM) && at <= now && at >= lib.born[h - 1]) {
            forget(h);
            return DCGM_ST_CONNECTION_NOT_VALID;
        }
    }
    atomic_fetch_add_explicit(&lib.s->h->calls, 1, memory_order_relaxed);
    return DCGM_ST_OK;
}

#define ENTER(h)                                                                                             \
    pthread_mutex_lock(&lib.lock);                                                                           \
    {                                                                                                        \
        dcgmReturn_t e_ = check(h);                                                                          \
        if (e_)                                                                                              \
            RETURN(e_);                                                                                      \
    }

F(dcgmConnect_v2, const char *address, dcgmConnectV2Params_t *p, dcgmHandle_t *out)
{
    pthread_mutex_lock(&lib.lock);
    if (!address || !p || !out)
        RETURN(DCGM_ST_BADPARAM);
    if (p->version != (sizeof *p | 2u << 24))
        RETURN(DCGM_ST_VER_MISMATCH);
    RETURN(begin(out));
}

F(dcgmStartEmbedded, int mode, dcgmHandle_t *out)
{
    pthread_mutex_lock(&lib.lock);
    if (mode != 1 || !out)
        RETURN(DCGM_ST_BADPARAM);
    RETURN(begin(out));
}

static dcgmReturn_t leave(dcgmHandle_t h)
{
    pthread_mutex_lock(&lib.lock);
    if (!lib.s || h < 1 || h > HANDLES || !lib.born[h - 1])
        RETURN(DCGM_ST_BADPARAM);
    forget(h);
    lib.born[h - 1] = 0;
    RETURN(DCGM_ST_OK);
}

F(dcgmDisconnect, dcgmHandle_t h)
{
    return leave(h);
}

F(dcgmStopEmbedded, dcgmHandle_t h)
{
    return leave(h);
}

F(dcgmHostengineVersionInfo, dcgmHandle_t h, dcgmVersionInfo_t *v)
{
    ENTER(h);
    if (!v || v->version != (sizeof *v | 2u << 24))
        RETURN(v ? DCGM_ST_VER_MISMATCH : DCGM_ST_BADPARAM);
    snprintf(v->rawBuildInfoString, sizeof v->rawBuildInfoString,
             "version:4.6.0;arch:x86_64;buildtype:Simulated;commit:joulemark-%s", JM_VERSION);
    RETURN(DCGM_ST_OK);
}

F(dcgmGetEntityGroupEntities, dcgmHandle_t h, int group, uint32_t *e, int *n, unsigned flags)
{
    (void)flags;
    ENTER(h);
    if (!e || !n || *n < 0)
        RETURN(DCGM_ST_BADPARAM);
    int have = sim_dcgm_count(lib.s, (uint32_t)group), room = *n;
    *n = have;
    if (have > room)
        RETURN(DCGM_ST_INSUFFICIENT_SIZE);
    for (int i = 0; i < have; i++)
        e[i] = sim_dcgm_id(lib.s, (uint32_t)group, i);
    RETURN(DCGM_ST_OK);
}

F(dcgmGroupCreate, dcgmHandle_t h, int type, const char *name, dcgmGpuGrp_t *out)
{
    ENTER(h);
    if (type != 1 || !name || !out)
        RETURN(DCGM_ST_BADPARAM);
    for (int i = 0; i < GROUPS; i++)
        if (lib.group[i].handle && strncmp(lib.group[i].name, name, sizeof lib.group[i].name - 1) == 0)
            RETURN(DCGM_ST_DUPLICATE_KEY);
    for (int i = 0; i < GROUPS; i++)
        if (!lib.group[i].handle) {
            lib.group[i].handle = h;
            lib.group[i].n = 0;
            snprintf(lib.group[i].name, sizeof lib.group[i].name, "%s", name);
            *out = (dcgmGpuGrp_t)i + 1;
            RETURN(DCGM_ST_OK);
        }
    RETURN(DCGM_ST_MAX_LIMIT);
}

static bool owned(dcgmHandle_t h, uintptr_t id, bool fields)
{
    return id >= 1 && id <= GROUPS && (fields ? lib.fields[id - 1].handle : lib.group[id - 1].handle) == h;
}

F(dcgmGroupAddEntity, dcgmHandle_t h, dcgmGpuGrp_t g, int group, uint32_t id)
{
    ENTER(h);
    if (!owned(h, g, false))
        RETURN(DCGM_ST_NOT_CONFIGURED);
    if (lib.group[g - 1].n == 64)
        RETURN(DCGM_ST_MAX_LIMIT);
    lib.group[g - 1].e[lib.group[g - 1].n++] = (dcgmGroupEntityPair_t){(uint32_t)group, id};
    RETURN(DCGM_ST_OK);
}

F(dcgmGroupDestroy, dcgmHandle_t h, dcgmGpuGrp_t g)
{
    ENTER(h);
    if (!owned(h, g, false))
        RETURN(DCGM_ST_NOT_CONFIGURED);
    lib.group[g - 1].handle = 0;
    RETURN(DCGM_ST_OK);
}

F(dcgmFieldGroupCreate, dcgmHandle_t h, int n, unsigned short *f, const char *name, dcgmFieldGrp_t *out)
{
    ENTER(h);
    if (n < 1 || n > 128 || !f || !name || !out)
        RETURN(DCGM_ST_BADPARAM);
    for (int i = 0; i < n; i++)
        if (!sim_dcgm_type(f[i]))
            RETURN(DCGM_ST_UNKNOWN_FIELD);
    for (int i = 0; i < GROUPS; i++)
        if (!lib.fields[i].handle) {
            lib.fields[i].handle = h;
            lib.fields[i].n = (unsigned)n;
            memcpy(lib.fields[i].f, f, (size_t)n * sizeof *f);
            *out = (dcgmFieldGrp_t)i + 1;
            RETURN(DCGM_ST_OK);
        }
    RETURN(DCGM_ST_MAX_LIMIT);
}

F(dcgmFieldGroupDestroy, dcgmHandle_t h, dcgmFieldGrp_t f)
{
    ENTER(h);
    if (!owned(h, f, true))
        RETURN(DCGM_ST_NOT_CONFIGURED);
    lib.fields[f - 1].handle = 0;
    RETURN(DCGM_ST_OK);
}

F(dcgmWatchFields, dcgmHandle_t h, dcgmGpuGrp_t g, dcgmFieldGrp_t f, long long every_us, double keep_s,
  int keep_n)
{
    (void)keep_s, (void)keep_n;
    ENTER(h);
    if (!owned(h, g, false) || !owned(h, f, true) || every_us < 1)
        RETURN(DCGM_ST_BADPARAM);
    for (unsigned i = 0; i < lib.group[g - 1].n; i++)
        for (unsigned k = 0; k < lib.fields[f - 1].n; k++) {
            unsigned at = 0;
            while (at < lib.n_watch && lib.watch[at].every_ns)
                at++;
            if (at == WATCHES)
                RETURN(DCGM_ST_MAX_LIMIT);
            lib.n_watch = at == lib.n_watch ? at + 1 : lib.n_watch;
            lib.watch[at] = (struct watch){h,
                                           lib.group[g - 1].e[i].entityGroupId,
                                           lib.group[g - 1].e[i].entityId,
                                           lib.fields[f - 1].f[k],
                                           simgpu_now(lib.s),
                                           every_us * 1000};
        }
    RETURN(DCGM_ST_OK);
}

F(dcgmUnwatchFields, dcgmHandle_t h, dcgmGpuGrp_t g, dcgmFieldGrp_t f)
{
    ENTER(h);
    if (!owned(h, g, false) || !owned(h, f, true))
        RETURN(DCGM_ST_BADPARAM);
    for (unsigned i = 0; i < lib.n_watch; i++)
        for (unsigned k = 0; k < lib.fields[f - 1].n; k++)
            if (lib.watch[i].handle == h && lib.watch[i].field == lib.fields[f - 1].f[k])
                lib.watch[i].every_ns = 0;
    RETURN(DCGM_ST_OK);
}

F(dcgmUpdateAllFields, dcgmHandle_t h, int wait)
{
    (void)wait; /* a watch reads when it begins */
    ENTER(h);
    RETURN(DCGM_ST_OK);
}

/* When the cache was filled last: by the watch that reads most often. -1: nobody watches. */
static int64_t cached(uint32_t group, uint32_t id, unsigned short field, int64_t now)
{
    const struct watch *best = NULL;
    const struct simgpu_fault *f;
    int gpu = group == DCGM_FE_GPU_I ? (int)id / 8 : group == DCGM_FE_SWITCH ? -1 : (int)id;
    for (unsigned i = 0; i < lib.n_watch; i++) {
        const struct watch *w = &lib.watch[i];
        if (w->every_ns && w->group == group && w->id == id && w->field == field &&
            (!best || w->every_ns < best->every_ns))
            best = w;
    }
    if (!best)
        return -1;
    if ((f = sim_dcgm_fault(lib.s, SIMGPU_FAULT_FROZEN, gpu, now))) {
        now = lib.s->h->start_ns + f->from_ns;
        now = now > best->from_ns ? now : best->from_ns;
    }
    return now - (now - best->from_ns) % best->every_ns;
}

F(dcgmEntitiesGetLatestValues, dcgmHandle_t h, dcgmGroupEntityPair_t *e, unsigned n_e, unsigned short *f,
  unsigned n_f, unsigned flags, dcgmFieldValue_v2 *v)
{
    ENTER(h);
    if (!e || !f || !v)
        RETURN(DCGM_ST_BADPARAM);
    if (lib.s->h->clock == SIMGPU_CLOCK_VIRTUAL && lib.s->h->call_cost_ns > 0)
        simgpu_advance(lib.s, lib.s->h->call_cost_ns);
    int64_t now = simgpu_now(lib.s);
    for (unsigned i = 0; i < n_e; i++)
        for (unsigned k = 0; k < n_f; k++, v++) {
            /* only what the real one writes: not the whole of the 4096 bytes */
            v->version = sizeof *v | 2u << 24;
            v->entityGroupId = e[i].entityGroupId;
            v->entityId = e[i].entityId;
            v->fieldId = f[k];
            v->fieldType = (unsigned short)sim_dcgm_type(f[k]);
            v->status = DCGM_ST_OK;
            v->unused = 0;
            v->ts = 0;
            v->value.i64 = 0;
            int64_t at =
                flags & DCGM_FV_FLAG_LIVE_DATA ? now : cached(e[i].entityGroupId, e[i].entityId, f[k], now);
            if (!v->fieldType)
                v->status = DCGM_ST_UNKNOWN_FIELD;
            else if (at < 0)
                v->status = DCGM_ST_NOT_WATCHED;
            else
                sim_dcgm_value(lib.s, e[i].entityGroupId, e[i].entityId, f[k], at, v);
        }
    RETURN(DCGM_ST_OK);
}
