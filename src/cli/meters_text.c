/* SPDX-License-Identifier: Apache-2.0 */
/* The survey for people, 80 columns. Devices that are alike share their rows. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "cli/meters_show.h"

#include "base/banned.h"

#define WIDTH 80

struct page {
    const struct jm_survey *s;
    struct jm_str *out;
    const char *bold, *dim, *end;
    bool measured, never_added, unsure;
};

static void trim_line(struct jm_str *out, size_t start)
{
    while (out->len > start && out->buf[out->len - 1] == ' ')
        out->buf[--out->len] = '\0';
    jm_str_addc(out, '\n');
}

/* "52.1 MJ", "632 W", "94.0 W" */
static void si_text(double v, const char *unit, char out[24])
{
    static const char *const prefix[] = {"", "k", "M", "G", "T"};
    int i = 0;
    double a = fabs(v);
    while (a >= 9999.5 && i < 4) {
        a /= 1000;
        v /= 1000;
        i++;
    }
    snprintf(out, 24, a < 100 ? "%.1f %s%.3s" : "%.0f %s%.3s", v, prefix[i], unit);
}

static void span_text(double ns, char out[24])
{
    char num[32];
    double v = ns / (ns >= 1e9 ? 1e9 : ns >= 1e6 ? 1e6 : 1e3);
    jm_json_fmt_double(num, v < 20 ? round(v * 10) / 10 : round(v));
    snprintf(out, 24, "%.12s %s", num, ns >= 1e9 ? "s" : ns >= 1e6 ? "ms" : "us");
}

static void period_text(const struct jm_channel *c, char out[24])
{
    char text[24];
    span_text((double)c->period_ns, text);
    snprintf(out, 24, "%s%s", c->period_ns > 0 ? text : "unknown",
             c->period_measured ? " *"
             : c->period_ns > 0 ? "  "
                                : "");
}

static const struct jm_domain *domain(const struct page *p, const struct jm_channel *c)
{
    return c->domain >= 0 && c->domain < (int)p->s->tree.n ? &p->s->tree.d[c->domain] : NULL;
}

static bool energy(const struct jm_survey_channel *c)
{
    return c->boundary != JM_B_NONE;
}

static bool same_device(const struct jm_survey_meter *m, size_t a, size_t b)
{
    return strcmp(m->chan[a].c.device, m->chan[b].c.device) == 0;
}

/* Channels of a device lie together: the first after i that belongs to another. */
static size_t device_end(const struct jm_survey_meter *m, size_t i)
{
    size_t k = i;
    while (k < m->n_chan && same_device(m, i, k))
        k++;
    return k;
}

/* Do two devices show the same: quantities, meanings, boundaries? Measured periods may differ a little. */
static bool alike(const struct page *p, const struct jm_survey_meter *m, size_t a, size_t b)
{
    size_t n = device_end(m, a) - a;
    if (device_end(m, b) - b != n)
        return false;
    for (size_t i = 0; i < n; i++) {
        const struct jm_survey_channel *x = &m->chan[a + i], *y = &m->chan[b + i];
        char mx[64], my[64];
        struct jm_channel cx = x->c, cy = y->c;
        double ratio = y->c.period_ns > 0 ? (double)x->c.period_ns / (double)y->c.period_ns : 1;
        const struct jm_domain *dx = domain(p, &x->c), *dy = domain(p, &y->c);
        cx.period_ns = cy.period_ns = 0;
        if (strcmp(cx.name, cy.name) != 0 || strcmp(cx.scope, cy.scope) != 0 || x->boundary != y->boundary ||
            x->added != y->added || (x->now.status != y->now.status && energy(x)) || ratio < 0.9 ||
            ratio > 1.1 || strcmp(jm_channel_meaning(&cx, mx), jm_channel_meaning(&cy, my)) != 0 ||
            (dx && dy && dx->kind != dy->kind))
            return false;
    }
    return true;
}

/* What it shows now; of several devices the range of their powers. */
static void now_text(const struct page *p, const struct jm_survey_meter *m, size_t i, size_t devices,
                     char out[24])
{
    const struct jm_survey_channel *c = &m->chan[i];
    double lo = INFINITY, hi = -INFINITY;
    size_t n = 0;
    (void)p;
    out[0] = '\0';
    if (c->now.status != JM_S_OK) {
        snprintf(out, 24, "%.10s", jm_status_name(c->now.status));
        return;
    }
    if (devices == 1) {
        si_text(jm_channel_value(&c->c, c->now.value), jm_unit_name((int)c->c.unit), out);
        return;
    }
    for (size_t k = i; k < m->n_chan && n < devices; k++)
        if (strcmp(m->chan[k].c.name, c->c.name) == 0 && m->chan[k].now.status == JM_S_OK) {
            double v = jm_channel_value(&m->chan[k].c, m->chan[k].now.value);
            lo = fmin(lo, v);
            hi = fmax(hi, v);
            n++;
        }
    if (c->c.kind == JM_CH_GAUGE && n)
        snprintf(out, 24, hi - lo < 0.5 ? "%.0f W" : "%.0f-%.0f W", lo, hi);
}

