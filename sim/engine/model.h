/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a step of the simulated engine costs: time, power, energy and where the energy went. Pure arithmetic.
 *
 * A step computes P prompt tokens and one token (or a few, speculatively) for each of D sequences, whose
 * contexts hold C tokens together. With phi = SM clock / maximum and v the relative voltage at that clock,
 *
 *   time   = step_s + D seq_s                                       host, clock-independent
 *          + (weights + C kv) / (n bw) * m(phi)                     memory-bound,  m = 1 + slope (1/phi - 1)
 *          + (P + T) 2 params / (n flops) / phi                     compute-bound; T tokens of the D
 * sequences energy = n (idle_w + context_w) time                            idle
 *          + joule_byte weights  * g(phi)                           fixed,         g = s + (1 - s) phi v^2 m
 *          + joule_byte C kv     * g(phi)                           context
 *          + P 2 params joule_flop_prefill v^2                      prefill
 *          + T (2 params joule_flop_decode + joule_seq) v^2         decode
 *
 * so time and energy are linear in P, D, T and C at one clock. The clock is the locked one, or the highest at
 * which the power (energy / time / n) stays within the limit. The constants and their sources:
 * data/models.tsv.
 */
#ifndef SIM_ENGINE_MODEL_H
#define SIM_ENGINE_MODEL_H

#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>

#define SIM_NAME_MAX 48

struct sim_board {
    char name[SIM_NAME_MAX];
    double hbm_bytes, bandwidth, flops;
    double limit_w, limit_min_w, idle_w, context_w;
    double clock_max, clock_min, clock_step, clock_idle, clock_mem; /* MHz */
    double volt_floor, volt_knee;
};

struct sim_model {
    char name[SIM_NAME_MAX];
    struct sim_board board;
    int gpus;
    double params, weight_bytes, kv_bytes, vocab;
    double max_model_len, max_num_seqs, max_num_batched_tokens;
    double memory_share, activation_bytes, bandwidth_share, flops_share;
    double step_s, seq_s, joule_byte, joule_flop_prefill, joule_flop_decode, joule_seq;
    double memory_energy_share, memory_clock_slope;
};

struct sim_load {
    uint32_t prefill_tokens; /* P */
    uint32_t decode_seqs;    /* D */
    uint32_t decode_tokens;  /* T, = D without speculation */
    uint64_t context;        /* C */
};

struct sim_limits {
    double limit_w;   /* per board; <= 0: the board's own */
    double clock_mhz; /* locked maximum; <= 0: none */
};

/* Energies are of all boards together. */
struct sim_energy {
    double idle, fixed, prefill, decode, context;
};

struct sim_cost {
    double seconds;
    double watts; /* each board */
    double clock_mhz;
    bool capped;        /* the power limit, not a lock, set the clock */
    double memory_busy; /* share of the step bound by memory */
    struct sim_energy joule;
};

/* Reads the model called name from a table in the form of data/models.tsv. 0, or -1 with a sentence in why.
 */
int sim_model_parse(const char *tsv, size_t len, const char *name, struct sim_model *out, char *why,
                    size_t whylen);
/* The table that is built in, sim/data/models.tsv. */
extern const unsigned char sim_models_tsv[];
extern const size_t sim_models_tsv_len;

double sim_model_loaded_idle_w(const struct sim_model *m);
/* Tokens of KV cache that the boards hold beside the weights. */
uint64_t sim_model_kv_tokens(const struct sim_model *m);
/* At a stated clock (MHz), without regard to limits. */
void sim_model_cost_at(const struct sim_model *m, const struct sim_load *load, double mhz,
                       struct sim_cost *out);
void sim_model_cost(const struct sim_model *m, const struct sim_load *load, const struct sim_limits *lim,
                    struct sim_cost *out);

static inline double sim_energy_sum(const struct sim_energy *e)
{
    return e->idle + e->fixed + e->prefill + e->decode + e->context;
}

#endif
