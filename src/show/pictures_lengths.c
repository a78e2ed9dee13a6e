/* SPDX-License-Identifier: Apache-2.0 */
/* What a token costs by the lengths of input and output. A bin without requests is empty, one whose requests
 * have no energy of their own shows how many they are. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "show/pictures.h"

#include "base/banned.h"

#define SHADES 6

/* The value a bin is shaded by. */
static double value(const struct jm_length_cell *c)
{
    return c->n_energy > 0 && c->tokens > 0 ? c->joules / c->tokens : NAN;
}

struct range {
    double lo, hi; /* over bins that have one */
};

static struct range range_of(const struct jm_length_map *m)
{
    struct range r = {INFINITY, -INFINITY};
    for (size_t i = 0; i < m->nx * m->ny; i++) {
        double v = value(&m->cell[i]);
        if (v > 0) {
            r.lo = fmin(r.lo, v);
            r.hi = fmax(r.hi, v);
        }
    }
    return r;
}

/* Equal ratios from the least to the most. */
static int shade(const struct range *r, double v)
{
    if (!(r->hi > r->lo * (1 + 1e-9)) || !(v > r->lo))
        return 0;
    int k = (int)(SHADES * log(v / r->lo) / log(r->hi / r->lo));
    return k < 0 ? 0 : k >= SHADES ? SHADES - 1 : k;
}

/* Three digits, those at the end too: "0.370", "123". */
static const char *three(char b[JM_FMT], double v)
{
    snprintf(b, JM_FMT, "%#.3g", v);
    size_t n = strlen(b);
    if (n && b[n - 1] == '.')
        b[n - 1] = '\0';
    return b;
}

static const char *bin_name(char b[JM_FMT], const double *edge, size_t k)
{
    char lo[JM_FMT], hi[JM_FMT];
    jm_fmt_amount(lo, edge[k]); /* counts of a file may be as large as they can */
    jm_fmt_amount(hi, edge[k + 1] - 1);
    if (edge[k + 1] - edge[k] <= 1)
        snprintf(b, JM_FMT, "%s", lo);
    else
        snprintf(b, JM_FMT, "%.20s–%.20s", lo, hi);
    return b;
}

static void cell(struct jm_pic *p, const struct jm_length_map *m, const struct range *range, size_t x,
                 size_t y, double px, double py, double w, double h)
{
    const struct jm_length_cell *c = &m->cell[y * m->nx + x];
    char a[JM_FMT], b[JM_FMT], n[JM_FMT], tip[300], class[8];
    double v = value(c);
    if (!c->n)
        return;
    snprintf(tip, sizeof tip, "ISL %s, OSL %s: %s requests", bin_name(a, m->isl, x), bin_name(b, m->osl, y),
             jm_fmt_count(n, c->n));
    if (!isfinite(v)) {
        jm_pic_rect(p, "hole", px + 1, py + 1, w - 2, h - 2, tip);
        jm_pic_text(p, px + w / 2, py + h / 2 + 4.5, "nt", "middle", w, n);
        return;
    }
    size_t len = strlen(tip);
    snprintf(tip + len, sizeof tip - len, ", %s, %s", jm_fmt_value(a, v, "J/token"),
             jm_fmt_value(b, c->joules / (double)c->n_energy, "J/request"));
    if (c->n_energy < c->n) {
        len = strlen(tip);
        snprintf(tip + len, sizeof tip - len, " (of %s of them)", jm_fmt_count(a, c->n_energy));
    }
    int k = shade(range, v);
    snprintf(class, sizeof class, "m%d", k);
    jm_pic_rect(p, class, px + 1, py + 1, w - 2, h - 2, tip);
    const char *ink = k < 3 ? "lo" : "hi";
    char one[JM_FMT];
    bool two = h >= 38;
    jm_pic_text(p, px + w / 2, py + h / 2 + (two ? -2 : 4.5), ink, "middle", w - 4, three(one, v));
    if (two) {
        snprintf(one, sizeof one, "n %s", n);
        jm_pic_text(p, px + w / 2, py + h / 2 + 15, ink, "middle", w - 4, one);
    }
}

static void key(struct jm_pic *p, const struct range *r)
{
    char a[JM_FMT], b[JM_FMT];
    double x = JM_PIC_EDGE;
    if (!(r->hi > r->lo * (1 + 1e-9)))
        return;
    for (int k = 0; k < SHADES; k++) {
        char class[8], t[80];
        double from = r->lo * pow(r->hi / r->lo, (double)k / SHADES),
               to = r->lo * pow(r->hi / r->lo, (k + 1.0) / SHADES);
        snprintf(class, sizeof class, "m%d", k);
        snprintf(t, sizeof t, "%.24s to %.24s", three(a, from), three(b, to));
        jm_pic_key(p, class, "box", &x, t);
    }
    p->y += 24;
}