/* What the devices i to end are called: their domain; of an instrument their part, where others are of that
 * domain too. */
static const char *name_of(const struct page *p, const struct jm_survey_meter *m, size_t i, size_t end,
                           const struct jm_domain *d)
{
    const char *device = m->chan[i].c.device;
    for (size_t k = 0; m->conf && d && k < m->n_chan; k++)
        if ((k < i || k >= end) && domain(p, &m->chan[k].c) && energy(&m->chan[k]) &&
            strcmp(domain(p, &m->chan[k].c)->label, d->label) == 0)
            return device;
    return d ? d->label : device;
}

static void row(struct page *p, const struct jm_survey_meter *m, size_t i, const char *name, size_t devices)
{
    const struct jm_survey_channel *c = &m->chan[i];
    char means[64], period[24], now[24], left[96];
    size_t start = p->out->len;
    const char *boundary = jm_boundary_name((int)c->boundary);
    bool scope = c->c.scope[0] && strcmp(c->c.scope, "gpu") != 0 && !strstr(name, c->c.scope);
    now_text(p, m, i, devices, now);
    period_text(&c->c, period);
    snprintf(left, sizeof left, "%.57s%s%.15s%s", name, scope ? " (" : "", scope ? c->c.scope : "",
             scope ? ")" : "");
    if (strlen(left) > 25) { /* a line of its own, rather than half of it */
        jm_str_addf(p->out, "    %s\n", left);
        start = p->out->len;
        left[0] = '\0';
    }
    jm_str_addf(p->out, "    %-25s ", left);
    jm_str_addf(p->out, "%-8.8s ", c->added ? boundary : "never");
    jm_str_addf(p->out, "%-20.20s ", jm_channel_meaning(&c->c, means));
    jm_str_addf(p->out, "%8s %11s", period, now);
    trim_line(p->out, start);
    p->measured = p->measured || c->c.period_measured;
    p->never_added = p->never_added || !c->added;
    p->unsure = p->unsure || isnan(c->c.gain_tol);
}

static void also(struct page *p, const struct jm_survey_meter *m, size_t from, size_t to)
{
    struct jm_str names;
    jm_str_init(&names);
    for (size_t i = from; i < to; i++)
        if (!energy(&m->chan[i]))
            jm_str_addf(&names, "%s%s", names.len ? ", " : "", m->chan[i].c.name);
    if (names.len) {
        jm_str_adds(p->out, "    also: ");
        jm_str_wrap(p->out, jm_str_span(&names), 10, WIDTH);
    }
    jm_str_release(&names);
}

static const char *fact_of(const struct jm_survey_meter *m, const char *key)
{
    for (size_t i = 0; i < m->n_fact; i++)
        if (strcmp(m->fact[i].key, key) == 0)
            return m->fact[i].value;
    return NULL;
}

/* Devices with several quantities: a heading "GPU 0 to 7", the rows once. */
static void block(struct page *p, const struct jm_survey_meter *m, size_t first, size_t count, size_t last)
{
    const struct jm_domain *a = NULL, *b = NULL;
    char key[32], title[256];
    size_t end = device_end(m, first), last_end = device_end(m, last);
    for (size_t i = first; i < end; i++) /* the narrowest domain names the device */
        if (domain(p, &m->chan[i].c) && domain(p, &m->chan[i].c)->kind != JM_D_HBM)
            a = domain(p, &m->chan[i].c);
    for (size_t i = last; i < last_end; i++)
        if (domain(p, &m->chan[i].c) && domain(p, &m->chan[i].c)->kind != JM_D_HBM)
            b = domain(p, &m->chan[i].c);
    const char *name = NULL;
    if (a && jm_span_starts(jm_span_of(a->label), JM_SPAN("GPU "))) {
        snprintf(key, sizeof key, "gpu.%.20s.name", a->label + 4);
        name = fact_of(m, key);
    }
    const char *from = name_of(p, m, first, last_end, a), *to = name_of(p, m, last, last_end, b);
    if (count > 1 && a && b)
        snprintf(title, sizeof title, "%s to %s: %zu alike%s%s", from, to, count, name ? ", " : "",
                 name ? name : "");
    else
        snprintf(title, sizeof title, "%s%s%s", from, name ? ": " : "", name ? name : "");
    jm_str_addf(p->out, "  %.78s\n", title);
    for (size_t i = first; i < end; i++)
        if (energy(&m->chan[i]))
            row(p, m, i, m->chan[i].c.name, count);
    also(p, m, first, end);
}

