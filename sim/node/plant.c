/* SPDX-License-Identifier: Apache-2.0 */
#include "plant.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "load.h"

#define STEP_S ((double)PLANT_STEP_NS * 1e-9)

/* 80 PLUS, 230 V internal (redundant) power supplies; titanium alone is specified at 10 %, the others are
 * taken as far below their 20 % figure as it is. */
const struct plant_grade plant_grades[] = {
    {"titanium", {0.90, 0.94, 0.96, 0.91}, 0.006},
    {"platinum", {0.86, 0.90, 0.94, 0.91}, 0.008},
    {"gold", {0.84, 0.88, 0.92, 0.88}, 0.010},
    {"silver", {0.81, 0.85, 0.89, 0.85}, 0.012},
    {NULL, {0}, 0},
};

double plant_uniform(uint64_t *s)
{
    uint64_t z = (*s += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return ((double)((z ^ z >> 31) >> 11) + 1) * 0x1p-53;
}

double plant_normal(uint64_t *s)
{
    double r = sqrt(-2 * log(plant_uniform(s)));
    return r * cos(6.283185307179586 * plant_uniform(s));
}

void plant_defaults(struct plant_conf *c)
{
    *c = (struct plant_conf){
        .minutes = 1,
        .lead_s = 30,
        .seed = 1,
        .gpus = 8,
        .load = 0.6,
        .isl = 500,
        .osl = 200,
        .sockets = 2,
        .cpu_idle_w = 95,
        .cpu_busy_w = 110,
        .cpu_own_w = 25,
        .dram_w = 80,
        .nic_w = 60,
        .storage_w = 35,
        .switch_w = 240,
        .board_w = 140,
        .fans_w = 1100,
        .fans_least = 0.45,
        .fans_lag_s = 12,
        .psus = 2,
        .psu_rated_w = 6600,
        .psu_share = 0.5,
    };
}

double plant_loss(const struct plant_grade *g, double rated_w, double out_w)
{
    static const double at[5] = {0, 0.1, 0.2, 0.5, 1};
    double loss[5] = {g->idle * rated_w}, x = rated_w > 0 ? out_w / rated_w : 0;
    for (int i = 1; i < 5; i++)
        loss[i] = at[i] * rated_w * (1 / g->efficiency[i - 1] - 1);
    int i = 1;
    while (i < 4 && x > at[i])
        i++;
    return loss[i - 1] + (loss[i] - loss[i - 1]) * (x - at[i - 1]) / (at[i] - at[i - 1]);
}

static int part(struct plant *pl, int parent, const char *kind, const char *key, const char *label)
{
    struct plant_part *p = &pl->part[pl->parts];
    snprintf(p->kind, sizeof p->kind, "%s", kind);
    snprintf(p->key, sizeof p->key, "%s", key);
    snprintf(p->label, sizeof p->label, "%s", label);
    p->parent = parent;
    p->p = calloc(pl->n, sizeof *p->p);
    p->e = calloc(pl->n + 1, sizeof *p->e);
    return p->p && p->e ? pl->parts++ : -1;
}

static int numbered(struct plant *pl, int parent, const char *kind, const char *key, const char *label, int i)
{
    char k[48], l[48];
    snprintf(k, sizeof k, "%.40s%d", key, i);
    snprintf(l, sizeof l, "%.40s %d", label, i);
    return part(pl, parent, kind, k, l);
}

struct places {
    int tray, nvswitch, nic, storage, fans, board;
};

static int make_parts(struct plant *pl, struct places *w)
{
    const struct plant_conf *c = &pl->conf;
    size_t most = 12 + (size_t)c->gpus + (size_t)c->sockets + (size_t)c->psus;
    pl->part = calloc(most, sizeof *pl->part);
    if (!pl->part)
        return -1;
    int bad = 0;
    bad |= pl->inlet = part(pl, -1, "inlet_ac", "sim-node", "sim-node");
    pl->first_psu = -1;
    for (int i = 0; c->psus > 1 && i < (int)c->psus; i++) {
        int k = numbered(pl, pl->inlet, "psu", "psu", "power supply", i);
        pl->first_psu = i ? pl->first_psu : k;
        bad |= k;
    }
    bad |= part(pl, pl->inlet, "psu_loss", "psu_loss", "loss of the power supplies");
    bad |= pl->node = part(pl, pl->inlet, "node", "sim-node", "sim-node");
    for (int i = 0; i < (int)c->sockets; i++) {
        int k = numbered(pl, pl->node, "package", "package-", "package", i);
        pl->first_package = i ? pl->first_package : k;
        bad |= k;
    }
    bad |= pl->dram = part(pl, pl->node, "dram", "dram", "memory");
    bad |= w->tray = part(pl, pl->node, "tray", "tray", "GPU tray");
    for (int i = 0; i < (int)c->gpus; i++) {
        char key[48], label[48];
        snprintf(key, sizeof key, "GPU-51340000-0000-4000-8000-%012d", i);
        snprintf(label, sizeof label, "GPU %d", i);
        int k = part(pl, w->tray, "gpu", key, label);
        pl->first_gpu = i ? pl->first_gpu : k;
        bad |= k;
    }
    bad |= w->nvswitch = part(pl, w->tray, "nvswitch", "nvswitch", "NVSwitches");
    bad |= w->nic = part(pl, pl->node, "nic", "nic", "network");
    bad |= w->storage = part(pl, pl->node, "storage", "storage", "drives");
    bad |= w->fans = part(pl, pl->node, "fans", "fans", "fans");
    bad |= w->board = part(pl, pl->node, "rail", "board", "board and regulators");
    return bad < 0 ? -1 : 0;
}

static void sum(struct plant *pl, int into, int parent)
{
    for (int k = 0; k < pl->parts; k++)
        for (size_t i = 0; pl->part[k].parent == parent && k != into && i < pl->n; i++)
            pl->part[into].p[i] += pl->part[k].p[i];
}

/* CPU, memory, network, drives and the board: a floor, what the engine asks, a load of their own. */
static void host(struct plant *pl, const struct places *w, const float *busy)
{
    const struct plant_conf *c = &pl->conf;
    uint64_t s = ((uint64_t)c->seed + 7919 * (uint64_t)c->course) * 1000003 + 7;
    double own[16] = {0}, keep = exp(-STEP_S / 2.0), kick = sqrt(1 - keep * keep), disk = 0;
    for (size_t i = 0; i < pl->n; i++) {
        double cpu = 0;
        for (int k = 0; k < (int)c->sockets; k++) {
            own[k] = own[k] * keep + kick * plant_normal(&s);
            double x = c->cpu_idle_w + c->cpu_busy_w * busy[i] * (k ? 0.6 : 1) + c->cpu_own_w * own[k];
            x = fmax(x, 0.5 * c->cpu_idle_w);
            pl->part[pl->first_package + k].p[i] = x;
            cpu += x / fmax(1, c->cpu_idle_w + c->cpu_busy_w);
        }
        if (plant_uniform(&s) < STEP_S / 8) /* a write to disk about every eight seconds */
            disk = 0.5 + plant_uniform(&s);
        disk = fmax(0, disk - STEP_S);
        pl->part[pl->dram].p[i] = c->dram_w * (0.6 + 0.4 * cpu / fmax(1, c->sockets));
        pl->part[w->nvswitch].p[i] = c->gpus > 1 ? c->switch_w * (0.7 + 0.3 * busy[i]) : 0;
        pl->part[w->nic].p[i] = c->nic_w * (0.85 + 0.15 * busy[i]);
        pl->part[w->storage].p[i] = c->storage_w * (disk > 0 ? 1.4 : 1);
        pl->part[w->board].p[i] = c->board_w;
    }
}

/* Fans follow the heat with a first-order lag, begun where they would have settled. */
static void fans(struct plant *pl, const struct places *w)
{
    const struct plant_conf *c = &pl->conf;
    double keep = c->fans_lag_s > 0 ? exp(-STEP_S / c->fans_lag_s) : 0, speed = -1;
    double most = 700 * c->gpus + c->sockets * (c->cpu_idle_w + c->cpu_busy_w) + c->switch_w + c->board_w;
    for (size_t i = 0; i < pl->n; i++) {
        double heat = 0;
        for (int k = 0; k < pl->parts; k++)
            if (k != pl->inlet && k != pl->node && k != w->tray)
                heat += pl->part[k].p[i];
        double want = fmin(1, c->fans_least + (1 - c->fans_least) * heat / most);
        speed = speed < 0 ? want : want + (speed - want) * keep;
        pl->part[w->fans].p[i] = c->fans_w * speed * speed * speed;
    }
}

static void supplies(struct plant *pl)
{
    const struct plant_conf *c = &pl->conf;
    int k = (int)c->psus, loss = pl->first_psu < 0 ? pl->inlet + 1 : pl->first_psu + k;
    for (size_t i = 0; i < pl->n; i++) {
        double out = pl->part[pl->node].p[i], lost = 0;
        for (int j = 0; j < k; j++) {
            double share = k == 1 ? 1 : j ? (1 - c->psu_share) / (k - 1) : c->psu_share;
            double one = plant_loss(&plant_grades[c->psu_grade], c->psu_rated_w, share * out);
            lost += one;
            if (k > 1)
                pl->part[pl->first_psu + j].p[i] = share * out + one;
        }
        pl->part[loss].p[i] = lost;
        pl->part[pl->inlet].p[i] = out + lost;
    }
}

static int bad(char *why, size_t n, const char *text)
{
    snprintf(why, n, "%s", text);
    return -1;
}

static int check(const struct plant_conf *c, char *why, size_t n)
{
    if (!(c->minutes > 0 && c->minutes <= 240))
        return bad(why, n, "--minutes takes more than 0 and at most 240.");
    if (!(c->lead_s >= 1 && c->lead_s <= 600))
        return bad(why, n, "--lead takes 1 s to 600 s.");
    if (!(c->gpus >= 1 && c->gpus <= PLANT_GPUS && c->gpus == floor(c->gpus)))
        return bad(why, n, "--gpus takes 1 to 64.");
    if (!(c->load >= 0 && c->load <= 1))
        return bad(why, n, "--load is a share of what the engines can serve: 0 to 1.");
    if (!(c->sockets >= 1 && c->sockets <= 8 && c->sockets == floor(c->sockets)))
        return bad(why, n, "--sockets takes 1 to 8.");
    if (!(c->seed >= 0 && c->seed < 1e15 && c->course >= 0 && c->course < 1e6))
        return bad(why, n, "--seed and --course are whole numbers from 0 on.");
    if (!(c->psus >= 1 && c->psus <= PLANT_PSUS && c->psus == floor(c->psus)))
        return bad(why, n, "--psus takes 1 to 8.");
    if (!(c->psu_rated_w > 0) || !(c->psu_share > 0 && c->psu_share < 1))
        return bad(why, n, "--psu-rated is a power, and --psu-share lies between 0 and 1.");
    if (!(c->isl >= 1 && c->isl <= 16000 && c->osl >= 1 && c->osl <= 8000))
        return bad(why, n, "--isl takes 1 to 16000 tokens, --osl 1 to 8000.");
    if (!(c->fans_least > 0 && c->fans_least <= 1 && c->fans_lag_s >= 0))
        return bad(why, n, "--fans-least is a share of full speed, above 0 and at most 1.");
    return 0;
}

int plant_make(struct plant *pl, const struct plant_conf *c, char *why, size_t n)
{
    struct places w;
    memset(pl, 0, sizeof *pl);
    pl->conf = *c;
    if (check(c, why, n))
        return -1;
    pl->t0 = llround(c->lead_s * 1e9);
    pl->t1 = pl->t0 + llround(c->minutes * 60e9);
    pl->n = (size_t)((pl->t1 + pl->t0 + PLANT_STEP_NS - 1) / PLANT_STEP_NS);
    float *busy = calloc(pl->n, sizeof *busy);
    if (!busy || make_parts(pl, &w) < 0 || plant_load(pl, busy, why, n) < 0) {
        free(busy);
        plant_free(pl);
        return *why ? -1 : bad(why, n, "There is no memory for so long a simulation.");
    }
    host(pl, &w, busy);
    free(busy);
    fans(pl, &w);
    sum(pl, w.tray, w.tray);
    sum(pl, pl->node, pl->node);
    supplies(pl);
    for (int k = 0; k < pl->parts; k++)
        for (size_t i = 0; i < pl->n; i++)
            pl->part[k].e[i + 1] = pl->part[k].e[i] + pl->part[k].p[i] * STEP_S;
    return 0;
}

void plant_free(struct plant *pl)
{
    for (int k = 0; k <= pl->parts && pl->part && k < 12 + PLANT_GPUS; k++) {
        if (k == pl->parts)
            break;
        free(pl->part[k].p);
        free(pl->part[k].e);
    }
    free(pl->part);
    free(pl->req);
    memset(pl, 0, sizeof *pl);
}

static double upto(const struct plant *pl, int part, int64_t t)
{
    const struct plant_part *p = &pl->part[part];
    int64_t end = (int64_t)pl->n * PLANT_STEP_NS;
    if (t < 0)
        return p->p[0] * ((double)t * 1e-9);
    if (t >= end)
        return p->e[pl->n] + p->p[pl->n - 1] * ((double)(t - end) * 1e-9);
    size_t i = (size_t)(t / PLANT_STEP_NS);
    return p->e[i] + p->p[i] * ((double)(t % PLANT_STEP_NS) * 1e-9);
}

double plant_energy(const struct plant *pl, int part, int64_t t0, int64_t t1)
{
    return upto(pl, part, t1) - upto(pl, part, t0);
}
