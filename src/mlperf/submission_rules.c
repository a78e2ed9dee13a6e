/* SPDX-License-Identifier: Apache-2.0 */
/* The rules over one result in its submission. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/str.h"
#include "import/mlperf_round.h"
#include "mlperf/submission_docs.h"
#include "mlperf/submission_say.h"

#include "base/banned.h"

#define SAY(k, id, v, ev, ...)                                                                               \
    do {                                                                                                     \
        if (!(k)->rc)                                                                                        \
            (k)->rc = jm_mlperf_outcome_add((k)->c, id, v, ev, (k)->err, __VA_ARGS__);                       \
    } while (0)

#define SHOWN 8

bool jm_submission_since(const char *round, const char *from)
{
    struct jm_mlperf_rule r = {.rounds = NULL};
    char rounds[16];
    snprintf(rounds, sizeof rounds, "%s-", from);
    r.rounds = rounds;
    return jm_mlperf_rule_applies(&r, round);
}

static void names(struct jm_str *out, const char *const *v, size_t n)
{
    for (size_t i = 0; i < n && i < SHOWN; i++)
        jm_str_addf(out, "%s%s", i ? ", " : "", v[i]);
    if (n > SHOWN)
        jm_str_addf(out, " and %zu more", n - SHOWN);
}

static bool word(const char *a, const char *b)
{
    return a && b && strcasecmp(a, b) == 0;
}

/* ---- files
 * -----------------------------------------------------------------------------------------------------------
 */

static void place(struct jm_submission_work *k)
{
    const struct jm_mlperf_submission *m = k->m;
    if (m->tree && !word(m->division, "closed") && !word(m->division, "open") &&
        !word(m->division, "network"))
        SAY(k, "submission.place", JM_MLPERF_WARN, m->scenario_dir, "The division's folder is called %s.",
            m->division);
    else if (m->tree)
        SAY(k, "submission.place", JM_MLPERF_PASS, NULL, "%s/%s/results/%s/%s/%s.", m->division, m->submitter,
            m->system, m->benchmark, m->scenario);
    else if (m->flat)
        SAY(k, "submission.place", JM_MLPERF_NOTE, NULL,
            "The session stands alone with its description and measurements: what its submission holds "
            "beside them is not "
            "known.");
    else
        SAY(k, "submission.place", JM_MLPERF_NOTE, NULL,
            "The session stands alone: there is no submission around it to be looked at.");
}

static void files(struct jm_submission_work *k)
{
    const struct jm_mlperf_submission *m = k->m;
    struct jm_str ev;
    jm_str_init(&ev);
    if (m->n_missing) {
        jm_str_adds(&ev, "missing: ");
        names(&ev, m->missing, m->n_missing);
    }
    if (m->n_stray) {
        jm_str_adds(&ev, ev.len ? "; not to be there: " : "not to be there: ");
        names(&ev, m->stray, m->n_stray);
    }
    if (m->n_empty) {
        jm_str_adds(&ev, ev.len ? "; empty: " : "empty: ");
        names(&ev, m->empty, m->n_empty);
    }
    /* a session as the workflow leaves it holds run_1/ptd_out.txt: that goes when it becomes a submission */
    bool before = !m->tree && !m->n_missing && !m->n_empty;
    if (ev.len)
        SAY(k, "submission.files", before ? JM_MLPERF_NOTE : JM_MLPERF_FAIL, ev.buf,
            "The files are not exactly those of the round: %zu missing, %zu not to be there, %zu empty.",
            m->n_missing, m->n_stray, m->n_empty);
    else
        SAY(k, "submission.files", JM_MLPERF_PASS, NULL, "Exactly the files of the round, none empty.");
    jm_str_release(&ev);
    if (m->runs > 1)
        SAY(k, "submission.runs", JM_MLPERF_FAIL, NULL,
            "performance/ holds %d runs; power and performance have to be of one and the same.", m->runs);
    else
        SAY(k, "submission.runs", JM_MLPERF_PASS, NULL, "performance/ holds the one run that was measured.");
    if (m->power_elsewhere)
        SAY(k, "submission.performance_only", JM_MLPERF_FAIL, m->power_elsewhere,
            "A power log stands beside a run that is measured without power.");
    else if (m->tree)
        SAY(k, "submission.performance_only", JM_MLPERF_PASS, NULL,
            "No power log stands beside accuracy and compliance runs.");
}