void jm_picture_lengths(const struct jm_picture_of *of, struct jm_pic *p)
{
    const struct jm_report *r = of->report[0];
    const struct jm_length_map *m = r->lengths;
    const struct jm_phases *ph = r->phases && !r->phases->why ? r->phases : NULL;
    int64_t n = 0, with = 0;
    char b[JM_FMT], c[JM_FMT];
    if (!m) {
        jm_pic_none(p, "no successful request has both its input and its output tokens counted");
        return;
    }
    for (size_t i = 0; i < m->nx * m->ny; i++) {
        n += m->cell[i].n;
        with += m->cell[i].n_energy;
    }
    struct range range = range_of(m);
    jm_str_adds(&p->title, with ? "Energy per output token by input and output length"
                                : "Requests by input and output length");
    if (with) {
        jm_pic_fact(p, "boundary %s", ph->set ? ph->set : jm_boundary_name((int)ph->boundary));
        jm_pic_fact(p, "energy of the requests of a bin / their output tokens");
        jm_pic_fact(p, "%s, %s", jm_provenance_name((int)ph->provenance),
                    jm_phase_method_name((int)ph->method));
        if (ph->provenance == JM_P_SIMULATED || r->simulated)
            p->mark = "SIMULATED";
    } else {
        jm_pic_fact(p, "counts of successful requests");
        jm_pic_provenance(p, r, JM_P_MEASURED);
    }
    jm_pic_fact(p, "%s requests", jm_fmt_count(b, n));
    jm_pic_begin(p);
    double left = 132, w = fmin((JM_PIC_W - JM_PIC_EDGE - left) / (double)m->nx, 120),
           h = fmin(fmax(330.0 / (double)m->ny, 28), 54), top = p->y + 26, bottom = top + h * (double)m->ny;
    jm_pic_text(p, JM_PIC_EDGE, top - 12, "nt", "start", 0, "output tokens (OSL)");
    for (size_t y = 0; y < m->ny; y++) {
        double py = bottom - h * (double)(y + 1);
        jm_pic_text(p, left - 10, py + h / 2 + 4.5, "tk", "end", 0, bin_name(b, m->osl, y));
        for (size_t x = 0; x < m->nx; x++) {
            jm_pic_rect(p, "emp", left + w * (double)x + 1, py + 1, w - 2, h - 2, NULL);
            cell(p, m, &range, x, y, left + w * (double)x, py, w, h);
        }
    }
    bool two = false;
    for (size_t x = 0; x < m->nx; x++) {
        /* names that would touch stand on two lines */
        bool tight = jm_pic_width(bin_name(b, m->isl, x), 13) > w - 6;
        two |= tight;
        jm_pic_text(p, left + w * ((double)x + .5), bottom + (tight && x % 2 ? 36 : 20), "tk", "middle", 0,
                    b);
    }
    jm_pic_text(p, left + w * (double)m->nx / 2, bottom + (two ? 58 : 42), "nt", "middle", 0,
                "input tokens (ISL)");
    p->y = bottom + (two ? 86 : 70);
    if (with) {
        key(p, &range);
        jm_pic_note(
            p,
            "J/token above, requests (n) below. Energy of a request is an allocation by a stated rule, not a "
            "measurement. Empty bins had no request.");
        if (with < n)
            jm_pic_note(
                p,
                "%s of %s requests have no energy of their own: the readings do not hold all of their lives.",
                jm_fmt_count(b, n - with), jm_fmt_count(c, n));
        jm_str_addf(&p->desc, "From %s", jm_fmt_value(b, range.lo, "J/token"));
        jm_str_addf(&p->desc, " to %s over the bins. ", jm_fmt_value(b, range.hi, "J/token"));
    } else {
        jm_pic_note(
            p, "Numbers are requests. They have no energy of their own: %s. Empty bins had no request.",
            r->phases && r->phases->why ? r->phases->why : "nothing allocates the run's energy to them");
    }
    if (m->unknown)
        jm_pic_note(p, "%s requests are in no bin: nobody counted their tokens.",
                    jm_fmt_count(b, m->unknown));
    jm_str_addf(&p->desc, "Input tokens from %s", jm_fmt_amount(b, m->isl[0]));
    jm_str_addf(&p->desc, " to %s", jm_fmt_amount(b, m->isl[m->nx] - 1));
    jm_str_addf(&p->desc, ", output tokens from %s", jm_fmt_amount(b, m->osl[0]));
    jm_str_addf(&p->desc, " to %s.", jm_fmt_amount(b, m->osl[m->ny] - 1));
}
