/* SPDX-License-Identifier: Apache-2.0 */
#include "mlperf/proto.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/num.h"

#include "base/banned.h"

const char *const jm_mlperf_fetch_files[] = {"power/ptd_logs.txt",
                                             "ranging/spl.txt",
                                             "power/server.json",
                                             "power/server.log",
                                             "run_1/spl.txt",
                                             "run_1/ptd_out.txt",
                                             NULL};

const char *jm_mlperf_mode_name(enum jm_mlperf_mode mode)
{
    return mode == JM_MLPERF_RANGING ? "ranging" : "testing";
}

const char *jm_mlperf_mode_dir(enum jm_mlperf_mode mode)
{
    return mode == JM_MLPERF_RANGING ? "ranging" : "run_1";
}

bool jm_mlperf_label_ok(struct jm_span label)
{
    static const char ok[] = "-_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    if (label.n > JM_MLPERF_LABEL)
        return false;
    for (size_t i = 0; i < label.n; i++)
        if (!label.p[i] || !strchr(ok, label.p[i]))
            return false;
    return true;
}

bool jm_mlperf_id_ok(struct jm_span id)
{
    /* the stamp and the line before the label come to 20 characters */
    struct jm_span tail = jm_span_sub(id, 20, id.n), head = jm_span_sub(id, 0, 20);
    return id.n > 0 && id.n < JM_MLPERF_ID && jm_mlperf_label_ok(head) && jm_mlperf_label_ok(tail);
}

void jm_mlperf_id_make(int64_t real_ns, int64_t utc_offset_s, struct jm_span label, char out[JM_MLPERF_ID])
{
    struct jm_civil c = jm_time_civil(real_ns / JM_NS_PER_S + utc_offset_s);
    snprintf(out, JM_MLPERF_ID, "%04d-%02d-%02d_%02d-%02d-%02d%s%.*s", c.year, c.month, c.day, c.hour,
             c.minute, c.second, label.n ? "_" : "", (int)label.n, label.n ? label.p : "");
}

static int hex(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

static void uuid_text(const unsigned char b[16], char out[JM_MLPERF_UUID])
{
    static const char digits[] = "0123456789abcdef";
    size_t n = 0;
    for (int i = 0; i < 16; i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10)
            out[n++] = '-';
        out[n++] = digits[b[i] >> 4];
        out[n++] = digits[b[i] & 15];
    }
    out[n] = '\0';
}

bool jm_mlperf_uuid_parse(struct jm_span s, char out[JM_MLPERF_UUID])
{
    unsigned char b[16];
    size_t digits = 0;
    if (jm_span_starts(s, JM_SPAN("urn:")))
        s = jm_span_sub(s, 4, s.n);
    if (jm_span_starts(s, JM_SPAN("uuid:")))
        s = jm_span_sub(s, 5, s.n);
    if (s.n > 64)
        return false;
    while (s.n && (s.p[0] == '{' || s.p[0] == '}'))
        s = jm_span_sub(s, 1, s.n);
    while (s.n && (s.p[s.n - 1] == '{' || s.p[s.n - 1] == '}'))
        s.n--;
    for (size_t i = 0; i < s.n; i++) {
        int v = hex(s.p[i]);
        if (s.p[i] == '-')
            continue;
        if (v < 0 || digits == 32)
            return false;
        b[digits / 2] = (unsigned char)(digits % 2 ? b[digits / 2] | v : v << 4);
        digits++;
    }
    if (digits != 32)
        return false;
    uuid_text(b, out);
    return true;
}

int jm_mlperf_uuid_new(char out[JM_MLPERF_UUID], struct jm_err *err)
{
    unsigned char b[16];
    ssize_t got;
    do
        got = getrandom(b, sizeof b, 0);
    while (got < 0 && errno == EINTR);
    if (got != (ssize_t)sizeof b)
        return jm_err_sys(err, got < 0 ? errno : EIO, "cannot get random bytes for a UUID");
    b[6] = (unsigned char)((b[6] & 0x0f) | 0x40);
    b[8] = (unsigned char)((b[8] & 0x3f) | 0x80);
    uuid_text(b, out);
    return 0;
}

/* Digits and decimal exponent (value = 0.d1d2d3… × 10^point) of the shortest text that reads back. */
static size_t shortest(double v, char digits[24], int *point)
{
    char text[40];
    size_t n = 0;
    for (int prec = 0; prec <= 16; prec++) {
        double back;
        snprintf(text, sizeof text, "%.*e", prec, v);
        char *comma = prec ? text + 1 : NULL; /* the locale's decimal point */
        if (comma)
            *comma = '.';
        if (jm_num_double(jm_span_of(text), &back) == 0 && back == v)
            break;
    }
    const char *e = strchr(text, 'e');
    for (const char *p = text; p < e; p++)
        if (*p >= '0' && *p <= '9')
            digits[n++] = *p;
    int64_t exp10 = 0;
    struct jm_span x = jm_span_of(e + 1);
    if (x.n && x.p[0] == '+')
        x = jm_span_sub(x, 1, x.n);
    (void)jm_num_i64(x, &exp10);
    *point = (int)exp10 + 1;
    return n;
}

