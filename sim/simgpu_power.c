/* SPDX-License-Identifier: Apache-2.0 */
#include "simgpu_power.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

/* A waveform whose power is held down to a limit: the same pieces with other sums. */
struct simgpu_capped {
    struct simgpu_capped *next;
    int64_t limit_uw;
    simgpu_fj cycle;
    int64_t cycle_capped_ns;
    uint32_t count;
    struct {
        simgpu_fj before;
        int64_t capped_before_ns;
    } at[];
};

void simgpu_capped_free(struct simgpu_capped *c)
{
    while (c) {
        struct simgpu_capped *next = c->next;
        free(c);
        c = next;
    }
}

uint64_t simgpu_hash(uint64_t a, uint64_t b, uint64_t c)
{
    uint64_t x = a * 0x9E3779B97F4A7C15u + b * 0xC2B2AE3D27D4EB4Fu + c * 0x165667B19E3779F9u;
    for (int i = 0; i < 2; i++) { /* splitmix64's finaliser (Steele, Lea, Flood 2014) */
        x += 0x9E3779B97F4A7C15u;
        x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
        x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
        x ^= x >> 31;
    }
    return x;
}

/* Made once a limit and GPU. Two threads that make the same one at the same time both keep theirs in the
 * list. */
static const struct simgpu_capped *capped_for(struct simgpu *s, int gpu, int64_t limit_uw)
{
    const struct simgpu_gpu *g = &s->g[gpu];
    struct simgpu_capped *head = atomic_load(&s->capped[gpu]);
    for (struct simgpu_capped *c = head; c; c = c->next)
        if (c->limit_uw == limit_uw)
            return c;
    struct simgpu_capped *c = calloc(1, sizeof *c + g->seg_count * sizeof c->at[0]);
    if (!c)
        return NULL;
    c->limit_uw = limit_uw;
    c->count = g->seg_count;
    const struct simgpu_seg *seg = simgpu_segs(s, g);
    int64_t begin = 0;
    for (uint32_t i = 0; i < g->seg_count; i++) {
        c->at[i].before = c->cycle;
        c->at[i].capped_before_ns = c->cycle_capped_ns;
        int64_t d = seg[i].end_ns - begin;
        bool over = seg[i].uw > limit_uw;
        c->cycle += (simgpu_fj)(over ? limit_uw : seg[i].uw) * d;
        c->cycle_capped_ns += over ? d : 0;
        begin = seg[i].end_ns;
    }
    do
        c->next = head;
    while (!atomic_compare_exchange_weak(&s->capped[gpu], &head, c));
    return c;
}

static uint32_t seg_at(const struct simgpu_seg *seg, uint32_t n, int64_t r)
{
    uint32_t lo = 0, hi = n - 1; /* the first piece that ends after r */
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (seg[mid].end_ns > r)
            hi = mid;
        else
            lo = mid + 1;
    }
    return lo;
}

/* Place in the cycle at t: whole cycles gone, the rest, and its piece. */
static uint32_t wave_place(const struct simgpu *s, const struct simgpu_gpu *g, int64_t t_ns, int64_t *q,
                           int64_t *r)
{
    int64_t x = t_ns - s->h->start_ns + g->offset_ns;
    *q = x / g->cycle_ns;
    *r = x % g->cycle_ns;
    if (*r < 0) {
        *r += g->cycle_ns;
        *q -= 1;
    }
    return seg_at(simgpu_segs(s, g), g->seg_count, *r);
}

static int64_t seg_begin(const struct simgpu_seg *seg, uint32_t i)
{
    return i ? seg[i - 1].end_ns : 0;
}

/* Energy and capped time of the repeated waveform from the beginning of its cycle 0 to t. limit < 0: none. */
static int wave_sum(struct simgpu *s, int gpu, int64_t limit_uw, int64_t t_ns, simgpu_fj *e, int64_t *held)
{
    const struct simgpu_gpu *g = &s->g[gpu];
    const struct simgpu_seg *seg = simgpu_segs(s, g);
    int64_t q, r;
    uint32_t i = wave_place(s, g, t_ns, &q, &r);
    int64_t into = r - seg_begin(seg, i);
    *held = 0;
    if (limit_uw < 0) {
        *e = simgpu_fj_get(g->cycle) * q + simgpu_fj_get(seg[i].before) + (simgpu_fj)seg[i].uw * into;
        return 0;
    }
    const struct simgpu_capped *c = capped_for(s, gpu, limit_uw);
    if (!c)
        return -ENOMEM;
    bool over = seg[i].uw > limit_uw;
    *e = c->cycle * q + c->at[i].before + (simgpu_fj)(over ? limit_uw : seg[i].uw) * into;
    *held = c->cycle_capped_ns * q + c->at[i].capped_before_ns + (over ? into : 0);
    return 0;
}

