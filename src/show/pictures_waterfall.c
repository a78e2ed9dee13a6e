/* SPDX-License-Identifier: Apache-2.0 */
/* From the boards to the facility: parts that are metered, what is left between them and the next boundary,
 * and the boundaries themselves as whole bars. Every bar begins where the one before it ended, on an axis
 * from 0, so that lengths are energies. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "show/pictures.h"

#include "base/banned.h"

enum { GPU, APU, MODULE, CPU, DRAM, FANS, OTHER, PARTS };
static const struct {
    const char *label, *class;
} part_name[PARTS] = {{"GPU boards", "f0"}, {"APUs", "f0"}, {"modules (GPU and CPU)", "f0"}, {"CPU", "f1"},
                      {"memory", "f2"},     {"fans", "f3"}, {"other metered parts", "f4"}};

struct bar {
    char label[96];
    const char *class;
    double from, to;
    double half; /* of the interval at its end; NAN: not known */
    bool total;
};

struct fall {
    const struct jm_report *r;
    int window;
    double part[PARTS], half[PARTS]; /* J */
    int count[PARTS], missing;
    const struct jm_result *node, *wall, *facility;
    struct bar bar[PARTS + 8];
    size_t n;
    enum jm_provenance worst;
    double tokens;
};

static const struct jm_result *energy_at(const struct jm_report *r, int window, enum jm_boundary b)
{
    for (size_t i = 0; i < r->n_results; i++) {
        const struct jm_result *x = &r->results[i];
        if (x->window == window && x->q.boundary == b && !x->slice && x->q.have && !jm_fmt_estimate(x) &&
            strcmp(x->metric, "energy") == 0 && x->have_of == x->of)
            return x;
    }
    return NULL;
}

static int part_of(enum jm_domain_kind k)
{
    switch (k) {
    case JM_D_GPU:
    case JM_D_HBM: return GPU;
    case JM_D_APU: return APU;
    case JM_D_MODULE: return MODULE;
    case JM_D_GRACE:
    case JM_D_CPU:
    case JM_D_PSYS:
    case JM_D_PACKAGE:
    case JM_D_CORE:
    case JM_D_UNCORE: return CPU;
    case JM_D_DRAM: return DRAM;
    case JM_D_FANS: return FANS;
    default: return OTHER;
    }
}

/* What a domain took in the window: the instrument that is counted, else the one that was chosen to
 * reconcile. */
static void add_part(struct fall *f, int domain)
{
    const struct jm_report *r = f->r;
    int k = part_of(r->tree->d[domain].kind);
    for (size_t i = 0; i < r->n_reconcile; i++) {
        const struct jm_reconcile_row *x = &r->reconcile[i];
        if (x->window != f->window || x->domain != domain || x->status != JM_S_OK || !isfinite(x->joules))
            continue;
        f->part[k] += x->joules;
        f->half[k] += (x->hi - x->lo) / 2; /* like instruments err alike: linearly; NAN stays */
        f->count[k]++;
        f->worst = jm_provenance_worse(f->worst, x->provenance);
        return;
    }
    f->missing++;
}

/* Outermost metered parts inside the node, or where it has no meter the parts of the device boundary. */
static void parts(struct fall *f)
{
    const struct jm_report *r = f->r;
    enum jm_domain_kind outer = f->node ? JM_D_NODE : JM_D_COUNT;
    size_t holders = 0;
    for (size_t i = 0; i < r->n_reconcile; i++) {
        const struct jm_reconcile_row *x = &r->reconcile[i];
        if (x->window != f->window || r->tree->d[x->domain].kind != outer)
            continue;
        for (size_t k = 0; k < x->n_contains; k++)
            add_part(f, x->contains[k].domain);
        holders += x->n_contains;
    }
    if (holders)
        return;
    const struct jm_result *d = energy_at(r, f->window, JM_B_DEVICE);
    if (!d || !d->n_domain)
        d = energy_at(r, f->window, JM_B_GPU);
    for (size_t k = 0; d && k < d->n_domain; k++)
        add_part(f, d->domain[k]);
}

static struct bar *add(struct fall *f, const char *class, double from, double to, double half, bool total)
{
    struct bar *b = &f->bar[f->n++];
    *b = (struct bar){.class = class, .from = from, .to = to, .half = half, .total = total};
    return b;
}

