/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "cli/cmds.h"
#include "cli/meterenv.h"
#include "meter/meter.h"

#include "base/banned.h"

struct opts {
    struct jm_common common;
    int64_t measure;
    bool no_measure, all;
};

static void init(void *opts)
{
    ((struct opts *)opts)->measure = 2 * JM_NS_PER_S;
}

struct row {
    const struct jm_meter_ops *ops;
    struct jm_probe probe;
    struct jm_domain_tree tree;
    struct jm_meter *m; /* NULL: cannot be read */
    uint8_t *status;    /* of each channel at the first read */
    size_t n_moved;
};

static bool wanted(const char *list, const char *name)
{
    struct jm_span rest = jm_span_of(list), one;
    if (!list)
        return true;
    while (jm_span_field(&rest, ',', &one))
        if (jm_span_is(jm_span_trim(one), name))
            return true;
    return false;
}

static int check_list(const char *list, struct jm_err *err)
{
    struct jm_span rest = jm_span_of(list), one;
    while (list && jm_span_field(&rest, ',', &one)) {
        char name[32] = "";
        one = jm_span_trim(one);
        if (one.n < sizeof name)
            memcpy(name, one.p, one.n);
        if (!name[0] || !jm_meter_find(name))
            return jm_err_set(err, JM_EUSAGE,
                              "--meters: \"%.*s\" is not a meter; joulemark meters lists them",
                              (int)(one.n > 40 ? 40 : one.n), one.p);
    }
    return 0;
}

/* A slow channel may have no reading in a batch: it counts as absent then. */
static bool first_status(struct row *r, const struct jm_clock *clock)
{
    size_t n = r->m->n_chan;
    struct jm_reading *read = calloc(n, sizeof *read);
    r->status = malloc(n);
    if (read && r->status) {
        memset(r->status, JM_S_ABSENT, n);
        size_t got = r->ops->read(r->m, clock, JM_READ_ALL, read);
        for (size_t i = 0; i < got; i++)
            r->status[read[i].channel] = read[i].status;
    }
    free(read);
    return r->status;
}

static void look(struct row *r, const struct jm_meter_env *env, const struct opts *o, struct jm_cli *cli)
{
    struct jm_clock clock = jm_clock_system();
    struct jm_err why = {0};
    jm_domain_tree_init(&r->tree);
    if (r->ops->probe(env, &r->probe) < 0 && r->probe.state == JM_PROBE_OK)
        r->probe.state = JM_PROBE_ABSENT;
    if (r->probe.state != JM_PROBE_OK)
        return;
    if (r->ops->open(env, &r->tree, &r->m, &why)) {
        r->m = NULL;
        r->probe.state = why.code == JM_EDENIED ? JM_PROBE_DENIED : JM_PROBE_ABSENT;
        snprintf(r->probe.reason, sizeof r->probe.reason, "%.255s", why.text);
        return;
    }
    if (r->m->n_chan && !first_status(r, &clock))
        jm_cli_say(cli, "out of memory while reading %s", r->ops->name);
    if (o->no_measure || !r->m->n_chan)
        return;
    jm_term_progress(&cli->term, NAN, "watching how often %s refreshes", r->ops->name);
    if (jm_meter_measure_periods(r->m, &clock, o->measure, &r->n_moved, &why))
        jm_cli_say(cli, "%s: refresh periods were not measured: %s", r->ops->name, why.text);
}

static const char *status_of(const struct row *r, size_t channel)
{
    return jm_status_name(r->status ? r->status[channel] : JM_S_OK);
}

/* "gpu > tray > node": what contains it, from the inside out. */
static void domain_path(const struct jm_domain_tree *t, int id, struct jm_str *out)
{
    for (bool first = true; id >= 0 && (size_t)id < t->n; id = t->d[id].parent, first = false)
        jm_str_addf(out, "%s%s", first ? "" : " < ", jm_domain_kind_name(t->d[id].kind));
}

