/* SPDX-License-Identifier: Apache-2.0 */
/* The aspects of the EE HPC WG power measurement methodology (version 3.0, text of the working group's
 * repository; Green500 uses it): a level is reached only if all aspects reach it. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "audit/levels.h"
#include "base/num.h"

#include "base/banned.h"

/* One sample a second, with the jitter of a timer. */
#define SAMPLE_S 1.05
#define CORE_S   60.0
#define READINGS 10.0
/* Readings no further apart than a tenth of the core phase. */
#define APART 0.1

static void put(struct jm_levels *l, int i, const char *id, const char *title, int level,
                const char *evidence, const char *lacks)
{
    l->aspect[i] =
        (struct jm_aspect){id, title, level, evidence ? evidence : "not known", level < 3 ? lacks : NULL};
}

static int granularity(const struct jm_seen *s)
{
    if (!s->rows)
        return 0;
    if (s->counters == s->rows)
        return 3;
    return s->spacing_s <= SAMPLE_S ? 2 : 0;
}

static int timing(const struct jm_seen *s)
{
    if (!s->rows || !(s->seconds >= CORE_S) || !(s->spacing_s <= APART * s->seconds) || s->covered < 0.9)
        return 0;
    return s->full_run ? 3 : 1;
}

static int reported(const struct jm_seen *s)
{
    if (!s->rows)
        return 0;
    if (!s->idle || !(s->fewest >= READINGS) || !s->full_run)
        return 1;
    return s->counters == s->rows ? 3 : 2;
}

/* "16 of 128 nodes, chosen at random", "16/128". */
static bool nodes(const char *said, int64_t *measured, int64_t *all)
{
    struct jm_span s = jm_span_trim(jm_span_of(said)), a = s, b;
    size_t n = 0;
    while (n < s.n && s.p[n] >= '0' && s.p[n] <= '9')
        n++;
    a.n = n;
    b = jm_span_trim(jm_span_sub(s, n, s.n - n));
    if (jm_span_starts(b, JM_SPAN("of ")))
        b = jm_span_trim(jm_span_sub(b, 3, b.n - 3));
    else if (jm_span_starts(b, JM_SPAN("/")))
        b = jm_span_trim(jm_span_sub(b, 1, b.n - 1));
    else
        return false;
    for (n = 0; n < b.n && b.p[n] >= '0' && b.p[n] <= '9';)
        n++;
    b.n = n;
    return jm_num_i64(a, measured) == 0 && jm_num_i64(b, all) == 0 && *measured > 0 && *measured <= *all;
}

/* Share of the machine. Level 1: all, or 40 kW, or the largest of a tenth, 2 kW and 15 nodes; level 2: the
 * largest of an eighth, 10 kW and 15 nodes; level 3: all. A part has to have been chosen at random, which
 * only a person can say, and has to. Without a declared size the machine is what the run's boundary should
 * hold. */
static int fraction(const struct jm_seen *s, double *watts, const char **said)
{
    const struct jm_result *x = s->best;
    int64_t measured, all;
    *watts = x && s->seconds > 0 ? x->q.value / s->seconds : NAN;
    *said = jm_fact_of(s->run, s->r, "machine");
    if (!x)
        return 0;
    bool whole = x->of <= 0 || x->have_of == x->of;
    int by_watts = *watts >= 40e3 ? 1 : 0;
    if (!*said)
        return whole ? 3 : by_watts;
    if (!nodes(*said, &measured, &all) || !whole) /* a declaration that cannot be read raises nothing */
        return by_watts;
    if (measured == all)
        return 3;
    bool some = measured >= 15 && strstr(*said, "random");
    if (some && 8 * (double)measured >= (double)all && *watts >= 10e3)
        return 2;
    return some && 10 * (double)measured >= (double)all && *watts >= 2e3 ? 1 : by_watts;
}

static int accuracy(const struct jm_seen *s, double *percent, bool *by_hand)
{
    const char *said = jm_fact_of(s->run, s->r, "meter-accuracy");
    double declared;
    *percent = s->rows && s->accuracy > 0 ? 100 * s->accuracy : NAN;
    if (isnan(*percent) && said && jm_num_double(jm_span_of(said), &declared) == 0 && declared > 0) {
        *percent = declared;
        *by_hand = true;
    }
    return *percent <= 1 ? 3 : *percent <= 2 ? 2 : *percent <= 5 ? 1 : 0;
}

