/* SPDX-License-Identifier: Apache-2.0 */
/* The list `meters:` of a configuration: keys of every entry, and what is refused in them. */
#include "meter/instrument.h"

#include <ctype.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/near.h"
#include "base/num.h"
#include "meter/survey.h"
#include "base/banned.h"

#define MOST 4096 /* entries */

/* ---- values with parsers of their own */

static int parse_place(void *at, const char *text, struct jm_err *err)
{
    static const struct {
        const char *name;
        enum jm_domain_kind kind;
    } more[] = {{"inlet ac", JM_D_INLET_AC}, {"inlet dc", JM_D_INLET_DC}, {"wall", JM_D_INLET_AC},
                {"board", JM_D_GPU},         {"cpu", JM_D_PACKAGE},       {"facility", JM_D_SITE}};
    struct jm_span s = jm_span_trim(jm_span_of(text));
    int kind = jm_domain_kind_parse(s);
    for (size_t i = 0; kind < 0 && i < sizeof more / sizeof *more; i++)
        if (jm_span_is(s, more[i].name))
            kind = (int)more[i].kind;
    if (jm_span_is(s, "inlet"))
        return jm_err_set(err, JM_EUSAGE,
                          "\"inlet\" is not enough: AC or DC must be said (inlet ac, inlet dc), because the "
                          "losses of the supplies lie between them");
    if (kind < 0)
        return jm_err_set(
            err, JM_EUSAGE,
            "\"%.40s\" is no place in the domain tree; there are inlet ac, inlet dc, psu, node, gpu, "
            "package, dram, fans, storage, nic, chassis, rack and site",
            text);
    if (kind == JM_D_PSU_LOSS)
        return jm_err_set(err, JM_EUSAGE, "nothing measures psu_loss; it is what inlet and node differ by");
    *(int *)at = kind;
    return 0;
}

/* "1 %", "0.5 % + 2 W", "3 W". */
static int parse_accuracy(void *at, const char *text, struct jm_err *err)
{
    double *tol = at; /* gain_tol, offset_tol: neighbours in the struct */
    struct jm_span rest = jm_span_of(text), one;
    double gain = NAN, offset = NAN, v;
    while (jm_span_field(&rest, '+', &one)) {
        one = jm_span_trim(one);
        struct jm_err why = {0};
        bool percent = one.n && one.p[one.n - 1] == '%';
        if (percent && isnan(gain) && jm_num_double(jm_span_trim(jm_span_sub(one, 0, one.n - 1)), &v) == 0 &&
            v >= 0 && v <= 100)
            gain = v / 100;
        else if (!percent && isnan(offset) && jm_quantity_power(one, &v, &why) == 0 && v >= 0)
            offset = v;
        else
            return jm_err_set(
                err, JM_EUSAGE,
                "\"%.60s\" is no accuracy; say it as \"1 %%\", \"5 W\" or \"0.5 %% + 2 W\" (of the "
                "reading, and absolute)",
                text);
    }
    tol[0] = isnan(gain) && !isnan(offset) ? 0 : gain;
    tol[1] = isnan(offset) && !isnan(gain) ? 0 : offset;
    return 0;
}

static int parse_pin(void *at, const char *text, struct jm_err *err)
{
    size_t n = 0;
    for (const char *p = text; *p; p++) {
        if (*p == ':')
            continue;
        if (!isxdigit((unsigned char)*p))
            n = 99;
        n++;
    }
    if (n != 64)
        return jm_err_set(err, JM_EUSAGE,
                          "a pin is the SHA-256 of the certificate in 64 hexadecimal digits; openssl x509 "
                          "-fingerprint -sha256 -noout -in CERT shows it");
    *(const char **)at = text;
    return 0;
}

/* ---- tables */