static void json_channel(struct jm_jsonw *w, const struct row *r, size_t i)
{
    const struct jm_channel *c = &r->m->chan[i];
    jm_jsonw_object(w);
    jm_jsonw_kstr(w, "name", c->name);
    jm_jsonw_kstr(w, "device", c->device);
    jm_jsonw_kstr(w, "kind", jm_channel_kind_name(c->kind));
    jm_jsonw_kstr(w, "unit", jm_unit_name(c->unit));
    jm_jsonw_kstr(w, "status", status_of(r, i));
    jm_jsonw_knum(w, "period_s", c->period_ns > 0 ? (double)c->period_ns / 1e9 : NAN);
    jm_jsonw_kbool(w, "period_measured", c->period_measured);
    if (c->kind == JM_CH_GAUGE) {
        jm_jsonw_kstr(w, "value_means", jm_gauge_sem_name(c->sem));
        jm_jsonw_knum(w, "averaging_s", c->window_ns > 0 ? (double)c->window_ns / 1e9 : NAN);
    }
    if (c->kind == JM_CH_COUNTER)
        jm_jsonw_knum(w, "wraps_at", c->modulus ? jm_channel_value(c, (int64_t)(c->modulus - 1)) : NAN);
    jm_jsonw_knum(w, "resolution", jm_channel_value(c, 1));
    jm_jsonw_knum(w, "accuracy_relative", c->gain_tol);
    jm_jsonw_knum(w, "accuracy_offset", c->offset_tol);
    jm_jsonw_kstr(w, "provenance", jm_provenance_name(c->provenance));
    if (c->scope[0])
        jm_jsonw_kstr(w, "scope", c->scope);
    jm_jsonw_kstr(w, "source", c->source);
    jm_jsonw_kbool(w, "counted_elsewhere", (c->flags & JM_CHF_MIRROR) != 0);
    if (c->domain >= 0 && (size_t)c->domain < r->tree.n) {
        const struct jm_domain *d = &r->tree.d[c->domain];
        struct jm_str path;
        jm_str_init(&path);
        domain_path(&r->tree, c->domain, &path);
        jm_jsonw_key(w, "domain");
        jm_jsonw_object(w);
        jm_jsonw_kstr(w, "kind", jm_domain_kind_name(d->kind));
        jm_jsonw_kstr(w, "key", d->key);
        jm_jsonw_kstr(w, "label", d->label);
        jm_jsonw_kstr(w, "inside", path.buf);
        jm_jsonw_end(w);
        jm_str_release(&path);
    }
    jm_jsonw_end(w);
}

static void as_json(const struct row *rows, size_t n, struct jm_str *out)
{
    struct jm_jsonw w;
    jm_jsonw_init(&w, out, 2);
    jm_jsonw_object(&w);
    jm_jsonw_kstr(&w, "schema", "joulemark.meters/1");
    jm_jsonw_kstr(&w, "joulemark", JM_VERSION);
    jm_jsonw_key(&w, "meters");
    jm_jsonw_array(&w);
    for (size_t i = 0; i < n; i++) {
        const struct row *r = &rows[i];
        jm_jsonw_object(&w);
        jm_jsonw_kstr(&w, "name", r->ops->name);
        jm_jsonw_kstr(&w, "summary", r->ops->summary);
        jm_jsonw_kstr(&w, "boundary", r->ops->boundary);
        jm_jsonw_kstr(&w, "state", jm_probe_state_name(r->probe.state));
        jm_jsonw_kstr(&w, "reason", r->probe.reason);
        jm_jsonw_kstr(&w, "mend", r->probe.mend[0] ? r->probe.mend : NULL);
        if (r->m) {
            jm_jsonw_kstr(&w, "instance", r->m->instance);
            jm_jsonw_kbool(&w, "simulated", r->m->simulated);
            jm_jsonw_knum(&w, "sample_period_s", r->m->period_ns > 0 ? (double)r->m->period_ns / 1e9 : NAN);
            jm_jsonw_key(&w, "facts");
            jm_jsonw_object(&w);
            for (size_t k = 0; k < r->m->n_fact; k++)
                jm_jsonw_kstr(&w, r->m->fact[k].key, r->m->fact[k].value);
            jm_jsonw_end(&w);
        }
        jm_jsonw_key(&w, "channels");
        jm_jsonw_array(&w);
        for (size_t k = 0; r->m && k < r->m->n_chan; k++)
            json_channel(&w, r, k);
        jm_jsonw_end(&w);
        jm_jsonw_end(&w);
    }
    jm_jsonw_end(&w);
    jm_jsonw_end(&w);
}