static double half_of(const struct jm_result *x)
{
    return x->q.u.method ? (x->q.u.hi - x->q.u.lo) / 2 : NAN;
}

/* The step up to a wider boundary, and the boundary. */
static void reach(struct fall *f, const struct jm_result *x, const char *step, const char *class, double *at,
                  double *half)
{
    double e = x->q.value, h = half_of(x);
    if (*at > 0) {
        bool less = e < *at;
        struct bar *b = add(f, less ? "f1" : class, *at, e, sqrt(*half * *half + h * h), false);
        snprintf(b->label, sizeof b->label, "%s", less ? "parts exceed the whole by" : step);
    }
    struct bar *t = add(f, "tot", 0, e, h, true);
    snprintf(t->label, sizeof t->label, "%s",
             x->q.boundary == JM_B_NODE   ? "node"
             : x->q.boundary == JM_B_WALL ? "wall"
                                          : "facility");
    *at = e;
    *half = h;
    f->worst = jm_provenance_worse(f->worst, x->q.provenance);
}

static void bars(struct fall *f)
{
    double at = 0, half = 0;
    int groups = 0;
    for (int k = 0; k < PARTS; k++) {
        if (!f->count[k])
            continue;
        struct bar *b = add(f, part_name[k].class, at, at + f->part[k], f->half[k], false);
        if (f->count[k] > 1)
            snprintf(b->label, sizeof b->label, "%s × %d", part_name[k].label, f->count[k]);
        else
            snprintf(b->label, sizeof b->label, "%s", part_name[k].label);
        at += f->part[k];
        half += f->half[k];
        groups++;
    }
    if (!f->node && !f->wall && groups > 1) {
        struct bar *t = add(f, "tot", 0, at, half, true);
        snprintf(t->label, sizeof t->label, "device: all sensors");
    }
    if (f->node)
        reach(f, f->node, "fans, boards: not metered", "f7", &at, &half);
    if (f->wall)
        reach(f, f->wall, f->node ? "loss of the supplies" : "rest of the host, supplies", "f6", &at, &half);
    if (f->facility)
        reach(f, f->facility, "cooling, distribution (PUE)", "f5", &at, &half);
}

static void row(struct jm_pic *p, const struct fall *f, const struct bar *b, const struct jm_axis *x,
                double y, double whole)
{
    enum { THICK = 20 };
    char v[JM_FMT], pm[JM_FMT], tip[400];
    double lo = jm_axis_at(x, fmin(b->from, b->to)), hi = jm_axis_at(x, fmax(b->from, b->to)),
           e = b->to - b->from;
    struct jm_quantity q = {.have = true, .value = e, .unit = "J"};
    if (isfinite(b->half))
        q.u = (struct jm_uncertainty){.lo = e - b->half, .hi = e + b->half, .method = "x"};
    jm_fmt_value(v, e, "J");
    snprintf(tip, sizeof tip, "%s: %s %s", b->label, v, jm_fmt_pm(pm, &q));
    jm_pic_text(p, 222, y + 15, b->total ? "vl" : "lb", "end", 198, b->label);
    jm_pic_rect(p, b->class, lo, y, fmax(hi - lo, 1.5), THICK, tip);
    if (isfinite(b->half))
        jm_pic_whisker(p, y + THICK / 2.0, jm_axis_at(x, fmax(b->to - b->half, 0)),
                       jm_axis_at(x, b->to + b->half), false);
    jm_pic_text(p, 706, y + 15, b->total ? "vl" : "lb", "end", 0, v);
    snprintf(v, sizeof v, "%.1f %%", 100 * e / whole);
    jm_pic_text(p, 772, y + 15, "tk", "end", 0, v);
    if (f->tokens > 0)
        jm_pic_text(p, JM_PIC_W - JM_PIC_EDGE, y + 15, "tk", "end", 0, jm_fmt_number(v, e / f->tokens));
}