static void inferred(struct jm_submission_work *k)
{
    const struct jm_mlperf_session *s = k->s, *base = k->base;
    struct jm_mlperf_session *own = NULL;
    const struct jm_mlperf_fact *f = jm_mlperf_fact(&s->loadgen[JM_MLPERF_TESTING], "effective_scenario");
    const char *ran = f ? f->text : NULL, *claimed = s->claimed_scenario;
    char path[4096], ev[400];
    if (!ran || !claimed || word(ran, claimed) || (word(ran, "Server") && word(claimed, "Interactive"))) {
        SAY(k, "submission.inferred", JM_MLPERF_ABSENT, NULL, "The result is not inferred.");
        return;
    }
    if (s->round.legacy_multistream || !jm_mlperf_may_infer(ran, claimed)) {
        SAY(k, "submission.inferred", JM_MLPERF_FAIL, NULL,
            "A result of %s may not be inferred from a run of %s%s.", claimed, ran,
            s->round.legacy_multistream ? " in this round" : "");
        return;
    }
    if (!base && jm_mlperf_submission_base(k->m, s, path) &&
        jm_mlperf_session_read(path, JM_MLPERF_NO_PTD_LOG, &own, NULL) == 0)
        base = own;
    if (!base) {
        SAY(k, "submission.inferred", JM_MLPERF_NOTE, NULL,
            "%s is inferred from a run of %s; the result of %s is not here to be compared with.", claimed,
            ran, ran);
        return;
    }
    const char *a = s->server.session_name, *b = base->server.session_name;
    const char *x = s->file[JM_MLPERF_RUN_SPL].sha1, *y = base->file[JM_MLPERF_RUN_SPL].sha1;
    bool same_name = a && b && strcmp(a, b) == 0, same_log = x[0] && y[0] && strcmp(x, y) == 0;
    snprintf(ev, sizeof ev, "session %.100s, base %.100s; SHA-1 of spl.txt %.40s, base %.40s", a ? a : "-",
             b ? b : "-", x, y);
    if (same_name && (same_log || !x[0] || !y[0]))
        SAY(k, "submission.inferred", JM_MLPERF_PASS, ev, "%s uses the measured run of %s.", claimed, ran);
    else
        SAY(k, "submission.inferred", JM_MLPERF_FAIL, ev,
            "%s is inferred from a run of %s, but its power is of another run.", claimed, ran);
    jm_mlperf_session_free(own);
}

/* ---- the description
 * -------------------------------------------------------------------------------------------------------- */

static bool is_filled(const struct jm_json *v)
{
    struct jm_span s;
    if (jm_json_str(v, &s))
        return jm_span_trim(s).n > 0;
    if (jm_json_is_object(v) || jm_json_is_array(v))
        return jm_json_len(v) > 0;
    return v && !jm_json_is_null(v);
}