/* The last setting of this kind at or before t, or NULL. */
static const struct simgpu_set *set_at(const struct simgpu_gpu *g, int kind, int64_t t_ns)
{
    uint32_t n = atomic_load_explicit(&g->set_count, memory_order_acquire);
    if (n > SIMGPU_MAX_SETS)
        n = SIMGPU_MAX_SETS;
    for (uint32_t i = n; i > 0; i--)
        if (g->set[i - 1].kind == kind && g->set[i - 1].t_ns <= t_ns)
            return &g->set[i - 1];
    return NULL;
}

void simgpu_settings_at(const struct simgpu *s, int gpu, int64_t t_ns, struct simgpu_settings *out)
{
    const struct simgpu_gpu *g = &s->g[gpu];
    *out = (struct simgpu_settings){.limit_uw = g->limit_default_uw, .persistence = 1};
    const struct simgpu_set *x = set_at(g, SIMGPU_SET_LIMIT, t_ns);
    if (x) {
        out->limit_uw = x->a;
        out->limit_set = true;
    }
    x = set_at(g, SIMGPU_SET_GPU_CLOCKS, t_ns);
    if (x) {
        out->gpu_min_mhz = x->a;
        out->gpu_max_mhz = x->b;
    }
    x = set_at(g, SIMGPU_SET_MEM_CLOCKS, t_ns);
    if (x) {
        out->mem_min_mhz = x->a;
        out->mem_max_mhz = x->b;
    }
    x = set_at(g, SIMGPU_SET_PERSISTENCE, t_ns);
    if (x)
        out->persistence = x->a != 0;
}

/* From the last limit on, its waveform; before the first one, the waveform as it is. */
static int wave_energy(struct simgpu *s, int gpu, int64_t t_ns, simgpu_fj *out, int64_t *held)
{
    const struct simgpu_set *x = set_at(&s->g[gpu], SIMGPU_SET_LIMIT, t_ns);
    int64_t limit = x ? x->a : -1, from = x ? x->t_ns : s->h->start_ns;
    simgpu_fj e0, e1;
    int64_t h0, h1;
    int r = wave_sum(s, gpu, limit, from, &e0, &h0);
    if (!r)
        r = wave_sum(s, gpu, limit, t_ns, &e1, &h1);
    if (r)
        return r;
    *out = (x ? simgpu_fj_get(x->before) : 0) + e1 - e0;
    *held = (x ? x->capped_ns : 0) + h1 - h0;
    return 0;
}

static struct simgpu_step step_load(const struct simgpu_step *p)
{
    struct simgpu_step v;
    v.t_ns = __atomic_load_n(&p->t_ns, __ATOMIC_RELAXED);
    v.uw = __atomic_load_n(&p->uw, __ATOMIC_RELAXED);
    v.before.lo = __atomic_load_n(&p->before.lo, __ATOMIC_RELAXED);
    v.before.hi = __atomic_load_n(&p->before.hi, __ATOMIC_RELAXED);
    return v;
}

/* The last step that begins at or before t. The writer may run over what is being read; then the search is
 * repeated over what there is now. */
static int ring_at(const struct simgpu *s, const struct simgpu_gpu *g, int64_t t_ns, struct simgpu_step *out)
{
    const struct simgpu_step *ring = simgpu_ring(s, g);
    uint64_t n = g->ring_size, mask = n - 1;
    for (int tries = 0; tries < 1000; tries++) {
        uint64_t head = atomic_load_explicit(&g->ring_head, memory_order_acquire);
        if (head == 0)
            return -ENODATA;
        uint64_t oldest = head > n - 1 ? head - (n - 1) : 0, lo = head - 1, hi = head - 1, reach = 1;
        /* Nearly every question is about the newest steps: gallop back, so that only their pages are touched.
         */
        while (step_load(&ring[lo & mask]).t_ns > t_ns && lo > oldest) {
            hi = lo;
            lo = lo - oldest > reach ? lo - reach : oldest;
            reach *= 2;
        }
        while (lo < hi) {
            uint64_t mid = lo + (hi - lo + 1) / 2;
            if (step_load(&ring[mid & mask]).t_ns <= t_ns)
                lo = mid;
            else
                hi = mid - 1;
        }
        struct simgpu_step v = step_load(&ring[lo & mask]);
        atomic_thread_fence(memory_order_acquire);
        if (lo + n <= atomic_load_explicit(&g->ring_head, memory_order_relaxed))
            continue;
        /* Step 0 is the idle state before anybody drove; it holds for all times before it. */
        if (v.t_ns > t_ns && lo != 0)
            return -ENODATA;
        *out = v;
        return 0;
    }
    return -ENODATA;
}