static const struct jm_opt tls_keys[] = {
    {"ca", 0, JM_OPT_STR, offsetof(struct jm_tls_opts, ca), .arg = "FILE",
     .help = "Certificates of the authorities that are believed, instead of the system's."},
    {"pin", 0, JM_OPT_PARSE, offsetof(struct jm_tls_opts, pin), .arg = "SHA256", .parse = parse_pin,
     .help = "The instrument's certificate itself, by its SHA-256: for self-signed ones."},
    {"insecure", 0, JM_OPT_FLAG, offsetof(struct jm_tls_opts, insecure),
     .help = "Verify nothing. The run says that whoever answered was not known."},
    {NULL}};

static int add_tls(void *base, size_t line, void **item, struct jm_err *err)
{
    (void)line, (void)err;
    *item = base;
    return 0;
}

static int done_tls(void *item, struct jm_err *err)
{
    const struct jm_tls_opts *t = item;
    if (t->insecure && (t->ca || t->pin))
        return jm_err_set(err, JM_EUSAGE,
                          "tls: insecure beside ca or pin; say one: what is verified, or that nothing is");
    return 0;
}

static const struct jm_opt_maps tls_maps = {
    .table = tls_keys, .add = add_tls, .single = true, .done = done_tls};

static const struct jm_opt feed_keys[] = {
    {"part", 0, JM_OPT_STR, offsetof(struct jm_feed, part), .arg = "NAME",
     .help = "Outlet, branch, socket or sub-meter, as the instrument numbers it."},
    {"host", 0, JM_OPT_STR, offsetof(struct jm_feed, host), .arg = "HOST", .help = "The host that it feeds."},
    {"at", 0, JM_OPT_PARSE, offsetof(struct jm_feed, at), .arg = "PLACE", .parse = parse_place,
     .help = "Its place there, as `at` of the entry.", .deflt = "psu"},
    {"label", 0, JM_OPT_STR, offsetof(struct jm_feed, label), .arg = "TEXT", .help = "For people."},
    {NULL}};

static int add_feed(void *base, size_t line, void **item, struct jm_err *err)
{
    struct jm_instrument *in = base;
    (void)line;
    if (in->n_feed == JM_FEEDS_MAX)
        return jm_err_set(err, JM_ELIMIT, "more than %d feeds in one entry", JM_FEEDS_MAX);
    in->feed[in->n_feed] = (struct jm_feed){.at = -1};
    *item = &in->feed[in->n_feed++];
    return 0;
}

static int done_feed(void *item, struct jm_err *err)
{
    const struct jm_feed *f = item;
    if (!f->part || !*f->part)
        return jm_err_set(err, JM_EUSAGE, "a feed needs its part: which outlet or branch is it?");
    return 0;
}

static const struct jm_opt_maps feed_maps = {.table = feed_keys, .add = add_feed, .done = done_feed};

