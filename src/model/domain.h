/* SPDX-License-Identifier: Apache-2.0 */
/* The domain tree: what physically is inside a quantity. A node contains everything below it, so a boundary
 * is a cut through the tree and no joule is counted with one that contains it.
 *
 *   site > rack > { pdu, shelf } > chassis > inlet (AC or DC) > { psu.., psu_loss, node > { psu_output..,
 *     module > { grace > {cpu, sysio, dram}, gpu > hbm }, psys > package > {core, uncore}, dram,
 *     tray > { gpu, nvswitch }, nic, storage, fans } }
 *
 * A module may hold several GPUs, an inlet or a chassis several nodes (shared supplies); an APU is one domain
 * for CPU and GPU. The psu of an inlet (inputs of its supplies, or the outlets that lead to them) make it up
 * between them, and so do the psu_output the node: they are addends, and all of them are needed. Such sets of
 * two kinds of instruments (outlets of PDUs, inputs as the BMC sees them) are alternatives. What measures all
 * of one inlet sits on the inlet itself: an alternative too, never an addend. A pdu is an outlet, branch or
 * PDU that feeds several inlets; a shelf holds the rectifiers of the DC inlets below it. */
#ifndef JM_MODEL_DOMAIN_H
#define JM_MODEL_DOMAIN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/span.h"

enum jm_domain_kind {
    JM_D_SITE,
    JM_D_RACK,
    JM_D_PDU,   /* an outlet, branch or PDU that feeds several inlets */
    JM_D_SHELF, /* rectifiers of a rack, by their AC side */
    JM_D_CHASSIS,
    JM_D_INLET_AC,
    JM_D_INLET_DC,
    JM_D_PSU_LOSS,
    JM_D_NODE,
    JM_D_MODULE,
    JM_D_GRACE,
    JM_D_CPU, /* the CPU rail of a Grace */
    JM_D_SYSIO,
    JM_D_PSYS,
    JM_D_PACKAGE,
    JM_D_CORE,
    JM_D_UNCORE,
    JM_D_DRAM,
    JM_D_TRAY,
    JM_D_GPU,
    JM_D_HBM,
    JM_D_APU,
    JM_D_NVSWITCH,
    JM_D_NIC,
    JM_D_STORAGE,
    JM_D_FANS,
    JM_D_RAIL,       /* a board rail that is no known part */
    JM_D_PSU,        /* input of one power supply: with its siblings it is the inlet */
    JM_D_PSU_OUTPUT, /* output of one power supply: with its siblings it is the node */
    JM_D_COUNT
};

const char *jm_domain_kind_name(int kind); /* "gpu", "inlet_ac", ... */
int jm_domain_kind_parse(struct jm_span s);

struct jm_domain {
    int id;     /* index in the tree */
    int parent; /* id, -1 for a root */
    enum jm_domain_kind kind;
    char key[96];   /* what makes it the same thing again: UUID, PCI address, sysfs path, host name */
    char label[96]; /* for people: "GPU 0", "package 1" */
};

struct jm_domain_tree {
    struct jm_domain *d;
    size_t n, cap;
};

void jm_domain_tree_init(struct jm_domain_tree *t);
void jm_domain_tree_release(struct jm_domain_tree *t);
/* The id of (kind, key) below parent; made when new. Negative JM_E* on error. The same kind and key under the
 * same parent is the same domain. */
int jm_domain_add(struct jm_domain_tree *t, int parent, enum jm_domain_kind kind, const char *key,
                  const char *label, struct jm_err *err);
/* The node of this host, wherever it is in the tree; made when new, below the inlet of that name (AC or DC),
 * which is made too where there is none. */
int jm_domain_host(struct jm_domain_tree *t, const char *host, struct jm_err *err);
/* True when a is b or contains it. */
bool jm_domain_contains(const struct jm_domain_tree *t, int a, int b);
/* What makes up its parent together with its like: psu its inlet, psu_output its node. */
bool jm_domain_is_addend(enum jm_domain_kind kind);
bool jm_domain_is_inlet(enum jm_domain_kind kind);
/* Feeds inlets: chassis, pdu, shelf. */
bool jm_domain_is_feeder(enum jm_domain_kind kind);
/* What a domain is called where it stands alone: its label, with the kind before it where node, inlet and
 * rack of one host carry the same. */
#define JM_DOMAIN_TITLE 112
const char *jm_domain_title(const struct jm_domain *d, char buf[JM_DOMAIN_TITLE]);
/* First domain of the kind, or -1; after gives the next one (start with -1). */
int jm_domain_next(const struct jm_domain_tree *t, enum jm_domain_kind kind, int after);

#endif