int simgpu_energy(struct simgpu *s, int gpu, int64_t t_ns, simgpu_fj *out)
{
    const struct simgpu_gpu *g = &s->g[gpu];
    int64_t held;
    if (g->mode == SIMGPU_WAVE)
        return wave_energy(s, gpu, t_ns, out, &held);
    if (t_ns == s->h->start_ns) { /* known by definition, also when the ring has left it behind */
        *out = 0;
        return 0;
    }
    struct simgpu_step v;
    int r = ring_at(s, g, t_ns, &v);
    if (!r)
        *out = simgpu_fj_get(v.before) + (simgpu_fj)v.uw * (t_ns - v.t_ns);
    return r;
}

int simgpu_power(struct simgpu *s, int gpu, int64_t t_ns, int64_t *uw)
{
    const struct simgpu_gpu *g = &s->g[gpu];
    if (g->mode == SIMGPU_DRIVEN) {
        struct simgpu_step v;
        int e = ring_at(s, g, t_ns, &v);
        if (!e)
            *uw = v.uw;
        return e;
    }
    int64_t q, r;
    uint32_t i = wave_place(s, g, t_ns, &q, &r);
    const struct simgpu_set *x = set_at(g, SIMGPU_SET_LIMIT, t_ns);
    *uw = simgpu_segs(s, g)[i].uw;
    if (x && *uw > x->a)
        *uw = x->a;
    return 0;
}

int64_t simgpu_capped_time(struct simgpu *s, int gpu, int64_t t_ns)
{
    simgpu_fj e;
    int64_t held = 0;
    if (s->g[gpu].mode == SIMGPU_DRIVEN)
        return atomic_load(&s->g[gpu].driven_capped_ns);
    return wave_energy(s, gpu, t_ns, &e, &held) ? 0 : held;
}

int simgpu_energy_scope(struct simgpu *s, int gpu, enum simgpu_scope scope, int64_t t_ns, simgpu_fj *out)
{
    const struct simgpu_gpu *g = &s->g[gpu];
    simgpu_fj e;
    int r = simgpu_energy(s, gpu, t_ns, &e);
    if (r)
        return r;
    if (scope == SIMGPU_SCOPE_MODULE)
        e += (simgpu_fj)g->module_extra_uw * (t_ns - s->h->start_ns);
    if (scope == SIMGPU_SCOPE_MEMORY)
        e = e * g->memory_ppb / SIMGPU_PPB;
    *out = e;
    return 0;
}

int simgpu_power_scope(struct simgpu *s, int gpu, enum simgpu_scope scope, int64_t t_ns, int64_t *uw)
{
    const struct simgpu_gpu *g = &s->g[gpu];
    int r = simgpu_power(s, gpu, t_ns, uw);
    if (!r && scope == SIMGPU_SCOPE_MODULE)
        *uw += g->module_extra_uw;
    if (!r && scope == SIMGPU_SCOPE_MEMORY)
        *uw = (int64_t)((simgpu_fj)*uw * g->memory_ppb / SIMGPU_PPB);
    return r;
}

int simgpu_mean_uw(struct simgpu *s, int gpu, enum simgpu_scope scope, int64_t t0_ns, int64_t t1_ns,
                   int64_t *uw)
{
    if (t0_ns == t1_ns)
        return simgpu_power_scope(s, gpu, scope, t1_ns, uw);
    simgpu_fj e0, e1;
    int r = simgpu_energy_scope(s, gpu, scope, t0_ns, &e0);
    if (!r)
        r = simgpu_energy_scope(s, gpu, scope, t1_ns, &e1);
    if (!r)
        *uw = (int64_t)((e1 - e0) / (t1_ns - t0_ns));
    return r;
}