char *jm_mlperf_repr(double v, char out[JM_MLPERF_REPR])
{
    char digits[24] = "";
    int point = 0;
    if (isnan(v) || isinf(v)) {
        snprintf(out, JM_MLPERF_REPR, "%s", isnan(v) ? "nan" : v < 0 ? "-inf" : "inf");
        return out;
    }
    const char *sign = signbit(v) ? "-" : "";
    v = fabs(v);
    if (v == 0) {
        snprintf(out, JM_MLPERF_REPR, "%s0.0", sign);
        return out;
    }
    int n = (int)shortest(v, digits, &point);
    while (n > 1 && digits[n - 1] == '0')
        n--;
    if (point > 16 || point < -3) { /* as repr(): exponents below -4 and from 16 on */
        int e = point - 1;
        snprintf(out, JM_MLPERF_REPR, "%s%c%s%.*se%c%02d", sign, digits[0], n > 1 ? "." : "", n - 1,
                 digits + 1, e < 0 ? '-' : '+', e < 0 ? -e : e);
    } else if (point <= 0) {
        snprintf(out, JM_MLPERF_REPR, "%s0.%.*s%.*s", sign, -point, "0000", n, digits);
    } else if (point >= n) {
        snprintf(out, JM_MLPERF_REPR, "%s%.*s%.*s.0", sign, n, digits, point - n, "0000000000000000");
    } else {
        snprintf(out, JM_MLPERF_REPR, "%s%.*s.%.*s", sign, point, digits, n - point, digits + point);
    }
    return out;
}

double jm_mlperf_unix(int64_t real_ns)
{
    return (double)real_ns / 1e9;
}

static bool mode_of(struct jm_span s, enum jm_mlperf_mode *mode)
{
    *mode = jm_span_is(s, "testing") ? JM_MLPERF_TESTING : JM_MLPERF_RANGING;
    return jm_span_is(s, "testing") || jm_span_is(s, "ranging");
}

static void session_cmd(const struct jm_span *f, size_t n, struct jm_mlperf_cmd *out)
{
    out->session = f[1];
    out->verb = JM_MLPERF_V_SESSION_UNKNOWN;
    if (n == 3 && jm_span_is(f[2], "done"))
        out->verb = JM_MLPERF_V_SESSION_DONE;
    else if (n == 4 && mode_of(f[3], &out->mode) && jm_span_is(f[2], "start"))
        out->verb = JM_MLPERF_V_SESSION_START;
    else if (n == 4 && mode_of(f[3], &out->mode) && jm_span_is(f[2], "stop"))
        out->verb = JM_MLPERF_V_SESSION_STOP;
    else if (n == 6 && jm_span_is(f[2], "start") && jm_span_is(f[3], "testing")) {
        out->verb = JM_MLPERF_V_SESSION_START;
        out->mode = JM_MLPERF_TESTING;
        out->fixed = true;
        out->volts = f[4];
        out->amps = f[5];
    }
}

void jm_mlperf_cmd_parse(struct jm_span line, struct jm_mlperf_cmd *out)
{
    struct jm_span f[8], rest = line;
    size_t n = 0;
    *out = (struct jm_mlperf_cmd){.verb = JM_MLPERF_V_UNKNOWN};
    for (struct jm_span x; n < 8 && jm_span_field(&rest, ',', &x);)
        f[n++] = x;
    /* the words after these three are not looked at, as in the public tool */
    if (n && jm_span_is(f[0], "time"))
        out->verb = JM_MLPERF_V_TIME;
    else if (n && jm_span_is(f[0], "set_ntp"))
        out->verb = JM_MLPERF_V_SET_NTP;
    else if (n && jm_span_is(f[0], "stop"))
        out->verb = JM_MLPERF_V_STOP;
    else if (n == 3 && jm_span_is(f[0], "new")) {
        out->verb = JM_MLPERF_V_NEW;
        out->label = f[1];
        out->uuid = f[2];
    } else if (n >= 3 && jm_span_is(f[0], "session"))
        session_cmd(f, n, out);
    else if (n >= 3 && jm_span_is(f[0], "download")) {
        out->verb = JM_MLPERF_V_DOWNLOAD;
        out->session = f[1];
        out->file = f[2];
    } else if (n >= 2 && jm_span_is(f[0], "cleanup")) {
        out->verb = JM_MLPERF_V_CLEANUP;
        out->session = f[1];
    }
}

int jm_mlperf_new_reply(struct jm_span reply, char id[JM_MLPERF_ID], char uuid[JM_MLPERF_UUID],
                        struct jm_err *err)
{
    struct jm_span rest = reply, session = {0}, u = {0};
    if (jm_span_starts(rest, JM_SPAN("OK "))) {
        rest = jm_span_sub(rest, 3, rest.n);
        if (jm_span_field(&rest, ',', &session) && jm_span_field(&rest, ',', &u) && !rest.p &&
            jm_mlperf_id_ok(session) && jm_mlperf_uuid_parse(u, uuid)) {
            snprintf(id, JM_MLPERF_ID, "%.*s", (int)session.n, session.p);
            return 0;
        }
    }
    char text[200];
    size_t n = reply.n < sizeof text ? reply.n : sizeof text;
    if (n)
        memcpy(text, reply.p, n);
    jm_text_plain(text, n, false);
    return jm_err_set(err, JM_EPARSE,
                      "the Director answered a request for a new session with \"%.*s\", not with \"OK "
                      "SESSION,UUID\"; is it one that speaks version 3 of the protocol?",
                      (int)n, text);
}

int jm_mlperf_time_reply(struct jm_span reply, double *unix_s, struct jm_err *err)
{
    if (jm_num_double(reply, unix_s) == 0 && isfinite(*unix_s))
        return 0;
    char text[64];
    size_t n = reply.n < sizeof text ? reply.n : sizeof text;
    if (n)
        memcpy(text, reply.p, n);
    jm_text_plain(text, n, false);
    return jm_err_set(err, JM_EPARSE, "the Director answered \"%.*s\" when it was asked for its time", (int)n,
                      text);
}