#define AT(f) offsetof(struct jm_instrument, f)
const struct jm_opt jm_instrument_keys[] = {
    {"name", 0, JM_OPT_STR, AT(name), .arg = "NAME",
     .help = "Names the instance in the run: letters, digits, dot, dash and underscore."},
    {"meter", 0, JM_OPT_STR, AT(kind), .arg = "KIND",
     .help = "The kind of meter; decides which keys there are."},
    {"at", 0, JM_OPT_PARSE, AT(at), .arg = "PLACE", .parse = parse_place,
     .help =
         "What lies behind it: inlet ac, inlet dc, psu (one supply's input), node (output of the supplies), "
         "gpu, package, fans, chassis, rack, site.",
     .deflt = "what the kind measures"},
    {"host", 0, JM_OPT_STR, AT(host), .arg = "HOST",
     .help = "The host (or, of a rack, chassis or site, its name) that it measures.", .deflt = "this host"},
    {"device", 0, JM_OPT_STR, AT(device), .arg = "ID",
     .help = "UUID or bus address, where the place is one part of several: a GPU, a package."},
    {"contains", 0, JM_OPT_LIST, AT(contains), .arg = "NAME",
     .help = "Hosts (and racks or chassis named by `host` of their entries) inside it."},
    {"feeds", 0, JM_OPT_MAPS, .maps = &feed_maps,
     .help = "Where its outlets or branches lead: a list of {part, host, at, label}."},
    {"interval", 0, JM_OPT_DURATION, AT(interval_ns), 1e6, 3600e9, .arg = "DURATION",
     .help = "Pause between readings.", .deflt = "the instrument's own pace"},
    {"timeout", 0, JM_OPT_DURATION, AT(timeout_ns), 1e7, 120e9, .arg = "DURATION",
     .help = "Longest wait for one answer.", .deflt = "5s"},
    {"accuracy", 0, JM_OPT_PARSE, AT(gain_tol), .arg = "TEXT", .parse = parse_accuracy,
     .help = "Bound of its error as its maker or calibration states it: 1 %, 5 W, 0.5 % + 2 W.",
     .deflt = "the table of the kind, else unknown"},
    {"max_power", 0, JM_OPT_POWER, AT(max_power_w), 0.1, 1e9, .arg = "POWER",
     .help = "Nothing behind it can draw more: a larger reading is implausible, not a measurement.",
     .deflt = "the kind's"},
    {"user", 0, JM_OPT_STR, AT(user), .arg = "NAME", .help = "Name at the login."},
    JM_OPTS_SECRET("password", AT(password), "Password at the login."),
    {"tls", 0, JM_OPT_MAPS, AT(tls), .maps = &tls_maps,
     .help = "How the peer is known: {ca: FILE}, {pin: SHA256} or {insecure: true}.",
     .deflt = "the system's certificates"},
    {NULL}};

/* ---- one entry */

static void free_one(struct jm_instrument *in)
{
    if (!in)
        return;
    if (in->conf && in->ops && in->ops->conf_release)
        in->ops->conf_release(in->conf);
    free(in->conf);
    free(in->users);
    free(in);
}

void jm_instrument_hold(const struct jm_instrument *in)
{
    if (in->users)
        atomic_fetch_add((atomic_int *)in->users, 1);
}

void jm_instrument_drop(const struct jm_instrument *in)
{
    if (in->users)
        atomic_fetch_sub((atomic_int *)in->users, 1);
}

static int add(void *base, size_t line, void **item, struct jm_err *err)
{
    struct jm_instruments *list = base;
    struct jm_instrument **v =
        list->n & (list->n - 1) ? list->v : realloc(list->v, (list->n ? 2 * list->n : 1) * sizeof *v);
    if (v)
        list->v = v;
    struct jm_instrument *in = v ? calloc(1, sizeof *in) : NULL;
    atomic_int *users = in ? calloc(1, sizeof *users) : NULL;
    if (!users) {
        free(in);
        return jm_err_set(err, JM_ENOMEM, "out of memory for the meters of the configuration");
    }
    if (list->n >= MOST) {
        free(users);
        free(in);
        return jm_err_set(err, JM_ELIMIT, "more than %d meters are configured", MOST);
    }
    *in = (struct jm_instrument){.users = users,
                                 .list = list,
                                 .line = line,
                                 .at = -1,
                                 .timeout_ns = 5 * JM_NS_PER_S,
                                 .gain_tol = NAN,
                                 .offset_tol = NAN};
    list->v[list->n++] = in;
    *item = in;
    return 0;
}

static const char *kind_near(const char *kind)
{
    const char *near = NULL;
    unsigned best = 99;
    for (size_t i = 0; jm_meter_registry[i]; i++) {
        const struct jm_meter_ops *ops = jm_meter_registry[i];
        unsigned d = jm_near_distance(jm_span_of(kind), jm_span_of(ops->name));
        if (ops->open_conf && d < best && jm_near_plausible(d, strlen(kind))) {
            best = d;
            near = ops->name;
        }
    }
    return near;
}