/* A channel that is not added, because another one of the meter shows the same domain. */
static bool repeated(const struct jm_survey_meter *m, size_t i)
{
    for (size_t k = 0; k < m->n_chan && !m->chan[i].added; k++)
        if (k != i && m->chan[k].added && m->chan[k].c.domain == m->chan[i].c.domain)
            return true;
    return false;
}

/* "nvml", or what an entry of the configuration calls itself. */
static const char *title_of(const struct jm_survey_meter *m)
{
    return m->conf ? m->conf->name : m->ops->name;
}

static void channels(struct page *p, const struct jm_survey_meter *m)
{
    jm_str_addf(p->out,
                "%s    quantity                  boundary one value is         refresh         now%s\n",
                p->dim, p->end);
    for (size_t i = 0, next; i < m->n_chan; i = next) {
        size_t count = 1, last = i, end = device_end(m, i);
        next = end;
        if (end - i == 1) { /* one quantity: its domain names it */
            const char *of = name_of(p, m, i, end, domain(p, &m->chan[i].c));
            char name[160];
            size_t n = m->conf ? strlen(title_of(m)) : 0;
            bool own = n && strcmp(of, title_of(m)) == 0 && m->n_chan > 1,
                 part = n && strncmp(of, title_of(m), n) == 0 && of[n] == '/';
            snprintf(name, sizeof name, "%s%s%s%s", part ? of + n + 1 : of, own ? " " : "",
                     own ? m->chan[i].c.name : "", !part && repeated(m, i) ? " (mirror)" : "");
            if (energy(&m->chan[i]))
                row(p, m, i, name, 1);
            continue;
        }
        while (next < m->n_chan && alike(p, m, i, next)) {
            count++;
            last = next;
            next = device_end(m, next);
        }
        block(p, m, i, count, last);
    }
}

static void heading(struct page *p, const struct jm_survey_meter *m)
{
    struct jm_str text;
    size_t n = strlen(title_of(m));
    jm_str_init(&text);
    jm_str_addf(&text, "%s  ", title_of(m));
    jm_str_wrap(&text, jm_span_of(m->ops->summary), n + 2, WIDTH);
    jm_str_addf(p->out, "\n%s%s%s", p->bold, title_of(m), p->end);
    jm_str_adds(p->out, text.len > n ? text.buf + n : "\n"); /* escape codes take no room: wrapped apart */
    jm_str_adds(p->out, "  ");
    jm_str_reset(&text); /* as one text: what does not begin at the margin would begin a line */
    jm_str_addf(&text, "%s%s", m->simulated && !strstr(m->probe.reason, "SIMULATED") ? "SIMULATED: " : "",
                m->probe.reason);
    jm_str_wrap(p->out, jm_str_span(&text), 2, WIDTH);
    jm_str_release(&text);
}

static void readable(struct page *p, const struct jm_survey_meter *m)
{
    char every[24], took[24];
    heading(p, m);
    if (m->probe.mend[0])
        jm_str_addf(p->out, "  for the others: %s\n", m->probe.mend);
    channels(p, m);
    span_text((double)m->period_ns, every);
    span_text((double)m->read_ns, took);
    jm_str_addf(p->out, "    sampled every %s; one read of all took %s", every, took);
    if (m->max_period_ns)
        jm_str_addf(p->out, "; at least every %.0f s", (double)m->max_period_ns / 1e9);
    jm_str_addc(p->out, '\n');
    jm_str_adds(p->out, "    needs: ");
    jm_str_wrap(p->out, jm_span_of(m->ops->needs), 11, WIDTH);
    for (size_t i = 0; i < m->n_fact; i++)
        if (strstr(m->fact[i].key, "left_out")) {
            jm_str_adds(p->out, "    left out: ");
            jm_str_wrap(p->out, jm_span_of(m->fact[i].value), 14, WIDTH);
        }
}