static void fields(struct jm_submission_work *k, bool power)
{
    const char *id = power ? "submission.description_power" : "submission.description_fields", *absent[64],
               *blank[64];
    const struct jm_mlperf_submission *m = k->m;
    size_t n = 0, asked = 0, b = 0;
    struct jm_str ev;
    for (const struct jm_submission_field *f = jm_submission_fields; f->name; f++) {
        if (f->power != power || !jm_submission_since(k->round, f->from))
            continue;
        const struct jm_json *v = jm_json_get(m->description, f->name);
        if (!v && f->other)
            v = jm_json_get(m->description, f->other);
        asked++;
        if (!v)
            absent[n++] = f->name;
        else if (f->filled_from && jm_submission_since(k->round, f->filled_from) && !is_filled(v))
            blank[b++] = f->name;
    }
    if (!asked)
        return;
    jm_str_init(&ev);
    if (n) {
        jm_str_adds(&ev, "missing: ");
        names(&ev, absent, n);
    }
    if (b) {
        jm_str_adds(&ev, n ? "; empty: " : "empty: ");
        names(&ev, blank, b);
    }
    enum jm_mlperf_verdict v = power ? JM_MLPERF_WARN : JM_MLPERF_FAIL;
    if (!n && !b)
        SAY(k, id, JM_MLPERF_PASS, NULL, "All %zu fields%s are there%s.", asked, power ? " for power" : "",
            power || jm_submission_since(k->round, "v3.1") ? " and filled where they have to be" : "");
    else
        SAY(k, id, v, ev.buf, "Of %zu fields%s %zu %s missing and %zu empty.", asked,
            power ? " for power" : "", n, n == 1 ? "is" : "are", b);
    jm_str_release(&ev);
}

static void description(struct jm_submission_work *k)
{
    const struct jm_mlperf_submission *m = k->m;
    char ev[700];
    if (m->system_error) {
        SAY(k, "submission.description", JM_MLPERF_FAIL, m->system_error, "%s cannot be read.",
            m->system_path);
        return;
    }
    if (!m->description) {
        SAY(k, "submission.description", m->tree ? JM_MLPERF_FAIL : JM_MLPERF_NOTE, NULL,
            m->tree ? "systems/%s.json is not there." : "There is no description of the system%s.",
            m->tree ? m->system : "");
        return;
    }
    SAY(k, "submission.description", JM_MLPERF_PASS, m->system_path, "%s: %s, %s.",
        m->system_name ? m->system_name : "a system without a name",
        m->accelerator ? m->accelerator : "no accelerator", m->availability ? m->availability : "no status");
    fields(k, false);
    fields(k, true);
    bool status = word(m->availability, "available") || word(m->availability, "preview") ||
                  word(m->availability, "rdi");
    bool type = word(m->system_type, "datacenter") || word(m->system_type, "edge") ||
                word(m->system_type, "datacenter,edge") || word(m->system_type, "edge,datacenter");
    bool mine = !m->tree ||
                (word(m->description_division, m->division) && word(m->description_submitter, m->submitter));
    snprintf(ev, sizeof ev, "division %.60s, submitter %.120s, status %.60s, system_type %.60s",
             m->description_division ? m->description_division : "-",
             m->description_submitter ? m->description_submitter : "-",
             m->availability ? m->availability : "-", m->system_type ? m->system_type : "-");
    if (!status || !type || !mine)
        SAY(k, "submission.description_agrees", JM_MLPERF_FAIL, ev, "%s.",
            !mine     ? "Division or submitter of the description are not those of the folders"
            : !status ? "status is none of available, preview and rdi"
                      : "system_type is none of datacenter, edge and both");
    else
        SAY(k, "submission.description_agrees", JM_MLPERF_PASS, ev, "The description is of this submission.");
    bool network = word(m->division, "network");
    if (jm_submission_since(k->round, "v1.1") && (network || m->network)) {
        if (network != m->network && !word(m->division, "open"))
            SAY(k, "submission.network", JM_MLPERF_FAIL, NULL, "Division %s, but is_network is %s.",
                m->division, m->network ? "true" : "not");
        else
            SAY(k, "submission.network", JM_MLPERF_NOTE, NULL,
                "LoadGen ran over the network: switches and load balancers belong to the measured system, "
                "which a program "
                "cannot see.");
    }
    if (word(m->availability, "preview"))
        SAY(k, "submission.preview", JM_MLPERF_NOTE, NULL,
            "When this system becomes available, its performance by power has to reach that of this result.");
}

/* ---- measurements
 * ----------------------------------------------------------------------------------------------------------
 */

static const char *level_name(enum jm_mlperf_level level)
{
    static const char *const names_of[] = {"nowhere", "scenario",     "benchmark",
                                           "system",  "measurements", "elsewhere"};
    return names_of[level];
}

