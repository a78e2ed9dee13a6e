/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"
#include "cli/cmds.h"
#include "run/run.h"

#include "base/banned.h"

struct opts {
    struct jm_common common;
};

static int version(struct jm_cli *cli, void *opts, struct jm_err *err)
{
    struct jm_str s;
    (void)opts;
    jm_str_init(&s);
    if (cli->common->json) {
        struct jm_jsonw w;
        jm_jsonw_init(&w, &s, 2);
        jm_jsonw_object(&w);
        jm_jsonw_kstr(&w, "schema", "joulemark.version/1");
        jm_jsonw_kstr(&w, "joulemark", JM_VERSION);
        jm_jsonw_ki64(&w, "run_file", JM_RUN_VERSION);
        jm_jsonw_kbool(&w, "yaml", JM_HAVE_YAML);
        jm_jsonw_end(&w);
    } else {
        jm_str_adds(&s, "joulemark " JM_VERSION "\n");
    }
    int rc = jm_str_ok(&s, "the version", err);
    if (!rc)
        jm_cli_out(cli, jm_str_span(&s));
    jm_str_release(&s);
    return rc;
}

static const struct jm_opt table[] = {JM_OPT_JSON, JM_OPTS_COMMON, {NULL}};

const struct jm_cmd jm_cmd_version = {
    .name = "version",
    .group = "Help",
    .summary = "Show the version of the program and of the run files it writes",
    .usage = "[--json]",
    .opts = table,
    .opts_size = sizeof(struct opts),
    .fn = version,
};
