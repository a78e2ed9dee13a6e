/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/devkind.h"

#include <math.h>

#include "base/clock.h"
#include "base/num.h"

#include "base/banned.h"

#define MS JM_NS_PER_MS

struct jm_dev_kind jm_dev_nvml(enum jm_nvml_query q, struct jm_span product, int driver, const char *source)
{
    static const char *const names[] = {"power.usage", "power.average", "power.instant"};
    unsigned arch;
    uint32_t id;
    struct jm_nvml_meaning m = {JM_G_TRAILING_MEAN, q == JM_NVML_Q_INSTANT ? 0 : 1000 * MS, 100 * MS,
                                "assumed"};
    if (jm_nvml_product(product, &arch, &id))
        m = jm_nvml_meaning(q, arch, id, driver);
    return (struct jm_dev_kind){names[q],    JM_CH_GAUGE,   JM_U_W, 0,    -3,    m.sem, m.window_ns,
                                m.period_ns, JM_P_MEASURED, 0,      20e3, "gpu", source};
}

void jm_dev_sampled(struct jm_dev_kind *k, int64_t look_ns)
{
    if (look_ns <= k->period_ns)
        return;
    if (k->kind == JM_CH_GAUGE && k->sem == JM_G_BLOCK_MEAN && k->period_ns > 0) {
        k->sem = JM_G_PARTIAL;
        k->window_ns = k->period_ns;
    } else if (k->kind == JM_CH_GAUGE && k->sem == JM_G_TRAILING_MEAN && k->window_ns > 0 &&
               k->window_ns < look_ns) {
        k->sem = JM_G_PARTIAL;
    }
    k->period_ns = look_ns;
}

static const enum jm_status means[] = {JM_S_ABSENT, JM_S_ABSENT, JM_S_UNSUPPORTED, JM_S_DENIED};

bool jm_dcgm_blank_i64(int64_t v, enum jm_status *why)
{
    const int64_t blank = 0x7ffffffffffffff0;
    if (v < blank)
        return false;
    *why = v - blank < 4 ? means[v - blank] : JM_S_ABSENT;
    return true;
}

bool jm_dcgm_blank(double v, enum jm_status *why)
{
    static const double blanks[] = {2147483632.0, 140737488355328.0, 9223372036854775792.0};
    for (size_t i = 0; i < sizeof blanks / sizeof blanks[0]; i++)
        if (v >= blanks[i] && v <= blanks[i] + 3) {
            /* the large ones are not told apart as a double */
            *why = i == 2 ? JM_S_UNSUPPORTED : means[(int)(v - blanks[i])];
            return true;
        }
    return false;
}

enum jm_status jm_dev_native(struct jm_span text, int text10, int scale10, int64_t *out)
{
    enum jm_status why;
    double d;
    int64_t exact;
    *out = 0;
    text = jm_span_trim(text);
    for (size_t i = 0; i < 2 && text.n; i++) {
        struct jm_span s = jm_span_sub(text, i && (text.p[0] == '+' || text.p[0] == '-') ? 1 : 0, text.n);
        if (jm_span_ieq(s, JM_SPAN("NaN")) || jm_span_ieq(s, JM_SPAN("Inf")))
            return JM_S_ABSENT;
    }
    if (jm_num_double(text, &d) || !isfinite(d))
        return JM_S_GAP;
    if ((jm_num_i64(text, &exact) == 0 && jm_dcgm_blank_i64(exact, &why)) || jm_dcgm_blank(d, &why))
        return why;
    if (jm_num_fixed(text, scale10 - text10, out)) { /* more digits than are kept */
        double scaled = d * pow(10, text10 - scale10);
        if (!(fabs(scaled) < 9e18))
            return JM_S_IMPLAUSIBLE;
        *out = (int64_t)llround(scaled);
    }
    return *out < 0 ? JM_S_IMPLAUSIBLE : JM_S_OK;
}
