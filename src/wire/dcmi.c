/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/dcmi.h"

#include <string.h>

#include "base/err.h"
#include "base/banned.h"

#define GROUP_DCMI 0xdc
static const uint8_t intel[3] = {0x57, 0x01, 0x00};

static unsigned u8(struct jm_span s, size_t at)
{
    return (uint8_t)s.p[at];
}

static uint16_t u16(struct jm_span s, size_t at)
{
    return (uint16_t)(u8(s, at) | u8(s, at + 1) << 8);
}

static uint32_t u32(struct jm_span s, size_t at)
{
    return u16(s, at) | (uint32_t)u16(s, at + 2) << 16;
}

const char *jm_ipmi_cc_text(unsigned cc)
{
    static const struct {
        unsigned cc;
        const char *text;
    } row[] = {{0x00, "completed"},
               {JM_IPMI_CC_BUSY, "node busy"},
               {JM_IPMI_CC_INVALID, "the command is not supported"},
               {0xc2, "invalid for the LUN"},
               {JM_IPMI_CC_TIMEOUT, "timeout in the BMC"},
               {0xc4, "out of space"},
               {0xc7, "request of a wrong length"},
               {0xc9, "a parameter is out of range"},
               {0xcb, "not present"},
               {0xcc, "invalid data in the request"},
               {0xce, "cannot be answered now"},
               {0xd3, "the destination is not available"},
               {JM_IPMI_CC_DENIED, "insufficient privilege"},
               {JM_IPMI_CC_STATE, "not in the present state"},
               {0xd6, "the function is disabled"},
               {0x80, "no policy or statistics of that kind"},
               {JM_IPMI_CC_OTHER, "an error that the BMC does not name"}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        if (row[i].cc == cc)
            return row[i].text;
    return "unknown";
}

enum jm_status jm_ipmi_cc_status(unsigned cc)
{
    switch (cc) {
    case 0: return JM_S_OK;
    case JM_IPMI_CC_INVALID:
    case 0xc2:
    case 0xc7:
    case 0xc9:
    case 0xcc:
    case 0xd6: return JM_S_UNSUPPORTED;
    case 0xcb: return JM_S_ABSENT;
    case JM_IPMI_CC_DENIED: return JM_S_DENIED;
    default: return JM_S_GAP;
    }
}

int jm_dcmi_power(struct jm_span b, struct jm_dcmi_power *out)
{
    *out = (struct jm_dcmi_power){0};
    if (!b.n)
        return JM_EPARSE;
    out->cc = u8(b, 0);
    if (out->cc)
        return 0;
    if (b.n < 19 || u8(b, 1) != GROUP_DCMI)
        return JM_EPARSE;
    out->current_w = u16(b, 2);
    out->min_w = u16(b, 4);
    out->max_w = u16(b, 6);
    out->average_w = u16(b, 8);
    out->time_s = u32(b, 10);
    out->period_ms = u32(b, 14);
    out->active = u8(b, 18) & 0x40;
    return 0;
}

/* min and max may be absent (0, 65535) where current is good; only a range that is one is held against it */
static enum jm_status within(uint16_t now, uint16_t min, uint16_t max)
{
    if (now == 0 || now == UINT16_MAX)
        return JM_S_ABSENT;
    if (min && max != UINT16_MAX && min <= max && max && (now < min || now > max))
        return JM_S_CONFLICT;
    return JM_S_OK;
}

enum jm_status jm_dcmi_status(const struct jm_dcmi_power *p, bool *declared)
{
    enum jm_status s = p->cc ? jm_ipmi_cc_status(p->cc) : within(p->current_w, p->min_w, p->max_w);
    *declared = s == JM_S_OK && !p->active;
    return s;
}

int jm_nm_stats(struct jm_span b, struct jm_nm_stats *out)
{
    *out = (struct jm_nm_stats){0};
    if (!b.n)
        return JM_EPARSE;
    out->cc = u8(b, 0);
    if (out->cc)
        return 0;
    if (b.n < 21 || memcmp(b.p + 1, intel, sizeof intel) != 0)
        return JM_EPARSE;
    out->current_w = u16(b, 4);
    out->min_w = u16(b, 6);
    out->max_w = u16(b, 8);
    out->average_w = u16(b, 10);
    out->time_s = u32(b, 12);
    out->period_s = u32(b, 16);
    out->active = u8(b, 20) & 0x10;
    out->measuring = u8(b, 20) & 0x40;
    return 0;
}

enum jm_status jm_nm_status(const struct jm_nm_stats *p)
{
    if (p->cc)
        return jm_ipmi_cc_status(p->cc);
    return p->measuring ? within(p->current_w, p->min_w, p->max_w) : JM_S_ABSENT;
}

int jm_lenovo_energy(struct jm_span b, struct jm_lenovo_energy *out)
{
    *out = (struct jm_lenovo_energy){0};
    if (!b.n)
        return JM_EPARSE;
    out->cc = u8(b, 0);
    if (out->cc)
        return 0;
    /* completion code, two bytes of its own, then J, mJ, s, ms: offsets 3 and 7 of the data behind it in
     * EAR's reader count the completion code */
    if (b.n < 15 || u16(b, 7) > 999 || u16(b, 13) > 999)
        return JM_EPARSE;
    out->mj = (int64_t)u32(b, 3) * 1000 + u16(b, 7);
    out->time_ms = (int64_t)u32(b, 9) * 1000 + u16(b, 13);
    return 0;
}

static int digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

int jm_ipmi_hex(struct jm_span text, uint8_t *out, size_t cap)
{
    size_t n = 1;
    if (!cap)
        return JM_ELIMIT;
    out[0] = 0;
    for (size_t i = 0; i < text.n; i++) {
        if (strchr(" \t\r\n", text.p[i]) && text.p[i])
            continue;
        int hi = digit(text.p[i]), lo = i + 1 < text.n ? digit(text.p[i + 1]) : -1;
        if (hi < 0 || lo < 0 || (i + 2 < text.n && digit(text.p[i + 2]) >= 0))
            return JM_EPARSE;
        if (n == cap)
            return JM_ELIMIT;
        out[n++] = (uint8_t)(hi << 4 | lo);
        i++;
    }
    return n > 1 ? (int)n : JM_EPARSE;
}
