/* SPDX-License-Identifier: Apache-2.0 */
#include "model.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct field {
    const char *key;
    size_t off;
};

#define B(f)                                                                                                 \
    {                                                                                                        \
#f, offsetof(struct sim_board, f)                                                                    \
    }
static const struct field board_fields[] = {
    B(hbm_bytes), B(bandwidth), B(flops),      B(limit_w),    B(limit_min_w), B(idle_w),     B(context_w),
    B(clock_max), B(clock_min), B(clock_step), B(clock_idle), B(clock_mem),   B(volt_floor), B(volt_knee),
};
#define M(f)                                                                                                 \
    {                                                                                                        \
#f, offsetof(struct sim_model, f)                                                                    \
    }
static const struct field model_fields[] = {
    M(params),
    M(weight_bytes),
    M(kv_bytes),
    M(vocab),
    M(max_model_len),
    M(max_num_seqs),
    M(max_num_batched_tokens),
    M(memory_share),
    M(activation_bytes),
    M(bandwidth_share),
    M(flops_share),
    M(step_s),
    M(seq_s),
    M(joule_byte),
    M(joule_flop_prefill),
    M(joule_flop_decode),
    M(joule_seq),
    M(memory_energy_share),
    M(memory_clock_slope),
};
#undef B
#undef M
#define COUNT(a) (sizeof(a) / sizeof(a)[0])

/* One row's first four columns, NUL-terminated copies; false for comments and what has fewer columns. */
static bool split_row(const char *line, size_t len, char col[4][SIM_NAME_MAX])
{
    if (len == 0 || line[0] == '#')
        return false;
    size_t at = 0;
    for (int c = 0; c < 4; c++) {
        const char *tab = memchr(line + at, '\t', len - at);
        size_t n = tab ? (size_t)(tab - (line + at)) : len - at;
        if (n == 0 || n >= SIM_NAME_MAX)
            return false;
        memcpy(col[c], line + at, n);
        col[c][n] = 0;
        at += n + (tab ? 1 : 0);
        if (!tab && c < 3)
            return false;
    }
    return true;
}

static bool set_field(void *base, const struct field *f, size_t n, const char *key, const char *value,
                      uint32_t *seen)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(f[i].key, key) == 0) {
            char *end;
            double v = strtod(value, &end);
            if (*end != 0 || !isfinite(v) || v < 0)
                return false;
            memcpy((char *)base + f[i].off, &v, sizeof v);
            *seen |= 1u << i;
            return true;
        }
    return false;
}

static bool next_line(const char **p, const char *end, const char **line, size_t *len)
{
    if (*p >= end)
        return false;
    const char *nl = memchr(*p, '\n', (size_t)(end - *p));
    *line = *p;
    *len = (size_t)((nl ? nl : end) - *p);
    *p = nl ? nl + 1 : end;
    return true;
}

static int missing(const struct field *f, size_t n, uint32_t seen, const char *what, const char *name,
                   char *why, size_t whylen)
{
    for (size_t i = 0; i < n; i++)
        if (!(seen & 1u << i)) {
            snprintf(why, whylen, "The %s \"%s\" has no row for %s in the table of models.", what, name,
                     f[i].key);
            return -1;
        }
    return 0;
}

int sim_model_parse(const char *tsv, size_t len, const char *name, struct sim_model *out, char *why,
                    size_t whylen)
{
    char col[4][SIM_NAME_MAX];
    const char *p = tsv, *line;
    size_t n;
    uint32_t seen = 0;
    memset(out, 0, sizeof *out);
    bool any = false;
    while (next_line(&p, tsv + len, &line, &n)) {
        if (!split_row(line, n, col) || strcmp(col[0], "model") != 0 || strcmp(col[1], name) != 0)
            continue;
        any = true;
        if (strcmp(col[2], "gpu") == 0)
            memcpy(out->board.name, col[3], SIM_NAME_MAX);
        else if (strcmp(col[2], "gpus") == 0)
            out->gpus = (int)strtol(col[3], NULL, 10);
        else if (!set_field(out, model_fields, COUNT(model_fields), col[2], col[3], &seen)) {
            snprintf(why, whylen, "Row %s of model \"%s\" is not known or its value %s is not a number.",
                     col[2], name, col[3]);
            return -1;
        }
    }
    if (!any) {
        snprintf(why, whylen, "There is no model \"%s\" in the table of models.", name);
        return -1;
    }
    if (missing(model_fields, COUNT(model_fields), seen, "model", name, why, whylen) < 0)
        return -1;
    if (out->gpus < 1 || out->gpus > 64) {
        snprintf(why, whylen, "The model \"%s\" must run on 1 to 64 boards.", name);
        return -1;
    }
    memcpy(out->name, name, strlen(name) + 1); /* fits: it was equal to a column */
    seen = 0;
    p = tsv;
    while (next_line(&p, tsv + len, &line, &n)) {
        if (!split_row(line, n, col) || strcmp(col[0], "gpu") != 0 || strcmp(col[1], out->board.name) != 0)
            continue;
        if (!set_field(&out->board, board_fields, COUNT(board_fields), col[2], col[3], &seen)) {
            snprintf(why, whylen, "Row %s of board \"%s\" is not known or its value %s is not a number.",
                     col[2], out->board.name, col[3]);
            return -1;
        }
    }
    if (missing(board_fields, COUNT(board_fields), seen, "board", out->board.name, why, whylen) < 0)
        return -1;
    const struct sim_board *b = &out->board;
    if (!(b->clock_min > 0 && b->clock_step > 0 && b->clock_max >= b->clock_min && b->volt_knee < 1 &&
          b->bandwidth > 0 && b->flops > 0 && out->bandwidth_share > 0 && out->flops_share > 0 &&
          out->max_num_seqs >= 1 && out->max_num_batched_tokens >= 1 && out->max_model_len >= 2 &&
          out->kv_bytes > 0)) {
        snprintf(why, whylen, "The constants of model \"%s\" are out of range.", name);
        return -1;
    }
    if (sim_model_kv_tokens(out) < 16) {
        snprintf(why, whylen, "The weights of model \"%s\" leave no memory for a KV cache.", name);
        return -1;
    }
    return 0;
}

