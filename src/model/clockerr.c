/* SPDX-License-Identifier: Apache-2.0 */
#include "model/clockerr.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/banned.h"

#define LOCAL_REF  0x7f7f0101u /* 127.127.1.1: chronyd serves the clock of this host as it is */
#define DRIFT_PPM  500         /* the kernel's own allowance, MAXFREQ of adjtimex(2) */
#define SANE_S     1e9         /* a bound of thirty years is none */
#define TIME_ERROR 5

const char *jm_clock_source_name(int source)
{
    static const char *const name[JM_CLOCK_SOURCES] = {"none", "chrony", "kernel", "ptp"};
    return source >= 0 && source < JM_CLOCK_SOURCES ? name[source] : NULL;
}

const char *jm_clock_leap_name(int leap)
{
    static const char *const name[] = {"normal", "insert second", "delete second", "not synchronised"};
    return leap >= 0 && leap < 4 ? name[leap] : NULL;
}

void jm_clock_error_init(struct jm_clock_error *e)
{
    *e = (struct jm_clock_error){.source = JM_CLOCK_NONE,
                                 .bound_ns = -1,
                                 .offset_s = NAN,
                                 .root_delay_s = NAN,
                                 .root_dispersion_s = NAN,
                                 .stratum = -1,
                                 .leap = -1};
    snprintf(e->why, sizeof e->why, "nothing on this host tells how far its clock is from UTC");
}

/* Rounded up: a bound must not shrink. */
static int64_t bound_of(double s)
{
    return isfinite(s) && s >= 0 && s < SANE_S ? (int64_t)ceil(s * 1e9) : -1;
}

void jm_clock_error_chrony(struct jm_clock_error *e, const struct jm_tracking *t)
{
    jm_clock_error_init(e);
    e->source = JM_CLOCK_CHRONY;
    e->offset_s = t->correction_s;
    e->root_delay_s = t->root_delay_s;
    e->root_dispersion_s = t->root_dispersion_s;
    e->stratum = t->stratum;
    e->leap = t->leap >= 0 && t->leap <= 3 ? t->leap : -1;
    snprintf(e->reference, sizeof e->reference, "%.63s", t->address);
    e->why[0] = '\0';
    if (t->leap != 0 && t->leap != 1 && t->leap != 2)
        snprintf(e->why, sizeof e->why, "chronyd is not synchronised");
    else if (t->ref_id == LOCAL_REF || t->stratum == 0)
        snprintf(e->why, sizeof e->why,
                 "chronyd follows the clock of this host itself (local), which nobody disciplines");
    else if (!(t->root_delay_s >= 0) || !(t->root_dispersion_s >= 0) || !isfinite(t->correction_s))
        snprintf(e->why, sizeof e->why, "chronyd tells a distance that is none");
    else if ((e->bound_ns = bound_of(fabs(t->correction_s) + t->root_dispersion_s + 0.5 * t->root_delay_s)) <
             0)
        snprintf(e->why, sizeof e->why, "chronyd tells a distance beyond reason");
}

void jm_clock_error_kernel(struct jm_clock_error *e, const struct jm_kernel_clock *k, bool distance_untold)
{
    jm_clock_error_init(e);
    e->source = JM_CLOCK_KERNEL;
    e->offset_s = (double)k->offset_ns / 1e9;
    e->why[0] = '\0';
    if (k->state < 0 || k->state == TIME_ERROR || k->unsynchronised) {
        e->leap = 3;
        snprintf(e->why, sizeof e->why, "the kernel says that its clock is not synchronised");
    } else if (k->max_error_ns <= 0) {
        snprintf(e->why, sizeof e->why, "the kernel was not told how far the clock may be off");
    } else if (distance_untold) {
        snprintf(e->why, sizeof e->why,
                 "systemd-timesyncd keeps the clock and does not tell how far its server is; chrony does");
    } else {
        e->bound_ns = k->max_error_ns;
    }
}

void jm_clock_error_ptp(struct jm_clock_error *e, const struct jm_ptp_status *p, double path_ns)
{
    jm_clock_error_init(e);
    e->source = JM_CLOCK_PTP;
    e->offset_s = p->master_offset_ns / 1e9;
    snprintf(e->reference, sizeof e->reference, "%s", p->gm);
    e->why[0] = '\0';
    if (!p->gm_present)
        snprintf(e->why, sizeof e->why, "ptp4l sees no grandmaster");
    else if (!(path_ns >= 0))
        snprintf(e->why, sizeof e->why, "ptp4l does not tell how long the path to its master is");
    else if ((e->bound_ns = bound_of((fabs(p->master_offset_ns) + path_ns) / 1e9)) < 0)
        snprintf(e->why, sizeof e->why, "ptp4l tells an offset beyond reason");
}

int64_t jm_clock_error_after(int64_t bound_ns, int64_t ns)
{
    return bound_ns < 0 ? -1 : bound_ns + (ns > 0 ? ns / 1000000 * DRIFT_PPM + DRIFT_PPM : 0);
}

int64_t jm_clock_error_run(int64_t start_ns, int64_t end_ns)
{
    return start_ns < 0 || end_ns < 0 ? -1 : start_ns > end_ns ? start_ns : end_ns;
}
