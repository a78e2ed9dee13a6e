/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/gpu_metrics.h"

#include <stddef.h>

#include "base/banned.h"

#define NONE 0xffff

struct layout {
    uint8_t format, content;
    uint16_t size;
    uint16_t power;
    uint8_t power_bytes;
    bool current;
    uint16_t energy;
    uint8_t energy_bytes; /* 0: there is none */
    uint16_t clock, firmware, partitions;
};

/* An interim kernel wrote a 1.6 of 384 bytes with 1.5's places (torvalds/linux 00dedab07b52): the size tells
 * them apart. */
static const struct layout layouts[] = {
    {1, 0, 80, 34, 2, false, 36, 4, 8, NONE, NONE},     {1, 1, 96, 22, 2, false, 24, 8, 32, NONE, NONE},
    {1, 2, 104, 22, 2, false, 24, 8, 32, 96, NONE},     {1, 3, 120, 22, 2, false, 24, 8, 32, 96, NONE},
    {1, 4, 288, 10, 2, true, 24, 8, 32, 232, NONE},     {1, 5, 360, 10, 2, true, 88, 8, 96, 304, NONE},
    {1, 6, 384, 10, 2, true, 88, 8, 96, 328, NONE},     {1, 6, 1664, 10, 2, true, 16, 8, 24, 256, 306},
    {1, 7, 2208, 10, 2, true, 24, 8, 32, 288, 338},     {1, 8, 3872, 10, 2, true, 24, 8, 32, 288, 338},
    {2, 0, 120, 44, 2, false, NONE, 0, 8, NONE, NONE},  {2, 1, 120, 40, 2, false, NONE, 0, 32, NONE, NONE},
    {2, 2, 128, 40, 2, false, NONE, 0, 32, NONE, NONE}, {2, 3, 152, 40, 2, false, NONE, 0, 32, NONE, NONE},
    {2, 4, 168, 40, 2, false, NONE, 0, 32, NONE, NONE}, {3, 0, 264, 112, 4, false, NONE, 0, 104, NONE, NONE},
};

static uint64_t number(struct jm_span s, size_t at, size_t bytes)
{
    uint64_t v = 0;
    for (size_t i = bytes; i-- > 0;)
        v = v << 8 | (unsigned char)s.p[at + i];
    return v;
}

/* false: all ones, or not in this layout. */
static bool field(struct jm_span s, size_t at, size_t bytes, uint64_t *out)
{
    if (at == NONE)
        return false;
    *out = number(s, at, bytes);
    return *out != (bytes == 8 ? UINT64_MAX : ((uint64_t)1 << 8 * bytes) - 1);
}

static const struct layout *layout_of(const struct jm_gpu_metrics *m, bool *version)
{
    *version = false;
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
        if (layouts[i].format != m->format || layouts[i].content != m->content)
            continue;
        *version = true;
        if (layouts[i].size == m->size)
            return &layouts[i];
    }
    return NULL;
}

static void fill(struct jm_span s, const struct layout *l, struct jm_gpu_metrics *m)
{
    uint64_t v = 0;
    m->current = l->current;
    m->power_scale10 = m->apu ? -3 : 0;
    if ((m->has_power = field(s, l->power, l->power_bytes, &v)))
        m->power = (uint32_t)v;
    m->has_energy = field(s, l->energy, l->energy_bytes, &v);
    /* a register of 32 bits that the driver copies into the 64 of the table stands for "not there" with its
     * own ones: UINT_MAX since the firmware of SMU 13.0.7 and 14.0.2 dropped the counter */
    if (m->has_energy && m->content < 4 && v == UINT32_MAX)
        m->has_energy = false;
    if (m->has_energy)
        m->energy = v;
    m->energy_stated = m->format == 1 && m->content >= 4;
    if ((m->has_clock = field(s, l->clock, 8, &v)))
        m->clock_ns = v;
    if ((m->has_firmware = field(s, l->firmware, 8, &v)))
        m->firmware_10ns = v;
    if (field(s, l->partitions, 2, &v))
        m->partitions = (unsigned)v;
}

int jm_gpu_metrics_parse(struct jm_span s, struct jm_gpu_metrics *out, struct jm_err *err)
{
    bool version;
    *out = (struct jm_gpu_metrics){0};
    if (s.n < 4)
        return jm_err_set(err, JM_EPARSE, "gpu_metrics has %zu bytes, its header alone has 4", s.n);
    out->size = (unsigned)number(s, 0, 2);
    out->format = (unsigned char)s.p[2];
    out->content = (unsigned char)s.p[3];
    out->apu = out->format == 2 || out->format == 3;
    const struct layout *l = layout_of(out, &version);
    if (!l && version)
        return jm_err_set(err, JM_EUNSUPPORTED, "gpu_metrics %u.%u of %u bytes is of no known layout",
                          out->format, out->content, out->size);
    if (!l)
        return jm_err_set(err, JM_EUNSUPPORTED,
                          "gpu_metrics %u.%u is not known (1.0 to 1.8, 2.0 to 2.4, 3.0 are)", out->format,
                          out->content);
    if (s.n < l->size)
        return jm_err_set(err, JM_EPARSE, "gpu_metrics says %u bytes, but %zu came", out->size, s.n);
    fill(s, l, out);
    return 0;
}