static void power_doc(struct jm_submission_work *k, const char *id, const struct jm_mlperf_doc *d,
                      const char *what)
{
    const struct jm_mlperf_submission *m = k->m;
    /* looked for by the public checker from v4.0 to v5.1; the rules have it since v2.0 */
    bool asked = jm_submission_since(k->round, "v4.0");
    enum jm_mlperf_verdict v = !m->tree ? JM_MLPERF_NOTE : asked ? JM_MLPERF_FAIL : JM_MLPERF_WARN;
    if (!d->path)
        SAY(k, id, v, NULL,
            m->tree ? "There is no %s in any of the four folders where it may be."
                    : "There is no %s among the files at hand.",
            what);
    else if (!d->bytes)
        SAY(k, id, asked ? JM_MLPERF_FAIL : JM_MLPERF_WARN, d->path, "%s is empty.", d->path);
    else if (d->level == JM_MLPERF_AT_ELSEWHERE)
        SAY(k, id, asked ? JM_MLPERF_FAIL : JM_MLPERF_WARN, d->path,
            "%s stands where the public checker does not look for it.", d->path);
    else
        SAY(k, id, JM_MLPERF_PASS, d->path, "%s (%s level, %lld bytes).", d->path, level_name(d->level),
            (long long)d->bytes);
}

static void measurements(struct jm_submission_work *k)
{
    const struct jm_mlperf_submission *m = k->m;
    const struct {
        const char *name;
        const struct jm_mlperf_doc *d;
        bool asked;
    } rows[] = {{"README.md", &m->readme, true},
                {"user.conf", &m->user_conf, true},
                {"the description of the implementation", &m->implementation, true},
                {"mlperf.conf", &m->mlperf_conf, !m->flat && !jm_submission_since(k->round, "v5.0")}};
    const char *absent[4], *blank[4];
    size_t n = 0, b = 0;
    struct jm_str ev;
    if (!m->has_measurements) {
        SAY(k, "submission.measurements", m->tree ? JM_MLPERF_FAIL : JM_MLPERF_NOTE, NULL,
            "There is no folder of measurements for this result.");
        return;
    }
    for (size_t i = 0; i < 4; i++) {
        if (rows[i].asked && !rows[i].d->path)
            absent[n++] = rows[i].name;
        else if (rows[i].d->path && !rows[i].d->bytes && rows[i].asked)
            blank[b++] = rows[i].name;
    }
    jm_str_init(&ev);
    names(&ev, absent, n);
    if (n && b)
        jm_str_adds(&ev, "; empty: ");
    names(&ev, blank, b);
    if (n || b)
        SAY(k, "submission.measurements", m->tree ? JM_MLPERF_FAIL : JM_MLPERF_NOTE, ev.buf,
            "Of the measurement files %zu %s missing and %zu empty.", n, n == 1 ? "is" : "are", b);
    else
        SAY(k, "submission.measurements", JM_MLPERF_PASS, NULL, "The measurement files are there.");
    jm_str_release(&ev);
    double asked = jm_mlperf_number(&k->s->loadgen[JM_MLPERF_TESTING], "requested_min_duration_ms");
    if (isnan(m->user_min_duration_ms) || isnan(asked))
        return;
    SAY(k, "submission.user_conf", asked == m->user_min_duration_ms ? JM_MLPERF_PASS : JM_MLPERF_WARN,
        m->user_conf.path, "user.conf sets a minimum duration of %.0f ms, LoadGen was given %.0f ms.",
        m->user_min_duration_ms, asked);
}

/* Letters and digits only, upper case. */
static void bare(const char *s, char out[64])
{
    size_t n = 0;
    for (; *s && n < 63; s++)
        if ((*s >= '0' && *s <= '9') || (*s >= 'A' && *s <= 'Z') || (*s >= 'a' && *s <= 'z'))
            out[n++] = (char)(*s >= 'a' && *s <= 'z' ? *s - 0x20 : *s);
    out[n] = 0;
}

