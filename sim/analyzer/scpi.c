/* SPDX-License-Identifier: Apache-2.0 */
/* The commands, by their public short and long forms. Several stand on a line, parted by ';'; their answers
 * are parted so too. */
#include "analyzer/analyzer.h"
#include "simgpu_text.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { E_HEADER = 113, E_PARAMETER = 222, E_MISSING = 109, E_INTEGRATING = 813, E_STATE = 800 };

struct call {
    struct siman *a;
    const char *name; /* full header of the row, for answers with COMM:HEAD ON */
    bool query;
    char *arg; /* what stands behind the header, trimmed; never NULL */
    int index; /* the number in ITEM<x>, ELEMENT<x>; 0: none */
};

static void error(struct siman *a, int code)
{
    if (a->errors < SIMAN_ERRORS)
        a->error[a->errors++] = code;
}

static void bytes(struct siman *a, const char *p, size_t n)
{
    if (a->out_n + n > SIMAN_OUT) {
        a->overflow = true;
        return;
    }
    memcpy(a->out + a->out_n, p, n);
    a->out_n += n;
}

static void answer(struct call *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void answer(struct call *c, const char *fmt, ...)
{
    char text[8192];
    va_list ap;
    if (c->a->answered)
        bytes(c->a, ";", 1);
    c->a->answered = true;
    if (c->a->header && c->name[0] != '*') {
        bytes(c->a, c->name, strlen(c->name));
        bytes(c->a, " ", 1);
    }
    va_start(ap, fmt);
    int n = vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    bytes(c->a, text, n < 0 ? 0 : (size_t)n < sizeof text ? (size_t)n : sizeof text - 1);
}

void siman_number(double x, double range, char out[32])
{
    int e = (int)floor(log10(range) / 3 + 1e-9) * 3;
    int digits = e - (int)lround(log10(simwt_step(range)));
    snprintf(out, 32, "%.*fE%c%02d",
             digits < 0   ? 0
             : digits > 9 ? 9
                          : digits,
             x / pow(10, e), e < 0 ? '-' : '+', e < 0 ? -e : e);
}

static bool number(const char *text, double *out)
{
    char *end;
    *out = strtod(text, &end);
    if (end == text || !isfinite(*out))
        return false;
    while (*end && isalpha((unsigned char)*end)) /* 300V, 5A, 500MA */
        end++;
    size_t n = strlen(text);
    if (n > 2 && strcasecmp(text + n - 2, "MA") == 0)
        *out /= 1000;
    if (n > 2 && strcasecmp(text + n - 2, "MS") == 0)
        *out /= 1000;
    return *end == 0;
}

static bool on_off(struct call *c, bool *value)
{
    bool on = strcasecmp(c->arg, "ON") == 0 || strcmp(c->arg, "1") == 0;
    if (c->query) {
        answer(c, "%d", *value);
        return false;
    }
    if (!on && strcasecmp(c->arg, "OFF") != 0 && strcmp(c->arg, "0") != 0) {
        error(c->a, E_PARAMETER);
        return false;
    }
    *value = on;
    return true;
}

static bool integrating(struct call *c)
{
    bool yes = !c->query && c->a->integ == INTEG_START;
    if (yes)
        error(c->a, E_INTEGRATING);
    return yes;
}

static void idn(struct call *c)
{
    const struct siman_fault *f = siman_fault(c->a, AF_IDN);
    if (f)
        answer(c, "SOMEBODY,ELSE,0,1");
    else
        answer(c, "JOULEMARK,SIM-%s,%s,F0.00", c->a->m->product, c->a->o->serial);
}

static void rst(struct call *c)
{
    siman_reset(c->a);
}

static void cls(struct call *c)
{
    c->a->errors = 0;
    c->a->event = 0;
}

static void one(struct call *c)
{
    if (c->query)
        answer(c, "1");
}

static void zero(struct call *c)
{
    if (c->query)
        answer(c, "0");
}

static void header(struct call *c)
{
    on_off(c, &c->a->header);
}

static void verbose(struct call *c)
{
    on_off(c, &c->a->verbose);
}

static void hold(struct call *c)
{
    on_off(c, &c->a->hold);
}

static void range(struct call *c, const double *list, double *value, bool *is_auto)
{
    double x, r;
    if (c->query) {
        bool milli = *value < 1;
        answer(c, "%.1fE%s", milli ? *value * 1000 : *value, milli ? "-03" : "+00");
    } else if (!integrating(c)) {
        r = number(c->arg, &x) ? simwt_range(list, x) : 0;
        if (r == 0) {
            error(c->a, E_PARAMETER);
            return;
        }
        *value = r;
        *is_auto = false;
    }
}

static void volt_range(struct call *c)
{
    range(c, c->a->m->volts, &c->a->v_range, &c->a->v_auto);
}

static void amp_range(struct call *c)
{
    range(c, c->a->m->amps, &c->a->a_range, &c->a->a_auto);
}

static void volt_auto(struct call *c)
{
    if (!integrating(c))
        on_off(c, &c->a->v_auto);
}

static void amp_auto(struct call *c)
{
    if (!integrating(c))
        on_off(c, &c->a->a_auto);
}

static void cfac(struct call *c)
{
    if (c->query)
        answer(c, "%d", c->a->cfac);
    else if (!integrating(c)) {
        if (strcmp(c->arg, "3") == 0 || strcmp(c->arg, "6") == 0)
            c->a->cfac = c->arg[0] - '0';
        else
            error(c->a, E_PARAMETER);
    }
}

static void mode(struct call *c)
{
    if (c->query)
        answer(c, "%s", c->a->m->dc ? "DC" : "RMS");
    else if (!integrating(c) && strcasecmp(c->arg, c->a->m->dc ? "DC" : "RMS") != 0)
        error(c->a, E_PARAMETER);
}

static void wiring(struct call *c)
{
    answer(c, "%s", c->a->o->elements == 1 ? "P1W2" : c->a->o->elements == 2 ? "P1W3" : "P3W4");
}

static void sync_source(struct call *c)
{
    if (c->query)
        answer(c, "CURR");
}

static void rate(struct call *c)
{
    double s;
    char text[32];
    if (c->query) {
        siman_number((double)c->a->rate_ns / 1e9, (double)c->a->rate_ns / 1e9, text);
        answer(c, "%s", text);
    } else if (!integrating(c)) {
        if (!number(c->arg, &s) || s < .05 || s > 20)
            error(c->a, E_PARAMETER);
        else {
            c->a->rate_ns = llround(s * 1e9);
            c->a->next_ns = simclock_now(&c->a->clock) + c->a->rate_ns;
        }
    }
}

static void form(struct call *c)
{
    if (c->query)
        answer(c, "%s", c->a->is_float ? "FLO" : "ASC");
    else if (strncasecmp(c->arg, "ASC", 3) == 0)
        c->a->is_float = false;
    else if (strncasecmp(c->arg, "FLO", 3) == 0)
        c->a->is_float = true;
    else
        error(c->a, E_PARAMETER);
}

static void items(struct call *c)
{
    int64_t n;
    if (c->query)
        answer(c, "%d", c->a->items);
    else if (strcasecmp(c->arg, "ALL") == 0)
        c->a->items = SIMAN_ITEMS;
    else if (simgpu_quantity_z(c->arg, simgpu_units_plain, &n) && n >= 1 && n <= SIMAN_ITEMS)
        c->a->items = (int)n;
    else
        error(c->a, E_PARAMETER);
}

static const struct {
    const char *name;
    enum siman_quantity q;
} quantities[] = {{"NONE", Q_NONE}, {"U", Q_U},         {"URMS", Q_U},  {"I", Q_I},
                  {"IRMS", Q_I},    {"P", Q_P},         {"S", Q_S},     {"Q", Q_Q},
                  {"LAMB", Q_LAMB}, {"LAMBDA", Q_LAMB}, {"PHI", Q_PHI}, {"FU", Q_FU},
                  {"FI", Q_FI},     {"WH", Q_WH},       {"AH", Q_AH},   {"TIME", Q_TIME}};

static void item(struct call *c)
{
    size_t n = sizeof quantities / sizeof *quantities, k = 0;
    if (c->index < 1 || c->index > SIMAN_ITEMS) {
        error(c->a, E_PARAMETER);
        return;
    }
    struct siman_item *it = &c->a->item[c->index - 1];
    if (c->query) {
        while (k < n && quantities[k].q != it->quantity)
            k++;
        if (it->quantity == Q_NONE)
            answer(c, "NONE");
        else if (it->element == 0)
            answer(c, "%s,SIGM", quantities[k].name);
        else
            answer(c, "%s,%d", quantities[k].name, it->element);
        return;
    }
    size_t len = strcspn(c->arg, ",");
    while (k < n && !(strlen(quantities[k].name) == len && strncasecmp(c->arg, quantities[k].name, len) == 0))
        k++;
    const char *e = c->arg[len] ? c->arg + len + 1 : "1";
    int element = strncasecmp(e, "SIG", 3) == 0 ? 0 : *e >= '1' && *e <= '9' && !e[1] ? *e - '0' : -1;
    if (k == n || element < 0 || element > c->a->o->elements)
        error(c->a, E_PARAMETER);
    else
        *it = (struct siman_item){(uint8_t)quantities[k].q, (uint8_t)element};
}

/* 6 digits as integrated values have: "12.3456E+00". */
static void six(double x, char out[32])
{
    int e = x >= 1e6 ? 6 : x >= 1e3 ? 3 : x > 0 && x < 1 ? -3 : 0;
    double m = x / pow(10, e);
    int whole = m >= 100 ? 3 : m >= 10 ? 2 : 1;
    snprintf(out, 32, "%.*fE%c%02d", 6 - whole, m, e < 0 ? '-' : '+', e < 0 ? -e : e);
}

/* An item's value; NAN and INFINITY as the instrument means them. */
static double value(const struct siman *a, const struct siman_item *it, double *shown_range)
{
    const struct simwt_value *v = &a->now[it->element];
    int parts = it->element == 0 ? a->o->elements : 1;
    *shown_range = 0;
    if (it->quantity == Q_WH)
        return a->wh[it->element];
    if (it->quantity == Q_AH)
        return a->ah[it->element];
    if (it->quantity == Q_TIME)
        return (double)(a->integ_ns / 1000000000);
    if (!a->updated || it->quantity == Q_NONE || v->flags & SIMWT_NONE)
        return NAN;
    if (v->flags & SIMWT_OVER && it->quantity != Q_U && it->quantity != Q_FU)
        return INFINITY;
    double s = v->v * v->a * parts;
    switch (it->quantity) {
    case Q_U: *shown_range = a->v_range; return v->v;
    case Q_I: *shown_range = a->a_range; return v->a;
    case Q_P: *shown_range = a->v_range * a->a_range * parts; return v->w;
    case Q_S: *shown_range = a->v_range * a->a_range * parts; return s;
    case Q_Q: *shown_range = a->v_range * a->a_range * parts; return sqrt(fmax(0, s * s - v->w * v->w));
    case Q_LAMB: return v->pf;
    case Q_PHI: return acos(fmin(1, v->pf)) * 180 / 3.14159265358979323846;
    default: return a->m->dc ? NAN : a->o->load.hz;
    }
}

static void write_value(const struct siman *a, const struct siman_item *it, char out[32])
{
    double range, x = value(a, it, &range);
    bool old = strncmp(a->m->name, "WT210", 5) == 0;
    if (isnan(x))
        snprintf(out, 32, "%s", old ? "9.91E+37" : "NAN");
    else if (isinf(x))
        snprintf(out, 32, "%s", old ? "9.9E+37" : "INF");
    else if (it->quantity == Q_TIME && old)
        snprintf(out, 32, "%d,%d,%d", (int)(x / 3600), (int)(x / 60) % 60, (int)x % 60);
    else if (it->quantity == Q_TIME)
        snprintf(out, 32, "%d", (int)x);
    else if (it->quantity == Q_WH || it->quantity == Q_AH)
        six(x, out);
    else if (range > 0)
        siman_number(x, range, out);
    else
        snprintf(out, 32, "%.4fE+00", x);
}

static void put_float(struct siman *a, double x)
{
    union {
        float f;
        uint32_t u;
    } v = {.f = (float)x};
    if (isnan(x))
        v.u = 0x7E951BEE; /* 9.91E+37 */
    else if (isinf(x))
        v.u = 0x7E94F56A; /* 9.9E+37 */
    char b[4] = {(char)(v.u >> 24), (char)(v.u >> 16), (char)(v.u >> 8), (char)v.u};
    bytes(a, b, 4);
}

static void values(struct call *c)
{
    struct siman *a = c->a;
    int from = 1, to = a->items;
    int64_t n;
    char text[32];
    if (*c->arg) {
        if (!simgpu_quantity_z(c->arg, simgpu_units_plain, &n) || n < 1 || n > SIMAN_ITEMS) {
            error(a, E_PARAMETER);
            return;
        }
        from = to = (int)n;
    }
    answer(c, "%s", "");
    if (a->is_float) {
        double range;
        int len = snprintf(text, sizeof text, "#4%04d", 4 * (to - from + 1));
        bytes(a, text, (size_t)len);
        for (int i = from; i <= to; i++)
            put_float(a, value(a, &a->item[i - 1], &range));
        return;
    }
    for (int i = from; i <= to; i++) {
        write_value(a, &a->item[i - 1], text);
        if (i > from)
            bytes(a, ",", 1);
        bytes(a, text, strlen(text));
    }
}

static void preset(struct call *c)
{
    static const enum siman_quantity order[] = {Q_U, Q_I, Q_P, Q_S, Q_Q, Q_LAMB, Q_PHI, Q_FU, Q_FI, Q_NONE};
    struct siman *a = c->a;
    memset(a->item, 0, sizeof a->item);
    for (int e = 0; e < a->o->elements; e++) /* the items of elements lie 10 apart */
        for (int k = 0; k < 10; k++)
            a->item[10 * e + k] = (struct siman_item){(uint8_t)order[k], (uint8_t)(e + 1)};
    a->items = 10 * a->o->elements;
}

static void integ_mode(struct call *c)
{
    if (c->query)
        answer(c, "NORM");
    else if (!integrating(c) && strncasecmp(c->arg, "NORM", 4) != 0)
        error(c->a, E_PARAMETER);
}

static void integ_timer(struct call *c)
{
    int h, m, s;
    char rest;
    int64_t t = c->a->timer_ns / 1000000000;
    if (c->query)
        answer(c, "%d,%d,%d", (int)(t / 3600), (int)(t / 60) % 60, (int)t % 60);
    else if (!integrating(c)) {
        if (sscanf(c->arg, "%5d,%2d,%2d%c", &h, &m, &s, &rest) == 3 && h >= 0 && h <= 10000 && m >= 0 &&
            m < 60 && s >= 0 && s < 60)
            c->a->timer_ns = ((int64_t)h * 3600 + m * 60 + s) * 1000000000;
        else
            error(c->a, E_PARAMETER);
    }
}

static void integ_start(struct call *c)
{
    if (c->a->integ == INTEG_START || c->a->integ == INTEG_TIMEUP)
        error(c->a, E_STATE);
    else
        siman_integrate(c->a, INTEG_START);
}

static void integ_stop(struct call *c)
{
    if (c->a->integ != INTEG_START)
        error(c->a, E_STATE);
    else
        siman_integrate(c->a, INTEG_STOP);
}

static void integ_reset(struct call *c)
{
    if (!integrating(c))
        siman_integrate(c->a, INTEG_RESET);
}

static void integ_state(struct call *c)
{
    static const char *const words[] = {"RES", "STAR", "STOP", "TIM"};
    answer(c, "%s", words[c->a->integ]);
}

static void status_error(struct call *c)
{
    struct siman *a = c->a;
    int code = a->errors ? a->error[0] : 0;
    const char *text = code == 0               ? "No error"
                       : code == E_HEADER      ? "Undefined header"
                       : code == E_MISSING     ? "Missing parameter"
                       : code == E_PARAMETER   ? "Data out of range"
                       : code == E_INTEGRATING ? "Invalid operation during integration"
                                               : "Invalid state of integration";
    if (a->errors) {
        a->errors--;
        memmove(a->error, a->error + 1, (size_t)a->errors * sizeof *a->error);
    }
    answer(c, "%d,\"%s\"", code, text);
}

static void condition(struct call *c)
{
    answer(c, "%u", c->a->condition);
}

static void event(struct call *c)
{
    answer(c, "%u", c->a->event);
    c->a->event = 0;
}

/* Capitals are the short form; [..] may be left out; <x> is a number. Q: query only, S: set only. */
static const struct {
    const char *header, *kind;
    void (*fn)(struct call *c);
} rows[] = {
    {"*IDN", "Q", idn},
    {"*RST", "S", rst},
    {"*CLS", "S", cls},
    {"*OPC", "", one},
    {"*ESR", "Q", zero},
    {"*STB", "Q", zero},
    {"*ESE", "", zero},
    {"*SRE", "", zero},
    {"*WAI", "S", one},
    {"*TRG", "S", one},
    {":COMMunicate:REMote", "", one},
    {":COMMunicate:HEADer", "", header},
    {":COMMunicate:VERBose", "", verbose},
    {":COMMunicate:WAIT", "S", one},
    {":SYSTem:COMMunicate:COMMand", "", one},
    {"[:INPut]:VOLTage:RANGe", "", volt_range},
    {"[:INPut]:VOLTage:RANGe:ALL", "", volt_range},
    {"[:INPut]:VOLTage:RANGe:ELEMent<x>", "", volt_range},
    {"[:INPut]:VOLTage:AUTO", "", volt_auto},
    {"[:INPut]:VOLTage:AUTO:ALL", "", volt_auto},
    {"[:INPut]:VOLTage:AUTO:ELEMent<x>", "", volt_auto},
    {"[:INPut]:CURRent:RANGe", "", amp_range},
    {"[:INPut]:CURRent:RANGe:ALL", "", amp_range},
    {"[:INPut]:CURRent:RANGe:ELEMent<x>", "", amp_range},
    {"[:INPut]:CURRent:AUTO", "", amp_auto},
    {"[:INPut]:CURRent:AUTO:ALL", "", amp_auto},
    {"[:INPut]:CURRent:AUTO:ELEMent<x>", "", amp_auto},
    {"[:INPut]:CFACtor", "", cfac},
    {"[:INPut]:MODE", "", mode},
    {"[:INPut]:WIRing", "Q", wiring},
    {"[:INPut]:SYNChronize", "", sync_source},
    {"[:INPut]:FILTer:LINE", "", zero},
    {"[:INPut]:FILTer:FREQuency", "", zero},
    {":RATE", "", rate},
    {":SAMPle:RATE", "", rate},
    {":SAMPle:HOLD", "", hold},
    {":HOLD", "", hold},
    {":NUMeric:FORMat", "", form},
    {":NUMeric[:NORMal]:NUMber", "", items},
    {":NUMeric[:NORMal]:ITEM<x>", "", item},
    {":NUMeric[:NORMal]:PRESet", "S", preset},
    {":NUMeric[:NORMal]:VALue", "Q", values},
    {":INTEGrate:MODE", "", integ_mode},
    {":INTEGrate:TIMer", "", integ_timer},
    {":INTEGrate:TIMer<x>", "", integ_timer},
    {":INTEGrate:STARt", "S", integ_start},
    {":INTEGrate:STOP", "S", integ_stop},
    {":INTEGrate:RESet", "S", integ_reset},
    {":INTEGrate:STATe", "Q", integ_state},
    {":STATus:ERRor", "Q", status_error},
    {":STATus:CONDition", "Q", condition},
    {":STATus:EESR", "Q", event},
    {":MEASure:AVERaging:STATe", "", zero},
};

/* One word of a header: its short or its long form. */
static bool word(const char *p, size_t pn, const char *t, size_t tn)
{
    size_t s = 0;
    while (s < pn && !islower((unsigned char)p[s]))
        s++;
    return (tn == s || tn == pn) && strncasecmp(p, t, tn) == 0;
}

#define WORDS 6
struct words {
    const char *p[WORDS];
    size_t n[WORDS];
    bool optional[WORDS];
    int count;
};

/* ":NUMeric[:NORMal]:ITEM<x>" into its words; false: too many or an empty one. */
static bool split(const char *t, size_t n, struct words *w)
{
    bool optional = false;
    w->count = 0;
    for (size_t i = 0; i < n;) {
        if (t[i] == '[' || t[i] == ']') {
            optional = t[i++] == '[';
            continue;
        }
        i += t[i] == ':';
        size_t k = i;
        while (k < n && !strchr(":[]", t[k]))
            k++;
        if (k == i || w->count == WORDS)
            return false;
        w->p[w->count] = t + i;
        w->n[w->count] = k - i;
        w->optional[w->count++] = optional;
        i = k;
    }
    return w->count > 0;
}

static bool match(const struct words *p, int i, const struct words *t, int k, int *index)
{
    if (i == p->count)
        return k == t->count;
    if (k < t->count) {
        size_t pn = p->n[i], tn = t->n[k];
        bool numbered = pn > 3 && memcmp(p->p[i] + pn - 3, "<x>", 3) == 0;
        if (numbered) {
            pn -= 3;
            while (tn > 0 && isdigit((unsigned char)t->p[k][tn - 1]))
                tn--;
        }
        if (word(p->p[i], pn, t->p[k], tn) && numbered == (tn < t->n[k])) {
            if (numbered)
                *index = t->n[k] - tn < 4 ? (int)strtol(t->p[k] + tn, NULL, 10) : 9999;
            if (match(p, i + 1, t, k + 1, index))
                return true;
        }
    }
    return p->optional[i] && match(p, i + 1, t, k, index);
}

/* Does header[n] as typed fit a row's pattern? */
static bool fits(const char *pattern, const char *t, size_t n, int *index)
{
    struct words p, h;
    *index = 0;
    if (*pattern == '*')
        return strlen(pattern) == n && strncasecmp(pattern, t, n) == 0;
    return split(pattern, strlen(pattern), &p) && split(t, n, &h) && match(&p, 0, &h, 0, index);
}

/* The row for a header; *index as typed. NULL: none. */
static int find(const char *t, size_t n, int *index)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (fits(rows[i].header, t, n, index))
            return (int)i;
    return -1;
}

