/* SPDX-License-Identifier: Apache-2.0 */
/* The small texts of a plan: lengths, shared prefixes, cancellation, time to think. */
#include <math.h>
#include <stdio.h>

#include "base/num.h"
#include "base/option.h"
#include "load/plan.h"

#include "base/banned.h"

#define TOKENS_MOST 10000000

static bool word(struct jm_span *rest, struct jm_span *out)
{
    *rest = jm_span_trim(*rest);
    return jm_span_field(rest, ' ', out) && out->n > 0;
}

static bool tokens(struct jm_span s, int64_t *v)
{
    return jm_num_i64(s, v) == 0 && *v >= 1 && *v <= TOKENS_MOST;
}

static bool range(struct jm_span s, int64_t *lo, int64_t *hi)
{
    for (size_t i = 0; i + 1 < s.n; i++)
        if (s.p[i] == '.' && s.p[i + 1] == '.')
            return tokens(jm_span_sub(s, 0, i), lo) && tokens(jm_span_sub(s, i + 2, s.n), hi) && *lo <= *hi;
    return false;
}

static int unreadable(const char *text, struct jm_err *err)
{
    return jm_err_set(err, JM_EUSAGE,
                      "\"%.60s\" is no length: write 512, 64..1024, or lognormal MEDIAN SIGMA with an "
                      "optional range (lognormal 512 0.8 16..4096)",
                      text);
}

int jm_length_parse(struct jm_length *out, const char *text, struct jm_err *err)
{
    struct jm_span rest = jm_span_trim(jm_span_of(text)), w;
    struct jm_length l = {.min = 1, .max = TOKENS_MOST};
    if (tokens(rest, &l.min)) {
        l.kind = JM_LEN_FIXED;
        l.max = l.min;
    } else if (range(rest, &l.min, &l.max)) {
        l.kind = JM_LEN_UNIFORM;
    } else {
        if (!word(&rest, &w) || !jm_span_is(w, "lognormal") || !word(&rest, &w) ||
            jm_num_double(w, &l.median) != 0 || !(l.median >= 1 && l.median <= TOKENS_MOST) ||
            !word(&rest, &w) || jm_num_double(w, &l.sigma) != 0 || !(l.sigma >= 0 && l.sigma <= 10))
            return unreadable(text, err);
        l.kind = JM_LEN_LOGNORMAL;
        l.min = 1;
        l.max = TOKENS_MOST;
        if (word(&rest, &w) && !range(w, &l.min, &l.max))
            return unreadable(text, err);
        if (jm_span_trim(rest).n)
            return unreadable(text, err);
    }
    *out = l;
    return 0;
}

void jm_length_words(const struct jm_length *l, char *out, size_t n)
{
    if (l->kind == JM_LEN_FIXED)
        snprintf(out, n, "%lld", (long long)l->min);
    else if (l->kind == JM_LEN_UNIFORM)
        snprintf(out, n, "%lld..%lld", (long long)l->min, (long long)l->max);
    else if (l->kind == JM_LEN_LOGNORMAL && l->max < TOKENS_MOST)
        snprintf(out, n, "lognormal %g %g %lld..%lld", l->median, l->sigma, (long long)l->min,
                 (long long)l->max);
    else if (l->kind == JM_LEN_LOGNORMAL)
        snprintf(out, n, "lognormal %g %g", l->median, l->sigma);
    else
        snprintf(out, n, "as it comes");
}

/* Of a lognormal one without its cut. */
double jm_length_mean(const struct jm_length *l)
{
    switch (l->kind) {
    case JM_LEN_FIXED:
    case JM_LEN_UNIFORM: return ((double)l->min + (double)l->max) / 2;
    case JM_LEN_LOGNORMAL: return l->median * exp(l->sigma * l->sigma / 2);
    case JM_LEN_NONE: break;
    }
    return NAN;
}

int64_t jm_length_most(const struct jm_length *l)
{
    return l->kind == JM_LEN_NONE ? 0
           : l->kind == JM_LEN_LOGNORMAL && l->max == TOKENS_MOST
               ? (int64_t)fmin(l->median * exp(4 * l->sigma), TOKENS_MOST)
               : l->max;
}

int jm_prefix_parse(struct jm_slice *s, const char *text, struct jm_err *err)
{
    struct jm_span all = jm_span_of(text);
    ptrdiff_t x = jm_span_chr(all, 'x');
    int64_t groups = 1, n;
    if (x >= 0 && !tokens(jm_span_trim(jm_span_sub(all, 0, (size_t)x)), &groups))
        x = -2;
    if (x == -2 || !tokens(jm_span_trim(jm_span_sub(all, (size_t)(x + 1), all.n)), &n))
        return jm_err_set(err, JM_EUSAGE,
                          "\"%.60s\" is no shared prefix: write how many different ones and how many tokens "
                          "each, as 4 x 1024",
                          text);
    s->prefix_groups = groups;
    s->prefix_tokens = n;
    return 0;
}

int jm_cancel_parse(struct jm_slice *s, const char *text, struct jm_err *err)
{
    struct jm_span all = jm_span_trim(jm_span_of(text)), w;
    ptrdiff_t percent = jm_span_chr(all, '%');
    double share;
    int64_t ns = -1, n = -1;
    if (percent < 0 || jm_num_double(jm_span_trim(jm_span_sub(all, 0, (size_t)percent)), &share) != 0 ||
        !(share >= 0 && share <= 100))
        goto bad;
    struct jm_span rest = jm_span_sub(all, (size_t)percent + 1, all.n);
    if (!word(&rest, &w) || !jm_span_is(w, "after"))
        goto bad;
    struct jm_span what = jm_span_trim(rest);
    if (word(&rest, &w) && jm_num_i64(w, &n) == 0 && n >= 1 && n <= TOKENS_MOST &&
        (jm_span_is(jm_span_trim(rest), "tokens") || jm_span_is(jm_span_trim(rest), "token"))) {
        ns = -1;
    } else {
        n = -1;
        if (jm_quantity_duration(what, &ns, NULL) != 0 || ns < 0)
            goto bad;
    }
    s->cancel_share = share / 100;
    s->cancel_ns = ns;
    s->cancel_tokens = n;
    return 0;
bad:
    return jm_err_set(err, JM_EUSAGE,
                      "\"%.60s\" is no cancellation: write 10 %% after 500 ms, or 10 %% after 20 tokens",
                      text);
}

int jm_think_parse(struct jm_slice *s, const char *text, struct jm_err *err)
{
    struct jm_span all = jm_span_trim(jm_span_of(text)), w, rest = all;
    bool random = word(&rest, &w) && jm_span_is(w, "exponential");
    int64_t ns;
    if (jm_quantity_duration(random ? jm_span_trim(rest) : all, &ns, NULL) != 0 || ns < 0)
        return jm_err_set(err, JM_EUSAGE,
                          "\"%.60s\" is no time to think: write 2s, or exponential 2s for a random one with "
                          "that mean",
                          text);
    s->think_ns = ns;
    s->think_random = random;
    return 0;
}
