/* SPDX-License-Identifier: Apache-2.0 */
/* See wire/plug.h. */
#include "wire/plug.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"

#include "base/banned.h"

#define WH 3600.0
/* A counter of hundredths of a Wh in 32 bits that was taken below 0 shows 42949.672 kWh
 * (arendst/Tasmota#7674). */
#define TASMOTA_UNDERFLOW_KWH 42949.0

static enum jm_status number(const struct jm_json *v, double scale, double most, double *out)
{
    double x;
    if (!jm_json_num(v, &x) || !isfinite(x))
        return JM_S_ABSENT;
    x *= scale;
    if (fabs(x) > most)
        return JM_S_IMPLAUSIBLE;
    *out = x;
    return JM_S_OK;
}

static struct jm_plug_meter *add(struct jm_plug_reply *out, const char *part)
{
    if (out->n == JM_PLUG_METERS)
        return NULL;
    struct jm_plug_meter *m = &out->m[out->n++];
    *m = (struct jm_plug_meter){.power_status = JM_S_ABSENT, .energy_status = JM_S_ABSENT, .step_j = NAN};
    snprintf(m->part, sizeof m->part, "%s", part);
    return m;
}

static void power(struct jm_plug_meter *m, const struct jm_json *v, double scale)
{
    m->power_status = number(v, scale, 100e3, &m->power_w);
}

static void energy(struct jm_plug_meter *m, const struct jm_json *v, double scale, double step_j)
{
    m->energy_status = number(v, scale, 1e13, &m->energy_j);
    m->step_j = step_j;
    if (m->energy_status == JM_S_OK && m->energy_j < 0)
        m->energy_status = JM_S_IMPLAUSIBLE;
}

static int parse(struct jm_span body, struct jm_json **root, struct jm_plug_reply *out, const char *kind,
                 struct jm_err *err)
{
    struct jm_err why = {0};
    memset(out, 0, sizeof *out);
    int rc = body.n > ((size_t)1 << 20) ? jm_err_set(&why, JM_ELIMIT, "it is longer than 1 MiB")
                                        : jm_json_parse(body, root, &why);
    if (rc)
        return jm_err_set(err, rc, "the reply is none of a %s: %s", kind, why.text);
    if (!jm_json_is_object(*root)) {
        jm_json_free(*root);
        return jm_err_set(err, JM_EPARSE, "the reply is none of a %s: it is no object", kind);
    }
    return 0;
}

static int finish(struct jm_json *root, struct jm_plug_reply *out, const char *kind, struct jm_err *err)
{
    jm_json_free(root);
    if (out->n == 1)
        out->m[0].part[0] = '\0';
    return out->n ? 0 : jm_err_set(err, JM_EABSENT, "the %s measures no power", kind);
}

int jm_plug_shelly1(struct jm_span body, struct jm_plug_reply *out, struct jm_err *err)
{
    struct jm_json *root;
    int rc = parse(body, &root, out, "Shelly of the first generation", err);
    if (rc)
        return rc;
    for (int em = 0; em < 2; em++) {
        const struct jm_json *list = jm_json_get(root, em ? "emeters" : "meters");
        for (size_t i = 0; jm_json_is_array(list) && i < jm_json_len(list); i++) {
            const struct jm_json *o = jm_json_at(list, i);
            char part[24];
            bool valid = true;
            int64_t t;
            snprintf(part, sizeof part, "%s%zu", em ? "em" : "", i);
            struct jm_plug_meter *m = add(out, part);
            if (!m)
                break;
            jm_json_bool(jm_json_get(o, "is_valid"), &valid);
            power(m, jm_json_get(o, "power"), 1);
            energy(m, jm_json_get(o, "total"), em ? WH : 60, em ? 0.1 * WH : 60);
            if (!valid)
                m->power_status = m->energy_status = JM_S_ABSENT;
            if (jm_json_i64(jm_json_get(o, "timestamp"), &t) && t > 0)
                m->refreshed = t;
        }
    }
    jm_json_i64(jm_json_get(root, "unixtime"), &out->unix_s);
    return finish(root, out, "plug", err);
}