static void unreadable(struct page *p, const struct jm_survey_meter *m)
{
    jm_str_addf(p->out, "  %s%-9s%s", p->bold, title_of(m), p->end);
    if (strlen(title_of(m)) > 9)
        jm_str_addf(p->out, "\n%12s", "");
    else
        jm_str_addc(p->out, ' ');
    jm_str_addf(p->out, "%-11s ", jm_probe_state_name((int)m->probe.state));
    /* the line holds escape codes that take no room: the reason is wrapped apart */
    struct jm_str text, reason;
    jm_str_init(&text);
    jm_str_init(&reason);
    for (int i = 0; i < 24; i++)
        jm_str_addc(&text, ' ');
    jm_str_adds(&reason, m->probe.reason);
    jm_str_wrap(&text, jm_str_span(&reason), 24, WIDTH);
    jm_str_release(&reason);
    jm_str_adds(p->out, text.len > 24 ? text.buf + 24 : "\n");
    jm_str_release(&text);
    if (m->probe.mend[0])
        jm_str_addf(p->out, "            mend: %s\n", m->probe.mend);
}

static void said(struct page *p, const char *word, const char *text)
{
    jm_str_addf(p->out, "    %s%-8s%s  ", p->dim, word, p->end);
    struct jm_str wrapped; /* escape codes take no room */
    jm_str_init(&wrapped);
    jm_str_pad(&wrapped, 14, ' ');
    jm_str_wrap(&wrapped, jm_span_of(text), 14, WIDTH);
    jm_str_adds(p->out, wrapped.len > 14 ? wrapped.buf + 14 : "\n");
    jm_str_release(&wrapped);
}

/* "the AC input of node1" */
static void place_text(const struct jm_instrument *in, const char *host, char out[160])
{
    static const struct {
        enum jm_domain_kind at;
        const char *text;
    } words[] = {{JM_D_INLET_AC, "the AC input of "},
                 {JM_D_INLET_DC, "the DC input of "},
                 {JM_D_PSU, "the input of one supply of "},
                 {JM_D_NODE, "the output of the supplies of "}};
    const char *of = in->host ? in->host : host;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (in->at == (int)words[i].at) {
            snprintf(out, 160, "%s%.60s", words[i].text, of);
            return;
        }
    if (in->at < 0)
        snprintf(out, 160, "what it measures by nature (%s), of %.60s", in->ops->boundary, of);
    else
        snprintf(out, 160, "%s%s%.40s of %.60s", jm_domain_kind_name(in->at), in->device ? " " : "",
                 in->device ? in->device : "", of);
}

/* Entries of the configuration that do not answer: what each is, what it would measure, why not, what to do.
 */
static void silent(struct page *p, const char *host)
{
    size_t n = 0, ok = 0;
    const struct jm_instrument *in = NULL;
    for (size_t i = 0; i < p->s->n; i++)
        if (p->s->m[i].conf) {
            in = p->s->m[i].conf;
            n++;
            ok += p->s->m[i].probe.state == JM_PROBE_OK;
        }
    if (!in || ok == n)
        return;
    jm_str_addf(p->out, "\n%sInstruments of %.50s:%s ", p->bold, in->list->file, p->end);
    if (ok)
        jm_str_addf(p->out, "%zu of %zu answer\n", ok, n);
    else
        jm_str_addf(p->out, "none of %zu answers\n", n);
    for (size_t i = 0; i < p->s->n; i++) {
        const struct jm_survey_meter *m = &p->s->m[i];
        char text[512];
        if (!m->conf || m->probe.state == JM_PROBE_OK)
            continue;
        jm_str_addf(p->out, "  %s%s%s  %s\n", p->bold, title_of(m), p->end,
                    jm_probe_state_name((int)m->probe.state));
        snprintf(text, sizeof text, "%s%s%s (line %zu)", m->ops->name, m->address[0] ? " at " : "",
                 m->address, m->conf->line);
        said(p, "is", text);
        place_text(m->conf, host, text);
        said(p, "measures", text);
        said(p, "but", m->probe.reason);
        said(p, "to do", m->probe.mend);
    }
}

/* Kind, meters and children of a domain as one text: what is equal is shown once. */
static void signature(const struct page *p, int id, struct jm_str *out)
{
    const struct jm_domain_tree *t = &p->s->tree;
    jm_str_addf(out, "(%d", (int)t->d[id].kind);
    for (size_t i = 0; i < p->s->n; i++)
        for (size_t k = 0; k < p->s->m[i].n_chan; k++)
            if (p->s->m[i].chan[k].c.domain == id && energy(&p->s->m[i].chan[k])) {
                jm_str_addf(out, " %zu", i);
                break;
            }
    for (size_t c = (size_t)id + 1; c < t->n; c++)
        if (t->d[c].parent == id)
            signature(p, (int)c, out);
    jm_str_addc(out, ')');
}