static int select_kind(void *item, const char *value, const struct jm_opt **table, void **base,
                       struct jm_err *err)
{
    struct jm_instrument *in = item;
    const struct jm_meter_ops *ops = jm_meter_find(value);
    if (!ops) {
        const char *near = kind_near(value);
        return jm_err_set(err, JM_EUSAGE,
                          "\"%.40s\" is no kind of meter%s%s%s; docs/instruments.md lists them", value,
                          near ? ", did you mean \"" : "", near ? near : "", near ? "\"?" : "");
    }
    if (!ops->open_conf)
        return jm_err_set(err, JM_EUSAGE,
                          "the meter %s needs no entry: it is found by itself, and chosen with --meters %s",
                          value, value);
    in->ops = ops;
    in->conf = calloc(1, ops->conf_size ? ops->conf_size : 1);
    if (!in->conf)
        return jm_err_set(err, JM_ENOMEM, "out of memory for a meter of the configuration");
    if (ops->conf_init)
        ops->conf_init(in->conf);
    *table = ops->opts;
    *base = in->conf;
    return 0;
}

static bool name_ok(const char *s)
{
    size_t n = 0;
    for (; s[n]; n++)
        if (!isalnum((unsigned char)s[n]) && !strchr("._-", s[n]))
            return false;
    return n && n <= 32;
}

/* The most that physics and mains cabling allow at a place: a typing error of the unit is found here. */
static const struct {
    enum jm_domain_kind at;
    double most_w;
    const char *why;
} bound[] = {
    {JM_D_GPU, 10e3, "no GPU board draws as much"},
    {JM_D_PACKAGE, 5e3, "no CPU draws as much"},
    {JM_D_PSU, 30e3, "no supply of a server has as much"},
    {JM_D_NODE, 250e3, "no single host draws as much"},
    {JM_D_INLET_AC, 250e3, "no single host draws as much"},
    {JM_D_INLET_DC, 250e3, "no single host draws as much"},
    {JM_D_RACK, 5e6, "no rack draws as much"},
};

static int check(const struct jm_instrument *in, struct jm_err *err)
{
    const struct jm_meter_ops *ops = in->ops;
    const struct jm_instruments *list = in->list;
    if (!in->name)
        return jm_err_set(err, JM_EUSAGE, "the entry needs a name: name: rack-pdu-a");
    if (!name_ok(in->name))
        return jm_err_set(err, JM_EUSAGE,
                          "the name \"%.40s\" has other characters than letters, digits, dot, dash and "
                          "underscore, or more than 32",
                          in->name);
    for (size_t i = 0; i < list->n; i++)
        if (list->v[i] != in && list->v[i]->name && strcmp(list->v[i]->name, in->name) == 0)
            return jm_err_set(err, JM_EUSAGE, "the name \"%s\" is there twice, first in line %zu", in->name,
                              list->v[i]->line);
    if (jm_meter_find(in->name) && jm_meter_find(in->name) != ops)
        return jm_err_set(err, JM_EUSAGE, "\"%s\" is the name of a kind of meter; choose another", in->name);
    if (in->interval_ns && in->interval_ns < ops->min_interval_ns)
        return jm_err_set(err, JM_EUSAGE, "interval: every %g s is more often than %g s: %s",
                          (double)in->interval_ns / 1e9, (double)ops->min_interval_ns / 1e9,
                          ops->why_interval ? ops->why_interval : "it refreshes no faster");
    for (size_t i = 0; i < sizeof bound / sizeof *bound; i++)
        if ((int)bound[i].at == in->at && in->max_power_w > bound[i].most_w)
            return jm_err_set(err, JM_EUSAGE, "max_power: %g kW at %s: %s; is the unit right?",
                              in->max_power_w / 1e3, jm_domain_kind_name(in->at), bound[i].why);
    int ways = !!in->password.text + !!in->password.file + !!in->password.env;
    if (ways > 1)
        return jm_err_set(err, JM_EUSAGE, "the password is given in %d ways; one is enough", ways);
    for (size_t i = 0; i < in->n_feed; i++)
        for (size_t k = 0; k < i; k++)
            if (strcmp(in->feed[i].part, in->feed[k].part) == 0)
                return jm_err_set(err, JM_EUSAGE, "feeds: the part \"%.40s\" is there twice",
                                  in->feed[i].part);
    return 0;
}

