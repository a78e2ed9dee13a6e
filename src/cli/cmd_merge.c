/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "cli/cmds.h"
#include "run/run.h"

#include "base/banned.h"

struct opts {
    struct jm_common common;
    const char *output, *label;
    int64_t tolerance_ns; /* below 0: none asked for */
    struct jm_opt_list group, role;
    bool force;
};

#define GROUPS 64

static void defaults(void *o)
{
    ((struct opts *)o)->tolerance_ns = -1;
}

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

static int roles(const struct opts *o, struct jm_run_group *g, size_t n, char (*text)[2048],
                 struct jm_err *err)
{
    static const char *const known[] = {"serve", "prefill", "decode"};
    for (size_t i = 0; i < o->role.n; i++) {
        char *role;
        const char *is = NULL;
        struct jm_run_group *of = NULL;
        int rc = split(o->role.item[i], "role", text[i], sizeof text[i], &role, err);
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

static int groups(const struct opts *o, struct jm_run_group *g, char (*text)[2048], struct jm_err *err)
{
    for (size_t i = 0; i < o->group.n; i++) {
        char *gpus;
        int rc = split(o->group.item[i], "group", text[i], sizeof text[i], &gpus, err);
        if (rc)
            return rc;
        for (size_t k = 0; k < i; k++)
            if (strcmp(g[k].name, text[i]) == 0)
                return jm_err_set(err, JM_EUSAGE, "there are two groups %s: give all of its GPUs in one",
                                  text[i]);
        g[i] = (struct jm_run_group){.name = text[i], .role = "serve", .gpus = gpus};
    }
    return roles(o, g, o->group.n, text + GROUPS, err);
}

static int answer(struct jm_cli *cli, const char *out, size_t n, struct jm_err *err)
{
    struct jm_str s;
    jm_str_init(&s);
    if (cli->common->json) {
        struct jm_jsonw w;
        jm_jsonw_init(&w, &s, 2);
        jm_jsonw_object(&w);
        jm_jsonw_kstr(&w, "schema", "joulemark.merge/1");
        jm_jsonw_kstr(&w, "joulemark", JM_VERSION);
        jm_jsonw_kstr(&w, "run", out);
        jm_jsonw_ki64(&w, "runs", (int64_t)n);
        jm_jsonw_end(&w);
    } else {
        jm_str_addf(&s, "%s\n", out);
    }
    int rc = jm_str_ok(&s, "the answer", err);
    if (!rc)
        jm_cli_out(cli, jm_str_span(&s));
    jm_str_release(&s);
    return rc;
}

static int merge(struct jm_cli *cli, void *opts, struct jm_err *err)
{
    const struct opts *o = opts;
    if (!o->output)
        return jm_err_set(err, JM_EUSAGE, "-o is missing: the name of the run file to write");
    struct jm_run_group g[GROUPS];
    char(*text)[2048] = calloc(2 * (size_t)GROUPS, sizeof *text);
    if (!text)
        return jm_err_set(err, JM_ENOMEM, "out of memory");
    int rc = groups(o, g, text, err);
    const struct jm_run_merge_opts m = {.label = o->label,
                                        .tolerance_s =
                                            o->tolerance_ns < 0 ? NAN : (double)o->tolerance_ns * 1e-9,
                                        .group = g,
                                        .n_group = o->group.n,
                                        .overwrite = o->force};
    if (!rc)
        rc = jm_file_mkparents(o->output, err);
    if (!rc)
        rc = jm_run_merge(cli->operand, cli->n_operands, o->output, &m, err);
    free(text);
    return rc ? rc : answer(cli, o->output, cli->n_operands, err);
}

static const struct jm_opt table[] = {
    {"output", 'o', JM_OPT_STR, offsetof(struct opts, output), .arg = "FILE", .help = "Run file to write."},
    {"group", 'g', JM_OPT_LIST, offsetof(struct opts, group), .arg = "NAME=HOST:GPU,...",
     .help = "A replica or pool and its GPUs, by index, UUID or its beginning; HOST alone is all of its "
             "GPUs. May "
             "be given again."},
    {"role", 0, JM_OPT_LIST, offsetof(struct opts, role), .arg = "NAME=ROLE",
     .help = "What a group does: serve, prefill or decode.", .deflt = "serve"},
    {"tolerance", 0, JM_OPT_DURATION, offsetof(struct opts, tolerance_ns), 0, 3600e9, .arg = "TIME",
     .help = "The error of a host's clock that is accepted; a larger one makes the result invalid.",
     .deflt = "400 ms, and then a warning"},
    {"label", 0, JM_OPT_STR, offsetof(struct opts, label), .help = "Name of the run for people."},
    {"force", 0, JM_OPT_FLAG, offsetof(struct opts, force), .help = "Write over an existing file."},
    JM_OPT_JSON,
    JM_OPTS_COMMON,
    {NULL}};

const struct jm_cmd jm_cmd_merge = {
    .name = "merge",
    .group = "Keep and exchange runs",
    .summary = "Make one run of those of several hosts",
    .usage = "[OPTIONS] -o FILE RUN...",
    .description =
        "Brings the recordings of several hosts to the clock of the first one. Windows and requests are "
        "those of the "
        "run that has requests (bench), or of the first; the others give their instruments. An instrument "
        "that "
        "two hosts read counts once. How far each host's clock may be off is kept with the run.\n\n"
        "With --group the GPUs of each replica are told apart, of a pool for prefill its joules per prompt "
        "token, of "
        "a pool for decode those per token after the first. Only GPUs of a group are at the boundary gpu "
        "then.",
    .examples = "joulemark merge client.jmr nodea.jmr nodeb.jmr -o both.jmr # a bench, and two recordings\n"
                "joulemark merge a.jmr b.jmr -o pd.jmr -g pre=nodea -g dec=nodeb --role pre=prefill --role "
                "dec=decode",
    .opts = table,
    .opts_size = sizeof(struct opts),
    .init = defaults,
    .min_operands = 1,
    .max_operands = 256,
    .fn = merge,
};
