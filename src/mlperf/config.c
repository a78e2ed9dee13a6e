/* SPDX-License-Identifier: Apache-2.0 */
#include "mlperf/config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/num.h"
#include "base/option.h"
#include "mlperf/ini.h"
#include "mlperf/proto.h"

#include "base/banned.h"

/* Numbers, largest current ranges: mlcommons/power-dev ptd_client_server/lib/server.py at c4b3ad8;
 * what is accepted: its compliance/check.py. */
static const struct jm_mlperf_device devices[] = {
    {8, "Yokogawa WT210", 20, false, false, true},
    {35, "Yokogawa WT500", 40, false, false, true},
    {47, "Yokogawa WT1800", 50, false, false, false},
    {48, "Yokogawa WT500, several channels", 40, true, false, true},
    {49, "Yokogawa WT310 or WT310E", 20, false, false, true},
    {52, "Yokogawa WT330 or WT330E", 20, false, false, true},
    {59, NULL, 0, true, false, false},
    {61, NULL, 0, true, false, false},
    {66, "Yokogawa WT5000", 30, false, false, false},
    {77, "Yokogawa WT330, several channels", 20, true, false, true},
    {508, "Yokogawa WT210, direct current", 20, false, true, true},
    {549, "Yokogawa WT310, direct current", 20, false, true, true},
    {586, "Yokogawa WT330, direct current", 20, false, true, true},
};

const struct jm_mlperf_device *jm_mlperf_device(int64_t type)
{
    for (size_t i = 0; i < sizeof devices / sizeof devices[0]; i++)
        if (devices[i].type == type)
            return &devices[i];
    return NULL;
}

/* What a configuration holds on to. */
struct arena {
    struct jm_ini ini;
    char *file;
    char **text;
    size_t n, cap;
};

struct reading {
    struct jm_ini *ini;
    struct arena *arena;
    struct jm_mlperf_config *c;
    struct jm_err *err;
    int rc;             /* of the first failure */
    const char *source; /* instead of the file's; NULL: none */
};