static void analyzer(struct jm_submission_work *k)
{
    const struct jm_mlperf_submission *m = k->m;
    const char *identity = NULL;
    char table[64], said[64], model_said[80], ev[600];
    for (size_t i = 0; i < k->s->server.n_ptd && !identity; i++)
        if (k->s->server.ptd[i].cmd && strncmp(k->s->server.ptd[i].cmd, "Identify", 8) == 0)
            identity = k->s->server.ptd[i].reply;
    if (!m->analyzer.model[0] || !identity)
        return;
    bare(m->analyzer.model, table);
    snprintf(model_said, sizeof model_said, "%.*s",
             (int)(strcspn(identity, ",") < 79 ? strcspn(identity, ",") : 79), identity);
    bare(model_said, said);
    /* a family is WT and its first two digits: WT333E is a WT330 of three elements */
    const char *t = strstr(table, "WT"), *p = strstr(said, "WT");
    bool model = t && p && strlen(t) >= 4 && strncmp(t, p, 4) == 0;
    /* firmware: the last field of Identify, "F1.31" */
    const char *semi = strrchr(identity, ';');
    char fw[64] = "", fw_table[64];
    if (semi)
        bare(semi + 1, fw);
    bare(m->analyzer.firmware, fw_table);
    const char *fw_digits = fw[0] == 'F' ? fw + 1 : fw, *fw_t = fw_table[0] == 'F' ? fw_table + 1 : fw_table;
    bool firmware = !fw_t[0] || !fw_digits[0] || strcmp(fw_t, fw_digits) == 0;
    const struct jm_mlperf_power *w = &k->s->power[JM_MLPERF_TESTING];
    int channels = w->channels > 0 ? w->channels : 1, declared = 0;
    for (const char *d = m->analyzer.channels; *d >= '0' && *d <= '9' && declared < 1000; d++)
        declared = declared * 10 + (*d - '0');
    bool count = !declared || !w->present || declared == channels;
    snprintf(ev, sizeof ev,
             "%.120s says %.60s, firmware %.60s, %.60s channels; PTDaemon said %.60s, firmware %.60s, and "
             "logged %d",
             m->analyzer_table.path, m->analyzer.model, m->analyzer.firmware[0] ? m->analyzer.firmware : "-",
             m->analyzer.channels[0] ? m->analyzer.channels : "-", model_said, semi ? semi + 1 : "-",
             channels);
    if (model && firmware && count)
        SAY(k, "submission.analyzer_agrees", JM_MLPERF_PASS, ev,
            "The reported analyzer is the one that measured.");
    else
        SAY(k, "submission.analyzer_agrees", JM_MLPERF_WARN, ev,
            "The reported analyzer differs in its %s%s%s%s%s.", model ? "" : "model",
            !model && (!firmware || !count) ? ", " : "", firmware ? "" : "firmware",
            !firmware && !count ? " and " : "", count ? "" : "number of channels");
}

/* ---- what can only be declared
 * -------------------------------------------------------------------------------------------------------- */

static const char *field(const struct jm_mlperf_submission *m, const char *name, char out[160])
{
    struct jm_span s;
    out[0] = 0;
    if (jm_json_str(jm_json_get(m->description, name), &s)) {
        s = jm_span_trim(s);
        snprintf(out, 160, "%.*s", (int)(s.n < 150 ? s.n : 150), s.n ? s.p : "");
    }
    return out;
}

static bool mentions(const struct jm_mlperf_submission *m, const char *what, const char **where)
{
    static const char *const in[] = {"power_supply_details", "power_supply_quantity_and_rating_watts",
                                     "other_hardware", "hw_notes", "power_management"};
    for (size_t i = 0; i < sizeof in / sizeof in[0]; i++) {
        char text[160];
        if (strcasestr(field(m, in[i], text), what)) {
            *where = in[i];
            return true;
        }
    }
    if (m->settings && strcasestr(m->settings, what)) {
        *where = "power_settings";
        return true;
    }
    return false;
}