/* One component of the second generation; false where it is none that measures. */
static bool component(struct jm_plug_reply *out, const struct jm_json *root, const char *key,
                      const struct jm_json *o)
{
    const struct jm_json *total = jm_json_get(o, "aenergy");
    struct jm_plug_meter *m;
    char other[48];
    double v;
    if (jm_json_get(o, "apower") || total) { /* a switch, a cover, a pm1 */
        if (!(m = add(out, key)))
            return true;
        power(m, jm_json_get(o, "apower"), 1);
        energy(m, jm_json_get(total, "total"), WH, 0.001 * WH);
        jm_json_i64(jm_json_get(total, "minute_ts"), &m->refreshed);
        return true;
    }
    bool three = jm_json_get(o, "total_act_power") != NULL, one = jm_json_get(o, "act_power") != NULL;
    if (!three && !one)
        return false;
    if (!(m = add(out, key)))
        return true;
    power(m, jm_json_get(o, three ? "total_act_power" : "act_power"), 1);
    /* "em:0" counts in "emdata:0", "em1:2" in "em1data:2" */
    const char *colon = strchr(key, ':');
    if (colon) {
        snprintf(other, sizeof other, "%.*sdata%s", (int)(colon - key), key, colon);
        const struct jm_json *data = jm_json_get(root, other);
        energy(m, jm_json_get(data, three ? "total_act" : "total_act_energy"), WH, 0.01 * WH);
    }
    if (jm_json_num(jm_json_get(o, "a_act_power"), &v) && m->power_status != JM_S_OK) {
        double b = 0, c = 0; /* the sum is missing while a phase is in error */
        if (jm_json_num(jm_json_get(o, "b_act_power"), &b) &&
            jm_json_num(jm_json_get(o, "c_act_power"), &c)) {
            m->power_w = v + b + c;
            m->power_status = JM_S_OK;
        }
    }
    return true;
}

int jm_plug_shelly2(struct jm_span body, struct jm_plug_reply *out, struct jm_err *err)
{
    struct jm_json *root;
    const struct jm_json *v;
    void *it = NULL;
    const char *key;
    int rc = parse(body, &root, out, "Shelly of the second generation", err);
    if (rc)
        return rc;
    if (!component(out, root, "", root))
        while (jm_json_next(root, &it, &key, &v))
            if (jm_json_is_object(v) && strlen(key) < 24)
                component(out, root, key, v);
    jm_json_i64(jm_json_path(root, "sys.unixtime"), &out->unix_s);
    return finish(root, out, "plug", err);
}

static const struct jm_json *nth(const struct jm_json *v, size_t i)
{
    return jm_json_is_array(v) ? jm_json_at(v, i) : i == 0 ? v : NULL;
}

int jm_plug_tasmota(struct jm_span body, struct jm_plug_reply *out, struct jm_err *err)
{
    struct jm_json *root;
    int rc = parse(body, &root, out, "Tasmota", err);
    if (rc)
        return rc;
    const struct jm_json *e = jm_json_path(root, "StatusSNS.ENERGY");
    const struct jm_json *w = jm_json_get(e, "Power"), *kwh = jm_json_get(e, "Total");
    size_t n = jm_json_is_array(w) ? jm_json_len(w) : w ? 1 : 0;
    double total;
    for (size_t i = 0; i < n; i++) {
        char part[24];
        snprintf(part, sizeof part, "%zu", i);
        struct jm_plug_meter *m = add(out, part);
        if (!m)
            break;
        power(m, nth(w, i), 1);
        /* one Total of several relays is of all of them: it is no relay's */
        if (jm_json_is_array(kwh) || n == 1)
            energy(m, nth(kwh, i), 1000 * WH, WH);
        if (m->energy_status == JM_S_OK && jm_json_num(nth(kwh, i), &total) && total >= TASMOTA_UNDERFLOW_KWH)
            m->energy_status = JM_S_IMPLAUSIBLE;
    }
    return finish(root, out, "Tasmota", err);
}