void jm_levels_eehpc(struct jm_seen *s, struct jm_levels *l)
{
    struct jm_report *r = s->r;
    double watts, percent;
    bool by_hand = false;
    const char *net = jm_fact_of(s->run, r, "interconnect"), *loss = jm_fact_of(s->run, r, "psu-loss"),
               *machine;
    int share = fraction(s, &watts, &machine), meter = accuracy(s, &percent, &by_hand);
    const char *kind = s->rows ? s->counters == s->rows ? "counters"
                                 : s->counters          ? "counters and gauges"
                                                        : "gauges"
                               : "none";
    l->eehpc_boundary = s->best ? jm_boundary_name((int)s->best->q.boundary) : NULL;
    put(l, 0, "1a", "granularity", granularity(s),
        s->rows ? jm_report_text(r, "%s, a reading every %.3g s", kind, s->spacing_s) : "no instrument",
        s->counters < s->rows && s->spacing_s <= SAMPLE_S
            ? "level 3: an instrument that integrates energy itself"
            : "a reading each second and oftener");
    int when = timing(s);
    put(l, 1, "1b", "timing", when,
        s->rows ? jm_report_text(r, "core phase %.4g s, readings %.3g s apart, %s", s->seconds, s->spacing_s,
                                 s->full_run ? "over the full run" : "not over the full run")
                : "no instrument",
        when == 1 ? "levels 2 and 3: readings over the full run"
                  : "a core phase of 60 s and longer, readings no further apart than a tenth of it");
    int said = reported(s);
    put(l, 2, "1c", "what is reported", said,
        s->rows ? jm_report_text(r, "%.4g readings in the core phase, %s", floor(s->fewest),
                                 s->idle ? "idle power measured" : "idle power not measured")
                : "nothing",
        said == 2 ? "level 3: readings of energy, not of power"
                  : "ten readings in the core phase, idle power (ready, not asleep), and the full run");
    put(l, 3, "2", "fraction of the machine", share,
        !s->best  ? "nothing"
        : machine ? jm_report_text(r, "declared: %s; %.4g kW measured", machine, watts / 1e3)
                  : jm_report_text(r, "%d of %d, %.4g kW", s->best->have_of, s->best->of, watts / 1e3),
        machine && share == 2 ? "level 3: all of it"
                              : "all of it, or a part chosen at random: level 1 40 kW, or 1/10, 2 kW and 15 "
                                "nodes; level 2 1/8, "
                                "10 kW and 15 nodes (--fact machine=\"16 of 128 nodes, chosen at random\")");
    bool whole = s->wall || s->node;
    int parts = !whole ? 0 : s->hosts > 1 && !net ? 0 : s->hosts > 1 ? 2 : 3;
    put(l, 4, "3", "subsystems", parts,
        !whole ? "processors, memory, network and fans of the host are not in it"
        : s->hosts > 1
            ? net ? jm_report_text(r, "compute measured; interconnect declared: %s", net)
                  : "compute measured; the interconnect between hosts is neither measured nor estimated"
            : "one node, measured as a whole",
        !whole ? "an instrument of the whole node"
               : "--fact interconnect=TEXT, an upper bound from maximum specified power");
    int place = s->wall ? 3 : s->node && loss ? 1 : 0;
    put(l, 5, "4", "point of measurement", place,
        s->wall   ? "upstream of power conversion"
        : s->node ? loss ? jm_report_text(r, "behind the supplies; loss declared: %s", loss)
                         : "behind the supplies, loss not known"
        : s->best ? "downstream of power conversion"
                  : "nothing",
        s->node ? "level 1: --fact psu-loss=TEXT from maker data; levels 2 and 3: the loss measured"
                : "a meter at the inlet");
    put(l, 6, "4b", "meter accuracy", meter,
        isnan(percent) ? "no accuracy is published for it"
                       : jm_report_text(r, "%.3g %%%s", percent, by_hand ? ", declared" : ""),
        meter ? "1 % (level 3), 2 % (level 2)"
              : "a meter of 5 % and better, or --fact meter-accuracy=PERCENT of its certificate");
    int least = 3, like = 3;
    for (int i = 0; i < JM_ASPECTS; i++) {
        least = l->aspect[i].level < least ? l->aspect[i].level : least;
        if (i < 4)
            like = l->aspect[i].level < like ? l->aspect[i].level : like;
    }
    l->eehpc = least;
    l->eehpc_like = !least && s->carried && like >= 1;
    const char *short_of = NULL;
    for (int i = 0; i < JM_ASPECTS; i++)
        if (!l->aspect[i].level)
            short_of =
                short_of ? jm_report_text(r, "%s, %s", short_of, l->aspect[i].title) : l->aspect[i].title;
    if (least)
        l->eehpc_text = jm_report_text(r, "level %d at the boundary %s", least, l->eehpc_boundary);
    else if (l->eehpc_like)
        l->eehpc_text = "L1-like: energy carried to the wall by a relation that was measured; no level, "
                        "because the wall was not "
                        "metered in this run";
    else if (s->best && !whole)
        l->eehpc_text = "no level: counters of GPUs stand behind power conversion, and see one subsystem";
    else
        l->eehpc_text = jm_report_text(r, "no level: none for %s", short_of ? short_of : "any aspect");
}