static void declared(struct jm_submission_work *k)
{
    const struct jm_mlperf_submission *m = k->m;
    char a[160], b[160], c[160];
    const char *where = NULL;
    if (k->s->ptd_log.analyzers > 1 && !jm_submission_since(k->round, "v2.1"))
        SAY(k, "submission.one_meter", JM_MLPERF_FAIL, NULL, "%d analyzers measured the system.",
            k->s->ptd_log.analyzers);
    else if (!jm_submission_since(k->round, "v2.1"))
        SAY(k, "submission.one_meter", JM_MLPERF_PASS, NULL, "One analyzer measured the system.");
    if (m->nodes > 1)
        SAY(k, "submission.disaggregated", JM_MLPERF_WARN, m->system_path,
            "The system has %.0f nodes; that all of them were on the meter, and are no disaggregated system, "
            "cannot be decided "
            "by a program.",
            m->nodes);
    else if (m->nodes == 1)
        SAY(k, "submission.disaggregated", JM_MLPERF_PASS, NULL, "The system is one node.");
    if (m->system_type && strcasestr(m->system_type, "datacenter")) {
        const char *net = field(m, "host_networking", a), *top = field(m, "host_networking_topology", b),
                   *nics = field(m, "number_of_type_nics_installed", c);
        if (!net[0] && !top[0] && !nics[0])
            SAY(k, "submission.networking", JM_MLPERF_WARN, m->system_path,
                "A datacenter system was measured, and its networking is not described.");
        else
            SAY(k, "submission.networking", JM_MLPERF_NOTE, m->system_path,
                "Declared: %s%s%s%s%s. That all of it was populated cannot be decided by a program.", net,
                net[0] && top[0] ? "; " : "", top, (net[0] || top[0]) && nics[0] ? "; " : "", nics);
    }
    if (mentions(m, "battery", &where) || mentions(m, "uninterruptible", &where))
        SAY(k, "submission.battery", JM_MLPERF_WARN, where,
            "The description speaks of a battery; none may lie between the meter and the power supply.");
    else
        SAY(k, "submission.battery", JM_MLPERF_NOTE, NULL,
            "That no battery fed the system, and that the whole system was on the meter, cannot be decided "
            "by a program.");
    const char *pm = field(m, "power_management", a);
    size_t n;
    snprintf(b, sizeof b, "%s", pm[0] ? pm : m->settings ? m->settings : "");
    for (n = strlen(b); n && (b[n - 1] == '.' || b[n - 1] == ' '); n--)
        b[n - 1] = 0;
    jm_text_plain(b, n, false);
    if (pm[0] || (m->settings && m->settings[0]))
        SAY(k, "submission.power_management", JM_MLPERF_NOTE, m->power_settings.path,
            "Declared: \"%s%s\". That nothing was changed during the runs cannot be decided by a program.", b,
            n > 150 ? " ..." : "");
    else
        SAY(k, "submission.power_management", m->description ? JM_MLPERF_WARN : JM_MLPERF_NOTE, NULL,
            "No power management settings are declared.");
}

int jm_mlperf_submission_check(const struct jm_mlperf_submission *m, const struct jm_mlperf_session *s,
                               const struct jm_mlperf_result *r, const struct jm_mlperf_session *base,
                               struct jm_mlperf_checked *c, struct jm_err *err)
{
    struct jm_submission_work k = {
        .m = m, .s = s, .base = base, .r = r, .c = c, .err = err, .round = s->round.name};
    place(&k);
    files(&k);
    inferred(&k);
    if (m->tree || m->flat) {
        description(&k);
        power_doc(&k, "submission.analyzer_table", &m->analyzer_table, "analyzer_table");
        analyzer(&k);
        power_doc(&k, "submission.power_settings", &m->power_settings, "power_settings");
        measurements(&k);
    }
    declared(&k);
    jm_submission_figures(&k);
    return k.rc;
}
