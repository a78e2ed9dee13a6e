/* SPDX-License-Identifier: Apache-2.0 */
#include "wall/wt.h"
#include "simgpu_text.h"

#include <math.h>
#include <string.h>
#include <strings.h>

static const double volts_small[] = {15, 30, 60, 150, 300, 600, 0};
static const double volts_large[] = {15, 30, 60, 100, 150, 300, 600, 1000, 0};
static const double volts_wide[] = {1.5, 3, 6, 10, 15, 30, 60, 100, 150, 300, 600, 1000, 0};
static const double amps_small[] = {.005, .01, .02, .05, .1, .2, .5, 1, 2, 5, 10, 20, 0};
static const double amps_three[] = {.5, 1, 2, 5, 10, 20, 0};
static const double amps_500[] = {.5, 1, 2, 5, 10, 20, 40, 0};
static const double amps_1800[] = {1, 2, 5, 10, 20, 50, 0};
static const double amps_5000[] = {.5, 1, 2, 5, 10, 20, 30, 0};

/* name, identify, product, elements, DC, reading, range, influence of the power factor, over P, volts, amps
 */
static const struct simwt_model models[] = {
    {"WT210", "YokogawaWT210", "760401", 1, false, .15, .1, .2, true, volts_small, amps_small},
    {"WT210_DC", "YokogawaWT210_DC", "760401", 1, true, .15, .1, 0, true, volts_small, amps_small},
    {"WT310", "YokogawaWT310", "WT310", 1, false, .1, .1, .2, false, volts_small, amps_small},
    {"WT310E", "YokogawaWT310E", "WT310E", 1, false, .1, .05, .2, false, volts_small, amps_small},
    {"WT310_DC", "YokogawaWT310_DC", "WT310E", 1, true, .1, .2, 0, false, volts_small, amps_small},
    {"WT330", "YokogawaWT330", "WT333", 1, false, .1, .1, .2, false, volts_small, amps_three},
    {"WT330E", "YokogawaWT330E", "WT333E", 1, false, .1, .05, .2, false, volts_small, amps_three},
    {"WT330_DC", "YokogawaWT330_DC", "WT333E", 1, true, .1, .2, 0, false, volts_small, amps_three},
    {"WT330_multichannel", "YokogawaWT330_multichannel", "WT333E", 3, false, .1, .05, .2, false, volts_small,
     amps_three},
    {"WT500", "YokogawaWT500", "760203", 1, false, .15, .1, .2, true, volts_large, amps_500},
    {"WT500_multichannel", "YokogawaWT500_multichannel", "760203", 3, false, .15, .1, .2, true, volts_large,
     amps_500},
    {"WT1800", "YokogawaWT1800", "WT1806", 1, false, .1, .05, .2, false, volts_wide, amps_1800},
    {"WT1800_multichannel", "YokogawaWT1800_multichannel", "WT1806", 6, false, .1, .05, .2, false, volts_wide,
     amps_1800},
    {"WT5000", "YokogawaWT5000", "WT5000", 1, false, .01, .02, .1, false, volts_wide, amps_5000},
    {"WT5000_multichannel", "YokogawaWT5000_multichannel", "WT5000", 7, false, .01, .02, .1, false,
     volts_wide, amps_5000},
};

const struct simwt_model *simwt_model(int i)
{
    return i >= 0 && (size_t)i < sizeof models / sizeof *models ? &models[i] : NULL;
}

const struct simwt_model *simwt_find(const char *name)
{
    for (size_t i = 0; i < sizeof models / sizeof *models; i++)
        if (strcasecmp(models[i].name, name) == 0)
            return &models[i];
    return NULL;
}

double simwt_range(const double *r, double x)
{
    if (!(x > 0))
        return 0;
    while (*r && *r < x)
        r++;
    return *r;
}

double simwt_auto(const double *ranges, double range, double x)
{
    const double *r = ranges;
    while (*r && *r < range)
        r++;
    if (!*r) /* no range of its: begin at the top */
        r--;
    while (r[1] > 0 && x > 1.3 * *r)
        r++;
    while (r > ranges && x < .3 * *r && x < 1.1 * r[-1])
        r--;
    return *r;
}

double simwt_step(double range)
{
    return pow(10, ceil(log10(range / 60000) - 1e-9));
}

static double shown(double x, double range)
{
    double s = simwt_step(range);
    return round(x / s) * s;
}

double simwt_amps(const struct simwt_load *l, double p, int e)
{
    return p * l->split[e] / (l->volts * l->pf);
}

void simwt_read(const struct simwt_model *m, const struct simwt_load *l, double p, int e, double volt_range,
                double amp_range, struct simwt_value *out)
{
    double a = simwt_amps(l, p, e), w = p * l->split[e];
    *out = (struct simwt_value){0};
    if (l->split[e] == 0) /* nothing is connected */
        return;
    if (!isfinite(p)) {
        out->flags = SIMWT_NONE;
        return;
    }
    out->v = shown(l->volts, volt_range);
    out->a = shown(a, amp_range);
    out->w = shown(w, volt_range * amp_range);
    out->pf = m->dc ? 1 : out->v * out->a > 0 ? round(out->w / (out->v * out->a) * 1e4) / 1e4 : 0;
    if (out->pf > 1)
        out->pf = 1;
    if (a > 1.4 * amp_range || l->volts > 1.4 * volt_range)
        out->flags |= SIMWT_OVER;
    else if (a * l->crest > 3 * amp_range)
        out->flags |= SIMWT_PEAK;
}

double simwt_uncertainty(const struct simwt_model *m, const struct simwt_value *v, double volt_range,
                         double amp_range)
{
    double pr = volt_range * amp_range;
    if (v->flags || !(v->w > 0) || !(v->pf > 0))
        return NAN;
    double s = m->over_p ? v->w : v->w / v->pf, tan_phi = sqrt(fmax(0, 1 - v->pf * v->pf)) / v->pf;
    return m->rdg + m->rng * pr / s + m->infl * tan_phi;
}

bool simwt_number(const char *text, double lo, double hi, double *out)
{
    int64_t ppb;
    if (!simgpu_quantity_z(text, simgpu_units_gain, &ppb))
        return false;
    *out = (double)ppb / 1e9;
    return *out >= lo && *out <= hi;
}

bool simwt_split(const char *text, double share[SIMWT_ELEMENTS])
{
    double sum = 0;
    size_t n;
    int i = 0;
    for (const char *p; (p = simgpu_item(&text, ',', &n)); i++) {
        char one[32];
        if (i == SIMWT_ELEMENTS || n >= sizeof one)
            return false;
        memcpy(one, p, n);
        one[n] = 0;
        if (!simwt_number(one, 0, 1, &share[i]))
            return false;
        sum += share[i];
    }
    return sum > .999 && sum < 1.001;
}
