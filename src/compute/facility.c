/* SPDX-License-Identifier: Apache-2.0 */
/* The facility: PUE times the IT energy at the point where the PUE's category takes it (ISO/IEC 30134-2),
 * once. A PUE is a yearly mean of a building and no property of a system: the product is for reporting, and
 * its provenance is never better than declared. */
#include <math.h>
#include <string.h>

#include "compute/calc.h"
#include "compute/ratio.h"

#include "base/banned.h"

/* Are all parts of the cut readings of what PDUs give: PDUs, and shelves of rectifiers on them? */
static bool all_pdus(const struct jm_calc *c, const struct jm_cut *cut)
{
    for (size_t i = 0; i < cut->n_part; i++) {
        int d = c->r->energy[cut->part[i]].domain;
        if (d < 0 || (c->r->tree->d[d].kind != JM_D_PDU && c->r->tree->d[d].kind != JM_D_SHELF))
            return false;
    }
    return cut->n_part > 0;
}

/* What stands between where we measured and where the PUE's IT energy is taken; NULL: nothing. */
static const char *between(const struct jm_calc *c, const struct jm_cut *wall)
{
    const struct jm_pue *p = &c->o->pue;
    bool at_pdu = all_pdus(c, wall);
    switch (p->category[0]) {
    case '1':
        return at_pdu
                   ? "losses between the UPS and the PDU (a PUE of category 1 takes IT energy at the UPS)"
                   : "losses between the UPS and the inlet (a PUE of category 1 takes IT energy at the UPS)";
    case '2':
        return at_pdu
                   ? NULL
                   : "losses between the PDU and the inlet (a PUE of category 2 takes IT energy at the PDU)";
    case '3': return NULL;
    default: return "where the PUE takes its IT energy (no category given)";
    }
}

int jm_results_facility(struct jm_calc *c, const struct jm_calc_window *w, const struct jm_cut *wall,
                        const struct jm_cut *site)
{
    const struct jm_pue *p = &c->o->pue;
    struct jm_cut f, fed;
    struct jm_str s;
    int rc = 0;
    if (!(p->value >= 1) || !isfinite(p->value))
        return 0;
    if (site->usable)
        return jm_err_set(c->err, JM_EUSAGE,
                          "--pue: this run has a reading of the site (%s), which holds cooling and "
                          "distribution already; a PUE on top of it counts them twice. Leave it out",
                          site->instrument ? site->instrument : site->set);
    if (!wall->usable)
        return 0;
    if (wall->n_part && (p->category[0] == '1' || p->category[0] == '2')) {
        /* the IT energy of these is taken before the inlets: by the PDU, where it is metered too */
        rc = jm_cut_make(c, w, JM_B_WALL, JM_CUT_FED, &fed);
        if (!rc && fed.usable && fed.have == fed.of && wall->have == wall->of)
            wall = &fed;
    }
    if (rc)
        return rc;
    f = *wall;
    f.boundary = JM_B_FACILITY;
    f.e.joules *= p->value;
    f.e.u *= p->value;
    f.e.gain_bound *= p->value;
    f.provenance = jm_provenance_worse(f.provenance, JM_P_DECLARED);
    jm_str_init(&s);
    jm_str_addf(&s, "facility{PUE %.4g", p->value);
    if (p->category[0])
        jm_str_addf(&s, " (category %s)", p->category);
    jm_str_addf(&s, " x %s}", wall->set);
    f.set = s.failed ? NULL : jm_report_text(c->r, "%s", s.buf);
    jm_str_release(&s);
    jm_str_init(&s);
    jm_str_addf(&s, "%s, times ", wall->instrument ? wall->instrument : "no instrument");
    jm_pue_say(p, &s);
    jm_str_addf(&s, ", declared; IT energy %s", jm_provenance_name((int)wall->provenance));
    f.instrument = s.failed ? NULL : jm_report_text(c->r, "%s", s.buf);
    jm_str_release(&s);
    if (!f.set || !f.instrument)
        return jm_err_set(c->err, JM_ENOMEM, "out of memory for the facility");
    size_t first = c->r->n_results;
    rc = jm_results_boundary(c, w, &f);
    const char *gap = between(c, wall);
    for (size_t i = first; !rc && i < c->r->n_results; i++) {
        struct jm_quantity *q = &c->r->results[i].q;
        q->u.excludes =
            jm_report_text(c->r, "%s%serror of the PUE (unknown)%s%s", q->u.excludes ? q->u.excludes : "",
                           q->u.excludes ? ", " : "", gap ? ", " : "", gap ? gap : "");
        if (!q->u.excludes)
            rc = jm_err_set(c->err, JM_ENOMEM, "out of memory for the facility");
    }
    return rc;
}
