/* SPDX-License-Identifier: Apache-2.0 */
/* chronyd's command protocol as its clients see it (candm.h of chrony 4): big-endian, a request of version 6
 * with the number of the command, a reply with the number of the report. Floats have 7 bits of exponent and
 * 25 of coefficient, both two's complement. */
#include "wire/timesync.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"

#include "base/banned.h"

#define VERSION        6
#define REQUEST        1
#define REPLY          2
#define ASK_TRACKING   33
#define TELLS_TRACKING 5
#define HEAD           28 /* of a reply */

static uint32_t u32(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static unsigned u16(const uint8_t *p)
{
    return (unsigned)p[0] << 8 | p[1];
}

static double real(const uint8_t *p)
{
    uint32_t x = u32(p);
    int exponent = (int)(x >> 25), coefficient = (int)(x & 0x1ffffff);
    if (exponent >= 64)
        exponent -= 128;
    if (coefficient >= 1 << 24)
        coefficient -= 1 << 25;
    return ldexp(coefficient, exponent - 25);
}

void jm_chrony_ask_tracking(uint8_t out[JM_CHRONY_TRACKING], uint32_t sequence)
{
    memset(out, 0, JM_CHRONY_TRACKING);
    out[0] = VERSION;
    out[1] = REQUEST;
    out[5] = ASK_TRACKING;
    for (int i = 0; i < 4; i++)
        out[8 + i] = (uint8_t)(sequence >> (24 - 8 * i));
}

/* Address of the source: 16 bytes, then the family (0 none, 1 IPv4, 2 IPv6). */
static void address(const uint8_t *p, uint32_t ref_id, struct jm_tracking *out)
{
    unsigned family = u16(p + 16);
    size_t at = 0;
    if (family == 1) {
        snprintf(out->address, sizeof out->address, "%u.%u.%u.%u", p[0], p[1], p[2], p[3]);
    } else if (family == 2) {
        for (int i = 0; i < 8; i++)
            at += (size_t)snprintf(out->address + at, sizeof out->address - at, "%s%x", i ? ":" : "",
                                   u16(p + 2 * i));
    } else { /* a reference clock has a name of four letters */
        char name[5] = {0};
        for (int i = 0; i < 4; i++) {
            unsigned char c = (unsigned char)(ref_id >> (24 - 8 * i));
            name[i] = c > ' ' && c < 127 ? (char)c : '\0';
        }
        snprintf(out->address, sizeof out->address, "%s", name);
    }
}

int jm_chrony_tracking(struct jm_span reply, uint32_t sequence, struct jm_tracking *out, struct jm_err *err)
{
    const uint8_t *p = (const uint8_t *)reply.p;
    if (reply.n < HEAD || p[0] != VERSION || p[1] != REPLY)
        return jm_err_set(err, JM_EPARSE,
                          "what answered on chronyd's command port is no reply of its protocol, version 6");
    if (u32(p + 16) != sequence || u16(p + 4) != ASK_TRACKING)
        return jm_err_set(err, JM_EAGAIN, "chronyd answered another request");
    unsigned status = u16(p + 8);
    if (status)
        return jm_err_set(err, status == 2 ? JM_EDENIED : JM_EUNSUPPORTED,
                          "chronyd refuses to tell how it keeps the clock (status %u)", status);
    if (reply.n < JM_CHRONY_TRACKING || u16(p + 6) != TELLS_TRACKING)
        return jm_err_set(err, JM_EPARSE,
                          "chronyd's report has another form than that of version 6 (%zu bytes)", reply.n);
    p += HEAD;
    *out = (struct jm_tracking){.ref_id = u32(p), .stratum = (int)u16(p + 24), .leap = (int)u16(p + 26)};
    address(p + 4, out->ref_id, out);
    out->correction_s = real(p + 40);
    out->root_delay_s = real(p + 64);
    out->root_dispersion_s = real(p + 68);
    return 0;
}

/* "  name   value" of pmc; false: no such line. */
static bool field(struct jm_span text, const char *name, struct jm_span *value)
{
    struct jm_span line, want = jm_span_of(name);
    while (jm_span_line(&text, &line)) {
        line = jm_span_trim(line);
        if (!jm_span_starts(line, want) || line.n <= want.n ||
            (line.p[want.n] != ' ' && line.p[want.n] != '\t'))
            continue;
        *value = jm_span_trim(jm_span_sub(line, want.n, line.n));
        return true;
    }
    return false;
}

int jm_pmc_time_status(struct jm_span text, struct jm_ptp_status *out, struct jm_err *err)
{
    struct jm_span v;
    *out = (struct jm_ptp_status){0};
    if (!field(text, "master_offset", &v))
        return jm_err_set(err, JM_EABSENT, "pmc got no TIME_STATUS_NP from ptp4l");
    if (jm_num_double(v, &out->master_offset_ns))
        return jm_err_set(err, JM_EPARSE, "pmc's master_offset is no number: \"%.*s\"",
                          (int)(v.n < 40 ? v.n : 40), v.p);
    out->gm_present = field(text, "gmPresent", &v) && jm_span_is(v, "true");
    if (field(text, "gmIdentity", &v))
        snprintf(out->gm, sizeof out->gm, "%.*s", (int)(v.n < 47 ? v.n : 47), v.p);
    return 0;
}

int jm_pmc_path_delay(struct jm_span text, double *ns, struct jm_err *err)
{
    struct jm_span v;
    if (!field(text, "meanPathDelay", &v))
        return jm_err_set(err, JM_EABSENT, "pmc got no CURRENT_DATA_SET from ptp4l");
    if (jm_num_double(v, ns))
        return jm_err_set(err, JM_EPARSE, "pmc's meanPathDelay is no number: \"%.*s\"",
                          (int)(v.n < 40 ? v.n : 40), v.p);
    return 0;
}
