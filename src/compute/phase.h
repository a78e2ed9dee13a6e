/* SPDX-License-Identifier: Apache-2.0 */
/* Measured energy, allocated to prefill and decode and to requests: an allocation by a stated rule, never a
 * measurement (docs/phases.md). Pure; everything here knows energies of short cells of time, requests and
 * their tokens, and no run file (phase_run.h does).
 *
 * Method D2. Over windows k of cells, by non-negative least squares with the idle power pinned:
 *
 *     E_k - P_idle dt_k = w_s S_k + w_p Np_k + w_d Nd_k + w_c C_k
 *
 * S engine iterations, Np prompt tokens computed (spread evenly over the prefill), Nd decode tokens, C the
 * sum of the context's length over decode tokens. Then a cell i, which holds E_i, is shared out:
 *
 *     m_qi = w_p np_qi + w_d nd_qi + w_c c_qi    M_i = sum over q    s_i = min(1, E_i / M_i)
 *     R_i  = E_i - s_i M_i                       by the time that requests were active in it
 *
 * so that what requests get and what is left of cells without any adds up to what was measured. The method
 * "time-share" is the same with all w = 0; "per token" spreads the whole over output tokens and knows no
 * phases. Memory goes with cells and requests, time with events; nothing is quadratic. */
#ifndef JM_COMPUTE_PHASE_H
#define JM_COMPUTE_PHASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "compute/stat.h"
#include "model/phase.h"

struct jm_phase_request {
    double start, first, last; /* s: prefill begins, first token, last token; start <= first <= last */
    double prefill;            /* prompt tokens that were computed: without cached ones */
    double context;            /* tokens in the context at the first token */
    double each;               /* decode tokens that a unit of jm_phase_token stands for */
};
struct jm_phase_token { /* units after the first token */
    double t;
    uint32_t units;
};

struct jm_phase; /* one replica, or one pool */

/* Cells between the n + 1 times t (s, rising), joules[i] in cell i; both are copied. JM_EINVAL, JM_ENOMEM. */
int jm_phase_new(const double *t, const double *joules, size_t n, struct jm_phase **out, struct jm_err *err);
void jm_phase_free(struct jm_phase *p);
/* In order of the caller's own choice; the k-th call is request k. tok: in any order. What lies outside the
 * cells is not there. */
int jm_phase_add(struct jm_phase *p, const struct jm_phase_request *q, const struct jm_phase_token *tok,
                 size_t n, struct jm_err *err);
/* Engine iterations: counters of the engine at times; between them they are interpolated. Without (or where
 * it is never called) distinct stamps of tokens are counted, those less than 3 ms apart as one. */
int jm_phase_steps(struct jm_phase *p, const double *t, const double *total, size_t n, struct jm_err *err);

/* Rows of the fit come from cells i with use[i] != 0; a run of equal numbers belongs together. From
 * JM_PHASE_BURST on they are calibration bursts: used where the load does not tell by itself. */
#define JM_PHASE_BURST 128
struct jm_phase_opts {
    const unsigned char *use; /* NULL: all */
    double idle_w;            /* loaded idle; NAN: not known, then there is no D2 */
    double window_s;          /* 0: 1 s or 10 cells, whichever is longer */
    uint64_t seed;
    double level;   /* of the intervals, 0: 0.95 */
    double shift_s; /* by how much the energies may lie beside the tokens in time: found by the fit; 0 */
    bool free_idle; /* the idle power is fitted: what D2 is compared with (method D); never a result */
    bool only_time; /* time-share at once */
};
#define JM_PHASE_WINDOWS  10   /* fewest of a fit */
#define JM_PHASE_RESIDUAL 0.05 /* most: root mean square residual over the mean energy of a window */
#define JM_PHASE_BLOCK_S  10.0 /* of the bootstrap */

/* Chooses D2 where it can be had, else time-share and says why; shares out. Fills method, why, the
 * coefficients with their intervals, residual, condition and the share's interval. */
int jm_phase_solve(struct jm_phase *p, const struct jm_phase_opts *o, struct jm_phase_fit *fit,
                   struct jm_err *err);

struct jm_phase_part {
    double prefill, decode;                   /* J, fully loaded: they add up */
    double marginal_prefill, marginal_decode; /* J: of them by tokens alone */
    double prefill_tokens, decode_tokens;
};
/* Of request k in the cells from .. to - 1, after solving. */
void jm_phase_of(const struct jm_phase *p, size_t k, size_t from, size_t to, struct jm_phase_part *out);
/* Of all requests together in the cells, and what no request was there for. */
void jm_phase_cells(const struct jm_phase *p, size_t from, size_t to, struct jm_phase_part *out, double *idle,
                    double *total);
bool jm_phase_inside(const struct jm_phase *p, size_t k); /* cells hold all of request k's life */
/* The cells from .. to - 1 do: jm_phase_of is then the same for them and for all cells. */
bool jm_phase_within(const struct jm_phase *p, size_t k, size_t from, size_t to);
/* Mean power of time without a request, at least margin seconds after one; NAN and *seconds 0: none. When all
 * requests are there. */
int jm_phase_quiet(struct jm_phase *p, double margin, double *watts, double *seconds, struct jm_err *err);
size_t jm_phase_cell(const struct jm_phase *p, double t); /* that holds t; n: none */
size_t jm_phase_requests(const struct jm_phase *p);

#endif
