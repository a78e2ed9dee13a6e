/* SPDX-License-Identifier: Apache-2.0 */
/* Power of a BMC by IPMI: through the kernel's device, or by ipmitool or ipmi-dcmi for a BMC in the network.
 */
#ifndef JM_METER_IPMI_H
#define JM_METER_IPMI_H

#include "meter/instrument.h"
#include "wire/ipmitool.h"

struct jm_ipmi_request {
    uint8_t netfn, cmd;
    uint8_t data[8];
    size_t n;
    int channel; /* of a bridged one (Node Manager: 0); -1: to the BMC itself */
    uint8_t target;
};

/* A way to a BMC. ask: the body of the reply (completion code first) in out, its length, or -errno:
 * -ETIMEDOUT, -EACCES, -ENODEV (gone), -EOPNOTSUPP. Never allocates. */
struct jm_ipmi_way {
    int (*ask)(void *self, const struct jm_ipmi_request *r, uint8_t *out, size_t cap, int timeout_ms);
    void (*close)(void *self);
    void *self;
};

enum jm_ipmi_source { JM_IPMI_DCMI, JM_IPMI_NM, JM_IPMI_LENOVO };
enum jm_ipmi_tool { JM_IPMI_IPMITOOL, JM_IPMI_FREEIPMI };

struct jm_ipmi_conf {
    const char *address; /* /dev/ipmi0, ipmi0 or a host */
    int source, tool;
    const char *interface, *privilege, *tool_path, *tool_config;
    int64_t cipher;
};

int jm_ipmi_dev_open(const char *path, struct jm_ipmi_way *out, struct jm_err *err);
int jm_ipmi_tool_open(const struct jm_instrument *in, struct jm_ipmi_way *out, struct jm_err *err);

struct jm_ipmi_power {
    enum jm_status status;
    int64_t value; /* W; of Lenovo's counter mJ */
    bool declared; /* the BMC says that it does not measure */
    bool has_time;
    int64_t time_ms;   /* the BMC's clock */
    int64_t period_ms; /* of its statistics */
    unsigned cc;
};
/* One reading of source through way. */
struct jm_ipmi_power jm_ipmi_ask(const struct jm_ipmi_way *way, enum jm_ipmi_source source, uint8_t *body,
                                 size_t cap, int *n, int timeout_ms);

/* How long to leave a BMC alone that answers 0xFF or busy: doubling, from 1 s to a minute. */
struct jm_ipmi_backoff {
    int failures;
    int64_t until;
};
bool jm_ipmi_may_ask(const struct jm_ipmi_backoff *b, int64_t now);
void jm_ipmi_note(struct jm_ipmi_backoff *b, int64_t now, unsigned cc, bool answered);

/* For tests: a meter on a way of theirs. */
int jm_ipmi_open_way(const struct jm_meter_env *env, const struct jm_instrument *in,
                     struct jm_domain_tree *tree, struct jm_ipmi_way way, struct jm_meter **out,
                     struct jm_err *err);

#endif