double sim_model_loaded_idle_w(const struct sim_model *m)
{
    return m->board.idle_w + m->board.context_w;
}

uint64_t sim_model_kv_tokens(const struct sim_model *m)
{
    double room =
        m->gpus * (m->board.hbm_bytes * m->memory_share - m->activation_bytes) - m->params * m->weight_bytes;
    return room > 0 ? (uint64_t)(room / m->kv_bytes) : 0;
}

static double volt(const struct sim_board *b, double phi)
{
    if (phi <= b->volt_knee)
        return b->volt_floor;
    return b->volt_floor + (1 - b->volt_floor) * (phi - b->volt_knee) / (1 - b->volt_knee);
}

void sim_model_cost_at(const struct sim_model *m, const struct sim_load *l, double mhz, struct sim_cost *out)
{
    const struct sim_board *b = &m->board;
    double n = m->gpus, phi = mhz / b->clock_max, v2 = volt(b, phi) * volt(b, phi);
    double slow = 1 + m->memory_clock_slope * (1 / phi - 1);
    double weights = m->params * m->weight_bytes, kv = (double)l->context * m->kv_bytes;
    double flop = 2 * m->params;
    double t_host = m->step_s + l->decode_seqs * m->seq_s;
    double t_mem = (weights + kv) / (n * b->bandwidth * m->bandwidth_share) * slow;
    double t_flop =
        ((double)l->prefill_tokens + l->decode_tokens) * flop / (n * b->flops * m->flops_share) / phi;
    double g = m->memory_energy_share + (1 - m->memory_energy_share) * phi * v2 * slow;

    out->seconds = t_host + t_mem + t_flop;
    out->memory_busy = t_mem / out->seconds;
    out->clock_mhz = mhz;
    out->capped = false;
    out->joule.idle = n * sim_model_loaded_idle_w(m) * out->seconds;
    out->joule.fixed = m->joule_byte * weights * g;
    out->joule.context = m->joule_byte * kv * g;
    out->joule.prefill = l->prefill_tokens * flop * m->joule_flop_prefill * v2;
    out->joule.decode = l->decode_tokens * (flop * m->joule_flop_decode + m->joule_seq) * v2;
    out->watts = sim_energy_sum(&out->joule) / out->seconds / n;
}

void sim_model_cost(const struct sim_model *m, const struct sim_load *l, const struct sim_limits *lim,
                    struct sim_cost *out)
{
    const struct sim_board *b = &m->board;
    double limit = lim && lim->limit_w > 0 ? lim->limit_w : b->limit_w;
    double top = b->clock_max;
    if (lim && lim->clock_mhz > 0 && lim->clock_mhz < top)
        top = lim->clock_mhz < b->clock_min ? b->clock_min : lim->clock_mhz;
    sim_model_cost_at(m, l, top, out);
    if (out->watts <= limit)
        return;
    /* Power grows with the clock: the highest step of the grid that stays within the limit. Where even the
     * lowest is too much, the board skips cycles: the step stretches until its mean power is the limit. */
    long lo = 0, hi = (long)((top - b->clock_min) / b->clock_step);
    while (lo < hi) {
        long mid = (lo + hi + 1) / 2;
        sim_model_cost_at(m, l, b->clock_min + (double)mid * b->clock_step, out);
        if (out->watts <= limit)
            lo = mid;
        else
            hi = mid - 1;
    }
    sim_model_cost_at(m, l, b->clock_min + (double)lo * b->clock_step, out);
    out->capped = true;
    double idle = sim_model_loaded_idle_w(m);
    if (out->watts > limit && limit > idle) {
        double work = sim_energy_sum(&out->joule) - out->joule.idle;
        out->seconds = work / (m->gpus * (limit - idle));
        out->joule.idle = m->gpus * idle * out->seconds;
        out->watts = limit;
    }
}