/* Refresh k happens at phase + k x period, moved by a jitter of its own that never exceeds half a period. */
static int64_t tick_time(const struct simgpu *s, int gpu, int64_t period, int64_t k)
{
    const struct simgpu_gpu *g = &s->g[gpu];
    int64_t t = s->h->start_ns + g->phase_ns + k * period;
    if (g->jitter_ns > 0) {
        uint64_t u = simgpu_hash(s->h->seed, (uint64_t)gpu, (uint64_t)k) % (2 * (uint64_t)g->jitter_ns + 1);
        t += (int64_t)u - g->jitter_ns;
    }
    return t;
}

int64_t simgpu_tick(const struct simgpu *s, int gpu, int64_t period_ns, int64_t t_ns)
{
    const struct simgpu_gpu *g = &s->g[gpu];
    if (period_ns <= 0)
        return t_ns - g->latency_ns;
    int64_t see = t_ns - g->latency_ns, x = see - s->h->start_ns - g->phase_ns, k = x / period_ns;
    if (x % period_ns < 0)
        k--;
    for (int64_t j = k + 1; j > k - 1; j--) {
        int64_t at = tick_time(s, gpu, period_ns, j);
        if (at <= see)
            return at;
    }
    return tick_time(s, gpu, period_ns, k - 1);
}

/* v x ppb / 1e9 / unit, rounded down, without leaving 128 bits. */
static simgpu_fj gained(simgpu_fj v, int64_t ppb, simgpu_fj unit)
{
    simgpu_fj x = v * ppb, d = unit * SIMGPU_PPB, q = x / d;
    return x % d < 0 ? q - 1 : q;
}

int simgpu_counter_at(struct simgpu *s, int gpu, int64_t tick_ns, int64_t from_ns, int64_t base_mj,
                      uint64_t *mj)
{
    const struct simgpu_gpu *g = &s->g[gpu];
    simgpu_fj e0 = 0, e1 = 0;
    int r = 0;
    if (tick_ns > from_ns) {
        r = simgpu_energy_scope(s, gpu, (enum simgpu_scope)g->counter_scope, from_ns, &e0);
        if (!r)
            r = simgpu_energy_scope(s, gpu, (enum simgpu_scope)g->counter_scope, tick_ns, &e1);
    }
    if (!r)
        *mj = (uint64_t)(base_mj + (int64_t)gained(e1 - e0, g->counter_gain_ppb, SIMGPU_FJ_PER_MJ));
    return r;
}

int simgpu_gauge_at(struct simgpu *s, int gpu, enum simgpu_gauge_id id, enum simgpu_scope scope,
                    int64_t tick_ns, uint32_t *mw)
{
    const struct simgpu_gpu *g = &s->g[gpu];
    int64_t uw;
    int r = simgpu_mean_uw(s, gpu, scope, tick_ns - g->gauge[id].window_ns, tick_ns, &uw);
    if (!r)
        *mw = (uint32_t)gained(uw, g->gauge_gain_ppb, 1000);
    return r;
}

int simgpu_set(struct simgpu *s, int gpu, enum simgpu_set_kind kind, int64_t a, int64_t b)
{
    struct simgpu_gpu *g = &s->g[gpu];
    struct flock lk = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = 1};
    /* An open-file-description lock goes with its holder, so that a killed program leaves nothing locked.
     * Threads of one process share it; the library has a mutex of its own around this. */
    while (fcntl(s->fd, F_OFD_SETLKW, &lk) != 0)
        if (errno != EINTR)
            return -errno;
    int r = -ENOSPC;
    uint32_t n = atomic_load(&g->set_count);
    if (n < SIMGPU_MAX_SETS) {
        int64_t t = simgpu_now(s);
        if (n && g->set[n - 1].t_ns > t)
            t = g->set[n - 1].t_ns;
        simgpu_fj e = 0;
        r = simgpu_energy(s, gpu, t, &e);
        if (!r) {
            g->set[n] = (struct simgpu_set){.t_ns = t,
                                            .kind = kind,
                                            .pid = (uint32_t)getpid(),
                                            .a = a,
                                            .b = b,
                                            .before = simgpu_fj_put(e),
                                            .capped_ns = simgpu_capped_time(s, gpu, t)};
            atomic_store_explicit(&g->set_count, n + 1, memory_order_release);
        }
    }
    lk.l_type = F_UNLCK;
    fcntl(s->fd, F_OFD_SETLK, &lk);
    return r;
}
