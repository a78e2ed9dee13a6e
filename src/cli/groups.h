/* SPDX-License-Identifier: Apache-2.0 */
/* --group NAME=HOST:GPU,... and --role NAME=ROLE of merge and record. */
#ifndef JM_CLI_GROUPS_H
#define JM_CLI_GROUPS_H

#include "base/option.h"
#include "run/run.h"

#define JM_GROUPS 64

struct jm_groups {
    struct jm_run_group group[JM_GROUPS];
    size_t n;
    char text[2 * JM_GROUPS][2048];
};

int jm_groups_read(const struct jm_opt_list *group, const struct jm_opt_list *role, struct jm_groups **out,
                   struct jm_err *err);
void jm_groups_free(struct jm_groups *g);

#define JM_OPTS_GROUP(s, g, r)                                                                               \
    {"group",                                                                                                \
     'g',                                                                                                    \
     JM_OPT_LIST,                                                                                            \
     offsetof(struct s, g),                                                                                  \
     .arg = "NAME=HOST:GPU,...",                                                                             \
     .help = "A replica or pool and its GPUs, by index, UUID or its beginning; HOST alone is all of its "    \
             "GPUs. May be given again."},                                                                   \
    {                                                                                                        \
        "role", 0, JM_OPT_LIST, offsetof(struct s, r),                                                       \
            .arg = "NAME=ROLE", .help = "What a group does: serve, prefill or decode.", .deflt = "serve"     \
    }

#endif