static void tree(struct page *p, int id, int count, int last, int depth, bool each)
{
    const struct jm_domain_tree *t = &p->s->tree;
    const struct jm_domain *d = &t->d[id];
    size_t start = p->out->len;
    jm_str_addf(p->out, "  %*s%s", 2 * depth, "", jm_domain_kind_name((int)d->kind));
    if (count > 1)
        jm_str_addf(p->out, " x %d: %.24s to %.24s", count, d->label, t->d[last].label);
    else if (each)
        jm_str_adds(p->out, " of each");
    else
        jm_str_addf(p->out, ": %.40s", d->label);
    bool any = false;
    for (size_t i = 0; i < p->s->n; i++)
        for (size_t k = 0; k < p->s->m[i].n_chan; k++)
            if (p->s->m[i].chan[k].c.domain == id && energy(&p->s->m[i].chan[k])) {
                if (!any)
                    jm_str_pad(p->out, start + 56, ' ');
                jm_str_addf(p->out, "%s%s", any ? ", " : " ", title_of(&p->s->m[i]));
                any = true;
                break;
            }
    if (!any) {
        jm_str_pad(p->out, start + 56, ' ');
        jm_str_adds(p->out, " no meter");
    }
    jm_str_addc(p->out, '\n');
    for (size_t c = (size_t)id + 1; c < t->n;) {
        struct jm_str a, b;
        if (t->d[c].parent != id) {
            c++;
            continue;
        }
        size_t next = c + 1, end = c;
        int same = 1;
        jm_str_init(&a);
        jm_str_init(&b);
        signature(p, (int)c, &a);
        for (; next < t->n; next++) {
            if (t->d[next].parent != id)
                continue;
            jm_str_reset(&b);
            signature(p, (int)next, &b);
            if (strcmp(a.buf, b.buf) != 0)
                break;
            same++;
            end = next;
        }
        jm_str_release(&a);
        jm_str_release(&b);
        tree(p, (int)c, same, (int)end, depth + 1, each || count > 1);
        c = next;
    }
}

static bool off(const struct jm_survey_meter *m)
{
    return m->probe.state == JM_PROBE_OFF;
}

void jm_meters_text(const struct jm_survey *s, const char *host, bool color, struct jm_str *out)
{
    struct page p = {.s = s,
                     .out = out,
                     .bold = color ? "\033[1m" : "",
                     .dim = color ? "\033[2m" : "",
                     .end = color ? "\033[0m" : ""};
    size_t bad = 0, offs = 0;
    for (size_t i = 0; i < s->n; i++) {
        bad += s->m[i].probe.state != JM_PROBE_OK && !off(&s->m[i]) && !s->m[i].conf;
        offs += off(&s->m[i]);
    }
    jm_str_addf(out, "%sMeters of %s:%s ", p.bold, host, p.end);
    if (s->n_ok)
        jm_str_addf(out, "%zu can be read\n", s->n_ok);
    else
        jm_str_adds(out, "none can be read\n");
    silent(&p, host);
    for (size_t i = 0; i < s->n; i++)
        if (s->m[i].probe.state == JM_PROBE_OK)
            readable(&p, &s->m[i]);
    if (p.measured || p.never_added || p.unsure)
        jm_str_addc(out, '\n');
    if (p.measured)
        jm_str_adds(out, "  *  found by measurement; the others as documented\n");
    if (p.never_added)
        jm_str_adds(out, "  never: shown, but never added to a boundary; its joules are in another row, or\n"
                         "     nobody says what is inside\n");
    if (p.unsure)
        jm_str_adds(out, "  accuracy: no bound is published for these channels (gains of 0.87 to 1.15 were\n"
                         "     found on single GPU boards); joulemark calibrate makes one\n");
    if (s->n_ok) {
        jm_str_addf(out, "\n%sWhat contains what%s\n", p.bold, p.end);
        for (size_t i = 0; i < s->tree.n; i++)
            if (s->tree.d[i].parent < 0)
                tree(&p, (int)i, 1, (int)i, 0, false);
    }
    if (bad)
        jm_str_addf(out, "\n%sCannot be read%s\n", p.bold, p.end);
    for (size_t i = 0; i < s->n; i++)
        if (s->m[i].probe.state != JM_PROBE_OK && !off(&s->m[i]) && !s->m[i].conf)
            unreadable(&p, &s->m[i]);
    if (offs)
        jm_str_addf(out, "\n%sOnly on request%s\n", p.bold, p.end);
    for (size_t i = 0; i < s->n; i++)
        if (off(&s->m[i]))
            unreadable(&p, &s->m[i]);
    if (!s->n_ok)
        jm_str_adds(out, "\nRuns can still be recorded here, without energy. joulemark demo measures\n"
                         "simulated GPUs and shows what a report looks like.\n");
}