static void period_text(int64_t ns, char out[24])
{
    char num[32];
    bool s = ns >= JM_NS_PER_S, ms = !s && ns >= JM_NS_PER_MS;
    double v = (double)ns / (s ? 1e9 : ms ? 1e6 : 1e3);
    jm_json_fmt_double(num, v < 100 ? round(v * 10) / 10 : round(v));
    snprintf(out, 24, "%.12s %s", num, s ? "s" : ms ? "ms" : "us");
}

/* Channels that differ by their device alone share a line. */
static bool same(const struct row *r, size_t a, size_t b)
{
    const struct jm_channel *x = &r->m->chan[a], *y = &r->m->chan[b];
    return strcmp(x->name, y->name) == 0 && x->kind == y->kind && x->sem == y->sem &&
           strcmp(x->scope, y->scope) == 0 && ((x->flags ^ y->flags) & JM_CHF_MIRROR) == 0 &&
           strcmp(status_of(r, a), status_of(r, b)) == 0 && (x->domain < 0) == (y->domain < 0) &&
           (x->domain < 0 || r->tree.d[x->domain].kind == r->tree.d[y->domain].kind);
}

static void channel_line(const struct row *r, size_t i, struct jm_str *out)
{
    const struct jm_channel *c = &r->m->chan[i];
    size_t count = 0, start = out->len;
    for (size_t k = 0; k < r->m->n_chan; k++) {
        if (k < i && same(r, i, k))
            return; /* shown with that one */
        count += same(r, i, k);
    }
    char text[24] = "?";
    const char *unit = jm_unit_name(c->unit);
    if (c->period_ns > 0)
        period_text(c->period_ns, text);
    const char *domain = c->domain >= 0 ? jm_domain_kind_name(r->tree.d[c->domain].kind) : "";
    jm_str_addf(out, "  %-21.21s", c->name);
    jm_str_addf(out, " %4zu", count);
    jm_str_addf(out, " %-8.8s", domain);
    jm_str_addf(out, " %-7.7s", jm_channel_kind_name(c->kind));
    jm_str_addf(out, " %-5.5s", unit ? unit : "");
    jm_str_addf(out, " %7s%c", text, c->period_measured ? '*' : ' ');
    if (c->kind == JM_CH_GAUGE && c->unit == JM_U_W) {
        char win[24] = "";
        if (c->window_ns > 0)
            period_text(c->window_ns, win);
        jm_str_addf(out, " %s%s%s", jm_gauge_sem_name(c->sem), win[0] ? " " : "", win);
    }
    const char *status = status_of(r, i);
    if (strcmp(status, "ok") != 0)
        jm_str_addf(out, " %s", status);
    if (c->flags & JM_CHF_MIRROR)
        jm_str_adds(out, " (mirror)");
    while (out->len > start && out->buf[out->len - 1] == ' ')
        out->buf[--out->len] = '\0';
    jm_str_addc(out, '\n');
}

static void head(const struct jm_meter_ops *ops, bool color, struct jm_str *out)
{
    struct jm_str line, text;
    size_t n = strlen(ops->name);
    jm_str_init(&line);
    jm_str_init(&text);
    jm_str_adds(&text, ops->summary);
    if (ops->boundary && ops->boundary[0])
        jm_str_addf(&text, " (boundary at best: %s)", ops->boundary);
    jm_str_adds(&line, ops->name);
    jm_str_pad(&line, 10, ' ');
    jm_str_wrap(&line, jm_str_span(&text), 12, 80);
    if (color && !line.failed)
        jm_str_addf(out, "\033[1m%s\033[0m%s", ops->name, line.buf + n);
    else
        jm_str_addspan(out, jm_str_span(&line));
    out->failed |= line.failed || text.failed;
    jm_str_release(&line);
    jm_str_release(&text);
}