static void draw(struct jm_pic *p, const struct fall *f)
{
    struct jm_axis x = {.from = 236, .to = 620};
    char v[JM_FMT];
    double top = 0, whole = f->bar[f->n - 1].to;
    for (size_t i = 0; i < f->n; i++)
        top = fmax(top, fmax(f->bar[i].to + (isfinite(f->bar[i].half) ? f->bar[i].half : 0), f->bar[i].from));
    jm_axis_fit(&x, 0, top, true, 5, "J");
    double y0 = p->y + 22, y1 = y0 + 32 * (double)f->n + 4;
    jm_pic_text(p, 706, p->y + 8, "tk", "end", 0, "energy");
    jm_pic_text(p, 772, p->y + 8, "tk", "end", 0, "share");
    if (f->tokens > 0)
        jm_pic_text(p, JM_PIC_W - JM_PIC_EDGE, p->y + 8, "tk", "end", 0, "J/token");
    jm_pic_axis_x(p, &x, y0, y1, "energy of the window");
    for (size_t i = 0; i < f->n; i++) {
        const struct bar *b = &f->bar[i];
        double y = y0 + 8 + 32 * (double)i;
        if (i + 1 < f->n)
            jm_pic_line(p, "cn", jm_axis_at(&x, b->to), y + 20, jm_axis_at(&x, b->to), y + 32);
        row(p, f, b, &x, y, whole);
        jm_str_addf(&p->desc, "%s%s: ", i ? "; " : "", b->label);
        jm_str_adds(&p->desc, jm_fmt_value(v, b->to - b->from, "J"));
    }
    jm_str_adds(&p->desc, ".");
    p->y = y1 + 70;
}

void jm_picture_waterfall(const struct jm_picture_of *of, struct jm_pic *p)
{
    const struct jm_report *r = of->report[0];
    struct fall f = {.r = r, .window = -1, .tokens = NAN};
    size_t measured = 0;
    char d[JM_FMT];
    for (size_t i = 0; i < r->n_windows; i++)
        if (r->windows[i].role == JM_R_MEASURE && !measured++)
            f.window = (int)i;
    if (f.window < 0) {
        jm_pic_none(p, "the run has no measured window");
        return;
    }
    f.node = energy_at(r, f.window, JM_B_NODE);
    f.wall = energy_at(r, f.window, JM_B_WALL);
    f.facility = f.wall ? energy_at(r, f.window, JM_B_FACILITY) : NULL;
    parts(&f);
    bars(&f);
    if (f.n < 2) {
        jm_pic_none(
            p, f.n ? "only one boundary has an energy: a meter of the node or the wall, or --calibration, "
                     "would show what lies between"
                   : "no instrument has an energy in the first measured window");
        return;
    }
    const struct jm_result *widest = f.facility ? f.facility : f.wall ? f.wall : f.node;
    const struct jm_result *per =
        jm_report_find(r, "j_per.output_token", widest ? widest->q.boundary : JM_B_DEVICE, f.window);
    if (!per)
        per = jm_report_find(r, "j_per.output_token", JM_B_GPU, f.window);
    if (per && per->denominator > 0)
        f.tokens = per->denominator;
    jm_str_adds(&p->title,
                widest ? "Where the energy goes, from the boards to the " : "Where the energy goes");
    if (widest)
        jm_str_adds(&p->title, widest == f.facility ? "facility" : widest == f.wall ? "wall" : "node");
    jm_pic_fact(p, "boundary %s", widest ? widest->set ? widest->set : "?" : "device");
    if (f.tokens > 0)
        jm_pic_fact(p, "per output token (%s)", jm_fmt_amount(d, f.tokens));
    jm_pic_fact(p, "window %s, %s", r->windows[f.window].name,
                jm_fmt_duration(d, jm_fmt_seconds(r->windows[f.window].t1, r->windows[f.window].t0)));
    jm_pic_provenance(p, r, f.worst);
    jm_pic_begin(p);
    draw(p, &f);
    jm_pic_note(
        p,
        "Bars begin where the one above ends; dark bars are boundaries, from 0. Whiskers: 95 %% interval.");
    if (f.facility)
        jm_pic_note(p, "The PUE is declared, not measured here: the last step is as good as it is.");
    if (f.missing)
        jm_pic_note(p,
                    "%d metered part%s without a value in this window %s in the step to the next boundary.",
                    f.missing, f.missing == 1 ? "" : "s", f.missing == 1 ? "is" : "are");
    if (!f.node && !f.wall)
        jm_pic_note(p, "Fans, boards and supplies were not metered: the wall is more than this.");
    if (measured > 1)
        jm_pic_note(p, "The first of %zu measured windows.", measured);
}