/* path: the header before on this line without its last word, to which a header without ':' in front is
 * relative
 * (":NUM:ITEM1 U,1;ITEM2 I,1"). */
static void command(struct siman *a, char *text, char path[128])
{
    char whole[256];
    while (isspace((unsigned char)*text))
        text++;
    size_t n = strcspn(text, " \t?");
    struct call c = {.a = a, .query = text[n] == '?'};
    if (!*text)
        return;
    c.arg = text + n + c.query;
    while (isspace((unsigned char)*c.arg))
        c.arg++;
    for (size_t e = strlen(c.arg); e > 0 && isspace((unsigned char)c.arg[e - 1]); e--)
        c.arg[e - 1] = 0;
    int row = -1;
    const char *header = text;
    size_t len = n;
    if (*text != ':' && *text != '*' && *path && n < 100) {
        len = (size_t)snprintf(whole, sizeof whole, "%s:%.*s", path, (int)n, text);
        header = whole;
        row = find(header, len, &c.index);
    }
    if (row < 0) {
        header = text;
        len = n;
        row = find(header, len, &c.index);
    }
    if (*text != '*') {
        size_t up = len;
        while (up > 0 && header[up - 1] != ':')
            up--;
        up -= up > 0;
        char next[128];
        snprintf(next, sizeof next, "%.*s", up < sizeof next ? (int)up : 0, header);
        memcpy(path, next, sizeof next);
    }
    if (row < 0 || (rows[row].kind[0] == 'Q' && !c.query) || (rows[row].kind[0] == 'S' && c.query)) {
        error(a, E_HEADER);
        return;
    }
    char full[64];
    size_t k = 0;
    for (const char *p = rows[row].header; *p && *p != '<' && k + 1 < sizeof full; p++)
        if (*p != '[' && *p != ']')
            full[k++] = (char)toupper((unsigned char)*p);
    full[k] = 0;
    c.name = full;
    rows[row].fn(&c);
}

void siman_line(struct siman *a, char *line)
{
    char path[128] = "";
    a->out_n = 0;
    a->answered = a->overflow = false;
    for (char *p = line; p;) {
        char *end = strchr(p, ';');
        if (end)
            *end = 0;
        command(a, p, path);
        p = end ? end + 1 : NULL;
    }
    if (a->overflow)
        a->out_n = 0;
}
