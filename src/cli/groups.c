/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/groups.h"

#include <stdlib.h>
#include <string.h>

#include "base/banned.h"

/* "NAME=rest", cut up in a copy. */
static int split(const char *text, const char *what, char *copy, size_t room, char **rest, struct jm_err *err)
{
    size_t n = strlen(text);
    char *eq;
    if (n >= room)
        return jm_err_set(err, JM_EUSAGE, "--%s is too long: %.60s...", what, text);
    memcpy(copy, text, n + 1);
    eq = strchr(copy, '=');
    if (!eq || eq == copy || !eq[1])
        return jm_err_set(err, JM_EUSAGE, "--%s takes NAME=%s, not \"%s\"", what,
                          strcmp(what, "group") == 0 ? "HOST:GPU,..." : "serve|prefill|decode", text);
    *eq = '\0';
    *rest = eq + 1;
    return 0;
}

static int roles(const struct jm_opt_list *o, struct jm_run_group *g, size_t n, char (*text)[2048],
                 struct jm_err *err)
{
    static const char *const known[] = {"serve", "prefill", "decode"};
    for (size_t i = 0; i < o->n; i++) {
        char *role;
        const char *is = NULL;
        struct jm_run_group *of = NULL;
        int rc = split(o->item[i], "role", text[i], sizeof text[i], &role, err);
        if (rc)
            return rc;
        for (size_t k = 0; k < sizeof known / sizeof *known; k++)
            is = strcmp(known[k], role) == 0 ? known[k] : is;
        for (size_t k = 0; k < n; k++)
            of = strcmp(g[k].name, text[i]) == 0 ? &g[k] : of;
        if (!is)
            return jm_err_set(err, JM_EUSAGE, "--role takes serve, prefill or decode, not \"%s\"", role);
        if (!of)
            return jm_err_set(err, JM_EUSAGE, "--role names the group %s, which no --group makes", text[i]);
        of->role = is;
    }
    return 0;
}

int jm_groups_read(const struct jm_opt_list *o, const struct jm_opt_list *role, struct jm_groups **out,
                   struct jm_err *err)
{
    struct jm_groups *a = calloc(1, sizeof *a);
    *out = a;
    int rc = a ? 0 : jm_err_set(err, JM_ENOMEM, "out of memory for the groups");
    for (size_t i = 0; !rc && i < o->n; i++) {
        char *gpus;
        rc = split(o->item[i], "group", a->text[i], sizeof a->text[i], &gpus, err);
        for (size_t k = 0; !rc && k < i; k++)
            if (strcmp(a->group[k].name, a->text[i]) == 0)
                rc = jm_err_set(err, JM_EUSAGE, "there are two groups %s: give all of its GPUs in one",
                                a->text[i]);
        if (!rc)
            a->group[a->n++] = (struct jm_run_group){.name = a->text[i], .role = "serve", .gpus = gpus};
    }
    if (!rc)
        rc = roles(role, a->group, a->n, a->text + JM_GROUPS, err);
    if (rc) {
        free(a);
        *out = NULL;
    }
    return rc;
}

void jm_groups_free(struct jm_groups *g)
{
    free(g);
}