int jm_plug_kasa(struct jm_span body, struct jm_plug_reply *out, struct jm_err *err)
{
    struct jm_json *root;
    int64_t code = 0;
    int rc = parse(body, &root, out, "Kasa plug", err);
    if (rc)
        return rc;
    const struct jm_json *o = jm_json_path(root, "emeter.get_realtime"), *e = jm_json_get(root, "emeter");
    if (!o)
        o = e;
    if (jm_json_is_object(o) && !(jm_json_i64(jm_json_get(o, "err_code"), &code) && code != 0)) {
        const struct jm_json *mw = jm_json_get(o, "power_mw"), *wh = jm_json_get(o, "total_wh");
        struct jm_plug_meter *m = mw || jm_json_get(o, "power") ? add(out, "") : NULL;
        if (m) {
            power(m, mw ? mw : jm_json_get(o, "power"), mw ? 1e-3 : 1);
            if (wh)
                energy(m, wh, WH, WH);
            else
                energy(m, jm_json_get(o, "total"), 1000 * WH, WH);
        }
    }
    return finish(root, out, "plug", err);
}

int jm_plug_tapo(struct jm_span body, struct jm_plug_reply *out, struct jm_err *err)
{
    struct jm_json *root;
    int64_t code = 0;
    int rc = parse(body, &root, out, "Tapo plug", err);
    if (rc)
        return rc;
    const struct jm_json *o = jm_json_get(root, "result"), *mw = jm_json_get(o, "current_power");
    if (!(jm_json_i64(jm_json_get(root, "error_code"), &code) && code != 0) && mw) {
        struct jm_plug_meter *m = add(out, "");
        if (m) {
            power(m, mw, 1e-3);
            energy(m, jm_json_get(o, "today_energy"), WH, WH);
        }
    }
    return finish(root, out, "plug", err);
}

size_t jm_plug_kasa_children(struct jm_span body, char id[][JM_KASA_CHILD], size_t most)
{
    struct jm_json *root;
    struct jm_span device = {NULL, 0}, own;
    size_t n = 0;
    if (body.n > (size_t)1 << 20 || jm_json_parse(body, &root, NULL))
        return 0;
    const struct jm_json *info = jm_json_path(root, "system.get_sysinfo"),
                         *list = jm_json_get(info, "children");
    jm_json_str(jm_json_get(info, "deviceId"), &device);
    for (size_t i = 0; jm_json_is_array(list) && i < jm_json_len(list) && n < most; i++) {
        if (!jm_json_str(jm_json_get(jm_json_at(list, i), "id"), &own) || !own.n)
            continue;
        struct jm_span before =
            own.n <= 2 ? device : (struct jm_span){NULL, 0}; /* "00": behind the strip's own */
        bool plain = before.n + own.n < JM_KASA_CHILD;
        for (size_t k = 0; plain && k < before.n + own.n; k++) {
            char c = k < before.n ? before.p[k] : own.p[k - before.n];
            plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'F') || (c >= 'a' && c <= 'f');
            id[n][k] = c;
        }
        if (!plain)
            continue;
        id[n++][before.n + own.n] = '\0';
    }
    jm_json_free(root);
    return n;
}

void jm_kasa_encode(struct jm_span text, struct jm_str *out)
{
    unsigned char k = 171;
    for (int shift = 24; shift >= 0; shift -= 8)
        jm_str_addc(out, (char)(text.n >> shift & 255));
    for (size_t i = 0; i < text.n; i++) {
        k ^= (unsigned char)text.p[i];
        jm_str_addc(out, (char)k);
    }
}

void jm_kasa_decode(const unsigned char *in, size_t n, char *out)
{
    unsigned char k = 171;
    for (size_t i = 0; i < n; i++) {
        unsigned char c = in[i];
        out[i] = (char)(c ^ k);
        k = c;
    }
}