static int done(void *item, struct jm_err *err)
{
    struct jm_instrument *in = item;
    struct jm_err why = {0};
    int rc = check(in, &why);
    if (!rc && in->ops->conf_check)
        rc = in->ops->conf_check(in, &why);
    if (rc)
        return jm_err_set(err, rc, "%s%s%s", in->name && name_ok(in->name) ? in->name : "",
                          in->name && name_ok(in->name) ? ": " : "", why.text);
    return 0;
}

const struct jm_opt_maps jm_instrument_maps = {
    .table = jm_instrument_keys, .add = add, .selector = "meter", .select = select_kind, .done = done};

/* ---- the list */

bool jm_instruments_release(struct jm_instruments *list)
{
    for (size_t i = 0; i < list->n; i++)
        if (atomic_load((atomic_int *)list->v[i]->users))
            return false; /* its reader ends with the process, and may look at the whole list until then */
    for (size_t i = 0; i < list->n; i++)
        free_one(list->v[i]);
    free(list->v);
    *list = (struct jm_instruments){0};
    return true;
}

const struct jm_instrument *jm_instruments_find(const struct jm_instruments *list, const char *name)
{
    for (size_t i = 0; list && i < list->n; i++)
        if (strcmp(list->v[i]->name, name) == 0)
            return list->v[i];
    return NULL;
}

int jm_instruments_select(const struct jm_instruments *list, const char *meters,
                          const struct jm_instrument ***out, struct jm_err *err)
{
    size_t n = 0;
    const struct jm_instrument **v = calloc(list && list->n ? list->n : 1, sizeof *v);
    *out = v;
    if (!v)
        return jm_err_set(err, JM_ENOMEM, "out of memory for the configured meters");
    for (size_t i = 0; list && i < list->n; i++)
        if (jm_meter_listed(meters, list->v[i]->name) || jm_meter_listed(meters, list->v[i]->ops->name))
            v[n++] = list->v[i];
    return (int)n;
}

int jm_instruments_parse(struct jm_instruments *list, struct jm_span text, const char *file,
                         struct jm_opt_arena **arena, struct jm_err *err)
{
    static const struct jm_opt top[] = {
        {"meters", 0, JM_OPT_MAPS, 0, .maps = &jm_instrument_maps, .help = "The instruments."}, {NULL}};
    snprintf(list->file, sizeof list->file, "%s", file);
    int rc = jm_opt_yaml(top, list, text, file, arena, err);
    if (rc)
        jm_instruments_release(list);
    return rc;
}

void jm_instruments_warnings(const struct jm_instruments *list, struct jm_str *out)
{
    for (size_t i = 0; i < list->n; i++) {
        const struct jm_instrument *in = list->v[i];
        if (in->password.text)
            jm_str_addf(out,
                        "%s: its password stands in the configuration; password_file or password_env keep it "
                        "out\n",
                        in->name);
        for (const struct jm_opt *o = in->ops->opts; o && o->name; o++) {
            bool secret = o->type == JM_OPT_STR && o->arg && strcmp(o->arg, "SECRET") == 0;
            if (secret && *(const char **)((char *)in->conf + o->offset))
                jm_str_addf(out, "%s: %s stands in the configuration; %s_file or %s_env keep it out\n",
                            in->name, o->name, o->name, o->name);
        }
        if (in->tls.insecure)
            jm_str_addf(out, "%s: TLS is not verified, so who answers is not known; use tls: {pin: ...}\n",
                        in->name);
    }
}
