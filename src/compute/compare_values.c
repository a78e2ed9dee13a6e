/* SPDX-License-Identifier: Apache-2.0 */
/* What a run says of itself, and what was seen of it, for the table of comparability. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compute/compare_impl.h"

#include "base/banned.h"

const char *jm_cmp_env(const struct jm_run *run, const char *const *key)
{
    for (; *key; key++) {
        const char *v = jm_run_env(run, *key);
        if (v && v[0])
            return v;
    }
    return NULL;
}

/* "gpu{gpu x 8}" without its counts. */
void jm_cmp_structure(const char *set, char *out, size_t cap)
{
    size_t n = 0;
    for (const char *p = set ? set : ""; *p && n + 1 < cap; p++) {
        if (strncmp(p, " x ", 3) == 0) {
            p += 3;
            while (*p >= '0' && *p <= '9')
                p++;
            p--;
            continue;
        }
        out[n++] = *p;
    }
    out[n] = '\0';
}

static int compare_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Names, sorted, each with how often: "2 x NVIDIA H100". */
static const char *counted(struct jm_cmp *x, const char **v, size_t n)
{
    const char *text = NULL;
    qsort(v, n, sizeof *v, compare_text);
    for (size_t i = 0, k; i < n; i = k) {
        for (k = i + 1; k < n && strcmp(v[k], v[i]) == 0; k++)
            ;
        if (text && strlen(text) > 800)
            break;
        text = text ? JM_CMP_TEXT(x, "%s, %zu x %.80s", text, k - i, v[i])
                    : JM_CMP_TEXT(x, "%zu x %.80s", k - i, v[i]);
    }
    return text;
}

const char *jm_cmp_accelerators(struct jm_cmp *x, const struct jm_compare_run *r)
{
    const char *v[256];
    size_t n = 0;
    for (size_t i = 0; i < r->report->n_env && n < 256; i++) {
        struct jm_span k = jm_span_of(r->report->env[i].key);
        if (jm_span_starts(k, JM_SPAN("gpu.")) && jm_span_ends(k, JM_SPAN(".name")))
            v[n++] = r->report->env[i].value;
    }
    static const char *const key[] = {"sut.accelerator_model_name", "file.gpu_model", NULL};
    return n ? counted(x, v, n) : jm_cmp_env(r->run, key);
}

/* Which devices the joules came from. */
const char *jm_cmp_identity(struct jm_cmp *x, const struct jm_compare_run *r)
{
    const struct jm_result *row = jm_cmp_row(r, x->c->unit, x->c->boundary);
    const char *v[256], *text = NULL;
    size_t n = 0;
    for (size_t i = 0; row && i < r->report->n_energy && n < 256; i++) {
        const struct jm_energy_row *e = &r->report->energy[i];
        if (e->window != row->window || !e->counted)
            continue;
        for (size_t k = 0; k < row->n_domain; k++)
            if (row->domain[k] == e->domain) {
                const struct jm_channel *ch = &r->report->channels[e->channel];
                v[n++] = ch->device[0] ? ch->device : ch->name;
                break;
            }
    }
    qsort(v, n, sizeof *v, compare_text);
    for (size_t i = 0; i < n; i++) {
        if (i && strcmp(v[i], v[i - 1]) == 0)
            continue;
        if (text && strlen(text) > 300)
            break;
        text = text ? JM_CMP_TEXT(x, "%s, %.60s", text, v[i]) : JM_CMP_TEXT(x, "%.60s", v[i]);
    }
    return text;
}

const char *jm_cmp_token_source(struct jm_cmp *x, const struct jm_side_sums *u)
{
    static const char *const name[] = {"nobody", "the server's usage", "token ids", "the imported file"};
    const char *text = NULL;
    for (int i = 0; i < 4; i++)
        if (u->by_source[i] > 0)
            text = text ? JM_CMP_TEXT(x, "%s and %s", text, name[i]) : name[i];
    return text;
}

/* Mean of a gauge over all devices and measured windows of a side; NAN: nobody saw it. */
int jm_cmp_gauge(struct jm_cmp *x, size_t side, const char *name, double *mean)
{
    double sum = 0, n = 0;
    int rc = 0;
    struct jm_readings buf = {0};
    for (size_t i = 0; i < x->in[side].n_run; i++) {
        const struct jm_report *r = x->in[side].run[i].report;
        for (size_t c = 0; !rc && c < r->n_channels; c++)
            for (size_t w = 0; !rc && w < r->n_windows && strcmp(r->channels[c].name, name) == 0; w++) {
                double part = 0, k = 0;
                if (r->windows[w].role != JM_R_MEASURE)
                    continue;
                buf.n = 0;
                rc = jm_run_readings(x->in[side].run[i].run, (int)c, r->windows[w].t0, r->windows[w].t1, &buf,
                                     x->err);
                for (size_t q = 0; !rc && q < buf.n; q++)
                    if (buf.v[q].status == JM_S_OK && buf.v[q].t0 >= r->windows[w].t0 &&
                        buf.v[q].t1 <= r->windows[w].t1) {
                        part += jm_channel_value(&r->channels[c], buf.v[q].value);
                        k++;
                    }
                if (k > 0) {
                    sum += part / k;
                    n++;
                }
            }
    }
    jm_readings_release(&buf);
    *mean = n > 0 ? sum / n : NAN;
    return rc;
}

/* Mean over the windows of a result without a boundary of its own, or of engine's telling. */
double jm_cmp_engine_mean(const struct jm_compare_side_in *s, bool hits)
{
    double a = 0, b = 0;
    for (size_t i = 0; i < s->n_run; i++)
        for (size_t k = 0; k < s->run[i].report->n_engine_windows; k++) {
            const struct jm_engine_window *e = &s->run[i].report->engine_windows[k];
            if (hits && isfinite(e->prefix_ask) && isfinite(e->prefix_hit)) {
                a += e->prefix_hit;
                b += e->prefix_ask;
            } else if (!hits && isfinite(e->excess_share)) {
                a += e->excess_share;
                b++;
            }
        }
    return b > 0 ? a / b : NAN;
}

double jm_cmp_other_gpus(const struct jm_compare_side_in *s)
{
    double e = 0, t = 0;
    for (size_t i = 0; i < s->n_run; i++) {
        const struct jm_report *r = s->run[i].report;
        for (size_t k = 0; k < r->n_results; k++)
            if (strcmp(r->results[k].metric, "energy.other_gpus") == 0 && r->results[k].q.have &&
                r->results[k].window >= 0 && r->windows[r->results[k].window].role == JM_R_MEASURE) {
                const struct jm_window *w = &r->windows[r->results[k].window];
                e += r->results[k].q.value;
                t += ((double)w->t1 - (double)w->t0) / 1e9;
            }
    }
    return t > 0 ? e / t : NAN;
}

size_t jm_cmp_throttled(const struct jm_compare_side_in *s, bool *known)
{
    size_t n = 0;
    *known = false;
    for (size_t i = 0; i < s->n_run; i++) {
        const struct jm_report *r = s->run[i].report;
        for (size_t k = 0; k < r->n_findings; k++)
            n += strcmp(r->findings[k].id, "gpu.throttle") == 0 && r->findings[k].severity != JM_SEV_INFO;
        for (size_t k = 0; k < r->n_channels; k++)
            *known |= strcmp(r->channels[k].name, "clock.event_reasons") == 0;
    }
    return n;
}