static void as_text(const struct row *rows, size_t n, const struct jm_term *term, struct jm_str *out)
{
    bool measured = false, any = false;
    for (size_t i = 0; i < n; i++) {
        const struct row *r = &rows[i];
        if (i)
            jm_str_addc(out, '\n');
        head(r->ops, term->out_color, out);
        const char *state = r->m && r->m->simulated ? "SIMULATED" : jm_probe_state_name(r->probe.state);
        jm_str_addf(out, "  %-9s ", state);
        const char *reason = r->m ? r->m->instance : r->probe.reason;
        jm_str_wrap(out, jm_span_of(reason[0] ? reason : r->probe.reason), 12, 80);
        if (!r->m && r->probe.mend[0])
            jm_str_addf(out, "  mend: %s\n", r->probe.mend);
        if (!r->m)
            continue;
        any = true;
        jm_str_adds(out, "  channel                   n domain   kind    unit   refresh  value means\n");
        for (size_t k = 0; k < r->m->n_chan; k++) {
            channel_line(r, k, out);
            measured |= r->m->chan[k].period_measured;
        }
    }
    if (measured)
        jm_str_adds(out, "\n* refresh period found by measurement\n");
    if (!any)
        jm_str_adds(out, "\nNo meter can be read here; joulemark demo shows a run on simulated parts.\n");
}

static int meters(struct jm_cli *cli, void *opts, struct jm_err *err)
{
    const struct opts *o = opts;
    struct jm_meter_env env;
    struct row *rows;
    size_t n = 0, most = 0;
    int rc = check_list(o->common.meters, err);
    if (rc)
        return rc;
    jm_cli_meter_env(cli, &env);
    while (jm_meter_registry[most])
        most++;
    rows = calloc(most + 1, sizeof *rows);
    if (!rows)
        return jm_err_set(err, JM_ENOMEM, "out of memory");
    for (size_t i = 0; i < most; i++) {
        if (!wanted(o->common.meters, jm_meter_registry[i]->name))
            continue;
        rows[n].ops = jm_meter_registry[i];
        look(&rows[n++], &env, o, cli);
    }
    struct jm_str out;
    jm_str_init(&out);
    if (cli->common->json)
        as_json(rows, n, &out);
    else
        as_text(rows, n, &cli->term, &out);
    rc = jm_str_ok(&out, "the list of meters", err);
    if (!rc)
        jm_cli_out(cli, jm_str_span(&out));
    jm_str_release(&out);
    for (size_t i = 0; i < n; i++) {
        if (rows[i].m)
            rows[i].ops->close(rows[i].m);
        jm_domain_tree_release(&rows[i].tree);
        free(rows[i].status);
    }
    free(rows);
    return rc;
}

static const struct jm_opt table[] = {
    {"measure", 0, JM_OPT_DURATION, offsetof(struct opts, measure), 1e7, 60e9,
     .help = "Watch each meter for so long to find its refresh periods.", .deflt = "2s"},
    {"no-measure", 0, JM_OPT_FLAG, offsetof(struct opts, no_measure),
     .help = "Show the documented periods only."},
    JM_OPT_JSON,
    JM_OPTS_METER,
    JM_OPTS_COMMON,
    {NULL}};

const struct jm_cmd jm_cmd_meters = {
    .name = "meters",
    .group = "Measure",
    .summary = "Show what can be read here, and how to mend what cannot",
    .usage = "[OPTIONS]",
    .description =
        "For each meter: its channels, what is physically inside them, how often they really refresh, what "
        "one value "
        "means, and with --json its accuracy, wrap and source. For one that cannot be read: why, and the one "
        "command that mends it. Ends with 0 even when nothing can be read.",
    .examples = "joulemark meters\n"
                "joulemark meters --meters nvml --json",
    .opts = table,
    .opts_size = sizeof(struct opts),
    .init = init,
    .fn = meters,
};