static int warn(struct reading *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static int warn(struct reading *r, const char *fmt, ...)
{
    struct arena *a = r->arena;
    struct jm_str s;
    va_list ap;
    jm_str_init(&s);
    jm_str_addf(&s, "%s: ", r->c->file);
    va_start(ap, fmt);
    jm_str_addv(&s, fmt, ap);
    va_end(ap);
    if (a->n == a->cap) {
        size_t cap = a->cap ? a->cap * 2 : 8;
        char **p = realloc(a->text, cap * sizeof *p);
        if (p) {
            a->text = p;
            a->cap = cap;
        }
    }
    char *t = a->n < a->cap ? jm_str_detach(&s) : NULL;
    jm_str_release(&s);
    if (!t)
        return r->rc = r->rc ? r->rc : jm_err_set(r->err, JM_ENOMEM, "no memory for %s", r->c->file);
    a->text[a->n++] = t;
    r->c->warnings = (const char **)a->text;
    r->c->n_warnings = a->n;
    return 0;
}

static void fail(struct reading *r, const struct jm_ini_item *it, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
static void fail(struct reading *r, const struct jm_ini_item *it, const char *fmt, ...)
{
    va_list ap;
    if (r->rc)
        return;
    va_start(ap, fmt);
    r->rc = jm_err_vset(r->err, JM_EUSAGE, fmt, ap);
    va_end(ap);
    if (it)
        jm_err_prefix(r->err, "%s:%d: [%.40s] %.40s", r->c->file, it->line, it->section, it->key);
    else
        jm_err_prefix(r->err, "%s", r->c->file);
}

static const char *get(struct reading *r, const char *section, const char *key, const char *other)
{
    struct jm_ini_item *it = jm_ini_find(r->ini, section, key);
    return it ? it->value : other;
}

static int64_t get_int(struct reading *r, const char *section, const char *key, int64_t other, int64_t least,
                       int64_t most)
{
    struct jm_ini_item *it = jm_ini_find(r->ini, section, key);
    int64_t v = other;
    if (it && (jm_num_i64(jm_span_of(it->value), &v) || v < least || v > most))
        fail(r, it, "\"%.60s\" is no whole number from %lld to %lld", it->value, (long long)least,
             (long long)most);
    return v;
}

static bool get_bool(struct reading *r, const char *key, bool other)
{
    /* the words of configparser's getboolean() */
    static const char *const yes[] = {"1", "yes", "true", "on"}, *const no[] = {"0", "no", "false", "off"};
    struct jm_ini_item *it = jm_ini_find(r->ini, "joulemark", key);
    if (!it)
        return other;
    for (int i = 0; i < 4; i++) {
        if (jm_span_ieq(jm_span_of(it->value), jm_span_of(yes[i])))
            return true;
        if (jm_span_ieq(jm_span_of(it->value), jm_span_of(no[i])))
            return false;
    }
    fail(r, it, "\"%.60s\" is neither yes nor no", it->value);
    return other;
}

static int64_t get_time(struct reading *r, const char *key, int64_t other)
{
    struct jm_ini_item *it = jm_ini_find(r->ini, "joulemark", key);
    struct jm_err why = {0};
    int64_t v = other;
    if (it && (jm_quantity_duration(jm_span_of(it->value), &v, &why) || v < 0))
        fail(r, it, "%s", why.code ? why.text : "a time cannot be below 0");
    return v;
}

/* "1", "1,3". */
static void channels(struct reading *r, const char *section, struct jm_mlperf_analyzer *a)
{
    struct jm_ini_item *it = jm_ini_find(r->ini, section, "channel");
    struct jm_span rest, f;
    if (!it)
        return;
    rest = jm_span_of(it->value);
    while (jm_span_field(&rest, ',', &f)) {
        int64_t v;
        if (a->n_channels == 8 || jm_num_i64(jm_span_trim(f), &v) || v < 0 || v > 64) {
            fail(r, it, "\"%.60s\" is no list of channel numbers, such as 1 or 1,3", it->value);
            return;
        }
        a->channel[a->n_channels++] = v;
    }
}

static void check_channels(struct reading *r, int number, const struct jm_mlperf_analyzer *a)
{
    const struct jm_mlperf_device *d = jm_mlperf_device(a->device_type);
    int want = a->device_type == JM_MLPERF_WT500_CHANNELS ? 1 : 2;
    if (d && d->multichannel && a->n_channels != want)
        fail(r, NULL, "[analyzer%d]: device type %d has several channels and needs %s", number, d->type,
             want == 1 ? "\"channel: N\", how many of them are used"
                       : "\"channel: FIRST,COUNT\", such as 1,3");
    else if (!(d && d->multichannel) && a->n_channels > 1)
        fail(r, NULL, "[analyzer%d]: device type %lld has one channel; give its number or leave channel out",
             number, (long long)a->device_type);
}

static void analyzer(struct reading *r, int number, const char *section)
{
    struct jm_mlperf_analyzer *a = &r->c->analyzer[number - 1];
    bool need = r->c->launch && strcmp(r->c->source, "ptd") == 0;
    *a = (struct jm_mlperf_analyzer){.device_type = -1, .board = -1};
    a->port = (int)get_int(r, section, "networkPort", 8888, 1, 65535);
    a->device_type = get_int(r, section, "deviceType", -1, 0, 100000);
    a->board = get_int(r, section, "gpibBoard", -1, 0, 1000);
    a->interface_flag = get(r, section, "interfaceFlag", need ? NULL : "");
    a->dc_flag = get(r, section, "dcFlag", NULL);
    a->device_port = get(r, section, "devicePort", need ? NULL : "");
    channels(r, section, a);
    if (need && (a->device_type < 0 || !a->interface_flag || !a->device_port))
        fail(r, NULL,
             "[%s] needs deviceType, interfaceFlag (may be empty: RS-232) and devicePort; %s is missing",
             section,
             a->device_type < 0   ? "deviceType"
             : !a->interface_flag ? "interfaceFlag"
                                  : "devicePort");
    if (need)
        check_channels(r, number, a);
    if (need && !r->rc && !(jm_mlperf_device(a->device_type) && jm_mlperf_device(a->device_type)->checked))
        warn(r, "[%s] deviceType %lld is not one that the public checker accepts", section,
             (long long)a->device_type);
    for (int i = 0; i < number - 1; i++)
        if (r->c->analyzer[i].port == a->port)
            fail(r, NULL, "analyzers %d and %d have the same networkPort %d; each PTDaemon needs its own",
                 i + 1, number, a->port);
}

static void analyzers(struct reading *r)
{
    struct jm_mlperf_config *c = r->c;
    c->n_analyzers = (int)get_int(r, "ptd", "analyzerCount", 1, 1, JM_MLPERF_ANALYZERS);
    if (c->n_analyzers == 1 && !jm_ini_has(r->ini, "analyzer1") && jm_ini_find(r->ini, "ptd", "deviceType")) {
        warn(
            r,
            "the analyzer is described in [ptd], as older documentation has it; the public tool now reads "
            "it from [analyzer1]. Move deviceType, interfaceFlag, devicePort, channel and networkPort there");
        analyzer(r, 1, "ptd");
        return;
    }
    for (int i = 1; i <= c->n_analyzers && !r->rc; i++) {
        char name[24];
        snprintf(name, sizeof name, "analyzer%d", i);
        if (!jm_ini_has(r->ini, name) && c->launch && strcmp(c->source, "ptd") == 0)
            fail(r, NULL, "there is no section [%s] (analyzerCount is %d)", name, c->n_analyzers);
        analyzer(r, i, name);
    }
}

int jm_mlperf_config_listen(struct jm_mlperf_config *c, const char *text, struct jm_err *err)
{
    struct jm_span s = jm_span_trim(jm_span_of(text)), host = s, port = {0};
    int64_t number = JM_MLPERF_PORT;
    ptrdiff_t at = jm_span_chr(s, ' ');
    if (at < 0 && s.n && s.p[0] == '[') {
        at = jm_span_chr(s, ']');
        host = at > 0 ? jm_span_sub(s, 1, (size_t)at - 1) : (struct jm_span){0};
        port = at > 0 ? jm_span_sub(s, (size_t)at + 1, s.n) : (struct jm_span){0};
        if (port.n && port.p[0] == ':')
            port = jm_span_sub(port, 1, port.n);
        else if (port.n)
            host.n = 0;
    } else {
        if (at < 0) {
            ptrdiff_t first = jm_span_chr(s, ':');
            bool one = first >= 0 && jm_span_chr(jm_span_sub(s, (size_t)first + 1, s.n), ':') < 0;
            at = one ? first : -1;
        }
        if (at >= 0) {
            host = jm_span_sub(s, 0, (size_t)at);
            port = jm_span_trim(jm_span_sub(s, (size_t)at + 1, s.n));
        }
    }
    if (!host.n || host.n >= sizeof c->host || memchr(host.p, '\0', host.n) ||
        (port.p && (jm_num_i64(port, &number) || number < 0 || number > 65535)))
        return jm_err_set(err, JM_EUSAGE, "\"%.80s\" is no address to listen on, such as 127.0.0.1:4950",
                          text);
    snprintf(c->host, sizeof c->host, "%.*s", (int)host.n, host.p);
    c->port = (int)number;
    return 0;
}

static void server(struct reading *r)
{
    struct jm_mlperf_config *c = r->c;
    struct jm_ini_item *it = jm_ini_find(r->ini, "server", "listen");
    struct jm_err why = {0};
    c->ntp_server = get(r, "server", "ntpServer", NULL);
    if (!c->ntp_server)
        fail(r, NULL,
             "[server] needs ntpServer: the rules want both clocks checked against one. An empty "
             "\"ntpServer:\" "
             "goes without, for a trial");
    else if (!c->ntp_server[0])
        warn(r, "no NTP server: the clock is not checked, and the session is no valid measurement");
    c->listens_by_config = it != NULL;
    if (it && jm_mlperf_config_listen(c, it->value, &why))
        fail(r, it, "%s", why.text);
    it = jm_ini_find(r->ini, "server", "rangingMode");
    if (it && jm_span_ieq(jm_span_of(it->value), JM_SPAN("MAX")))
        c->ranging = JM_MLPERF_RANGE_MAX;
    else if (it && !jm_span_ieq(jm_span_of(it->value), JM_SPAN("AUTO")))
        warn(r, "rangingMode \"%.40s\" is neither AUTO nor MAX; AUTO is used", it->value);
    it = jm_ini_find(r->ini, "server", "outDir");
    if (it) {
        c->out_dir = it->value;
        warn(r, "outDir in [server] is of older versions of the public tool; it is used as outDir of "
                "[joulemark]");
    }
}

static void ours(struct reading *r)
{
    struct jm_mlperf_config *c = r->c;
    c->out_dir = get(r, "joulemark", "outDir", c->out_dir);
    c->source = get(r, "joulemark", "source", "ptd");
    if (r->source)
        c->source = r->source;
    c->source_option = get(r, "joulemark", "sourceOption", "");
    c->ptd_host = get(r, "joulemark", "ptdHost", "127.0.0.1");
    c->launch = get_bool(r, "launch", true);
    c->keep = get_bool(r, "keepSessions", false);
    c->settle_ns = get_time(r, "settle", JM_MLPERF_SETTLE);
    c->ptd_timeout_ns = get_time(r, "ptdTimeout", 60 * JM_NS_PER_S);
    c->ptd_start_ns = get_time(r, "ptdStart", 30 * JM_NS_PER_S);
    c->idle_ns = get_time(r, "idleTimeout", 600 * JM_NS_PER_S);
    c->run_ns = get_time(r, "runTimeout", 48 * 3600 * JM_NS_PER_S);
    if (!r->rc && !c->out_dir[0])
        fail(r, NULL, "[joulemark] outDir is empty");
}

static void leftovers(struct reading *r)
{
    for (size_t i = 0; i < r->ini->n; i++) {
        const struct jm_ini_item *it = &r->ini->item[i];
        struct jm_span s = jm_span_of(it->section);
        int64_t n = 0;
        bool known = jm_span_ieq(s, JM_SPAN("server")) || jm_span_ieq(s, JM_SPAN("ptd")) ||
                     jm_span_ieq(s, JM_SPAN("joulemark"));
        if (jm_span_istarts(s, JM_SPAN("analyzer")))
            known = jm_num_i64(jm_span_sub(s, 8, s.n), &n) == 0 && n >= 1 && n <= r->c->n_analyzers;
        if (!known && !it->key)
            warn(r, "unknown section [%.60s] on line %d is not read", it->section, it->line);
        else if (known && it->key && !it->used)
            warn(r, "unknown option %.60s in [%.60s] on line %d is not read", it->key, it->section, it->line);
    }
}

static int parse_for(struct jm_span text, const char *file, const char *source, struct jm_mlperf_config *c,
                     struct jm_err *err)
{
    struct arena *a = calloc(1, sizeof *a);
    *c = (struct jm_mlperf_config){
        .host = "127.0.0.1", .port = JM_MLPERF_PORT, .out_dir = "mlperf-sessions", .arena = a};
    struct reading r = {a ? &a->ini : NULL, a, c, err, 0, source};
    if (!a || !(a->file = strdup(file)))
        return jm_err_set(err, JM_ENOMEM, "no memory for %s", file);
    c->file = a->file;
    int rc = jm_ini_parse(text, a->file, &a->ini, err);
    if (rc)
        return rc;
    if (!jm_ini_has(r.ini, "server"))
        fail(&r, NULL, "there is no section [server]; see examples/mlperf/director.conf");
    server(&r);
    ours(&r);
    c->ptd = get(&r, "ptd", "ptd", NULL);
    if (!r.rc)
        analyzers(&r);
    if (!r.rc && c->launch && strcmp(c->source, "ptd") == 0 && !(c->ptd && c->ptd[0]))
        fail(&r, NULL, "[ptd] needs ptd, the path of the PTDaemon program");
    if (!r.rc)
        leftovers(&r);
    return r.rc;
}

int jm_mlperf_config_parse(struct jm_span text, const char *file, struct jm_mlperf_config *c,
                           struct jm_err *err)
{
    return parse_for(text, file, NULL, c, err);
}

int jm_mlperf_config_read_for(const char *path, const char *source, struct jm_mlperf_config *out,
                              struct jm_err *err)
{
    struct jm_str text;
    *out = (struct jm_mlperf_config){0};
    if (!path)
        return parse_for(JM_SPAN("[server]\nntpServer:\n"), "no configuration", source, out, err);
    jm_str_init(&text);
    int rc = jm_file_read(path, 1 << 20, &text, err);
    if (!rc)
        rc = parse_for(jm_str_span(&text), path, source, out, err);
    jm_str_release(&text);
    return rc;
}

int jm_mlperf_config_read(const char *path, struct jm_mlperf_config *out, struct jm_err *err)
{
    return jm_mlperf_config_read_for(path, NULL, out, err);
}

void jm_mlperf_config_release(struct jm_mlperf_config *c)
{
    struct arena *a = c->arena;
    if (a) {
        jm_ini_release(&a->ini);
        for (size_t i = 0; i < a->n; i++)
            free(a->text[i]);
        free(a->text);
        free(a->file);
        free(a);
    }
    *c = (struct jm_mlperf_config){0};
}
