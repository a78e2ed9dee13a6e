/* SPDX-License-Identifier: Apache-2.0 */
#include "base/file.h"
#include "cli/bench.h"
#include "cli/cmds.h"
#include "cli/path.h"
#include "cli/signals.h"
#include "cli/simnode.h"

#include "base/banned.h"

struct opts {
    struct jm_common common;
    struct jm_present present;
    struct jm_session_opts session;
    struct jm_bench_opts bench;
};

/* Half a minute in all. The contract is that of MLPerf's Llama-2-70B in the Server scenario. */
static void init(void *opts)
{
    struct opts *o = opts;
    jm_present_init(&o->present);
    jm_session_opts_init(&o->session);
    jm_bench_opts_init(&o->bench);
    o->session.label = "demo";
    o->bench.concurrency = 32;
    o->bench.ignore_eos = true;
    o->bench.idle = 4 * JM_NS_PER_S;
    o->bench.warmup = 5 * JM_NS_PER_S;
    o->bench.duration = 15 * JM_NS_PER_S;
    o->bench.drain = 10 * JM_NS_PER_S;
    o->present.slo_ttft = 2000 * JM_NS_PER_MS;
    o->present.slo_tpot = 200 * JM_NS_PER_MS;
}

static int report(struct jm_cli *cli, struct jm_session *s, const struct opts *o, struct jm_str *out,
                  struct jm_err *err)
{
    struct jm_str html, path;
    enum jm_validity v;
    jm_str_init(&html);
    jm_str_init(&path);
    int rc = jm_path_beside(s->path.buf, ".html", &path, err);
    if (!rc)
        rc = jm_present_file(cli, s->path.buf, &o->present, "html", &html, &v, err);
    if (!rc)
        rc = jm_path_spare_run(path.buf, err);
    if (!rc)
        rc = jm_file_write(path.buf, jm_str_span(&html), err);
    if (!rc && !cli->common->json)
        jm_str_addf(out, "Report: %s\n", path.buf);
    jm_str_release(&html);
    jm_str_release(&path);
    return rc;
}

static int measured(struct jm_cli *cli, const struct opts *o, const struct jm_meter_env *env, const char *url,
                    struct jm_err *err)
{
    struct jm_session s;
    struct jm_str out;
    jm_str_init(&out);
    int rc = jm_bench(&s, cli, &o->bench, &o->present, &o->session, env, url, err);
    if (!rc) {
        int verdict = jm_session_summary(&s, &o->present, &out, err);
        rc = verdict < 0 ? verdict : report(cli, &s, o, &out, err);
        if (!rc) {
            jm_cli_out(cli, jm_str_span(&out));
            rc = verdict;
        }
    }
    jm_str_release(&out);
    jm_session_release(&s);
    return rc;
}

static int demo(struct jm_cli *cli, void *opts, struct jm_err *err)
{
    struct opts *o = opts;
    struct jm_simnode node;
    struct jm_meter_env env;
    int rc = jm_signals_catch(err);
    if (rc)
        return rc;
    if (!o->session.output) {
        o->session.output = "out/demo.jmr";
        o->session.force = true; /* our own name: the demo before */
    }
    jm_cli_meter_env(cli, &env);
    if (cli->n_operands)
        return measured(cli, o, &env, cli->operand[0], err);
    if (!o->common.quiet)
        jm_cli_say(cli, "no URL given: starting a SIMULATED node of 8 GPUs and an engine; half a minute");
    rc = jm_simnode_start(&node, err);
    if (rc)
        return rc;
    env.nvml_lib = node.lib;
    rc = measured(cli, o, &env, node.url, err);
    jm_simnode_stop(&node);
    return rc;
}

#define AT(f) offsetof(struct opts, bench.f)
static const struct jm_opt table[] = {
    {"concurrency", 'c', JM_OPT_INT, AT(concurrency), 1, 65536, .help = "Requests in flight.", .deflt = "32"},
    {"duration", 't', JM_OPT_DURATION, AT(duration), 1e9, 3600e9, .help = "Length of the measured window.",
     .deflt = "15s"},
    {"api", 0, JM_OPT_STR, AT(api), .arg = "NAME", .help = "How requests are written, as for bench.",
     .deflt = "auto: as the engine speaks"},
    {"model", 0, JM_OPT_STR, AT(model), .arg = "NAME", .help = "Model to ask for.",
     .deflt = "the first of /v1/models"},
    {"output", 'o', JM_OPT_STR, offsetof(struct opts, session.output), .arg = "FILE",
     .help = "Run file to write; the report lies beside it.", .deflt = "out/demo.jmr"},
    {"force", 0, JM_OPT_FLAG, offsetof(struct opts, session.force),
     .help = "Write over an existing run file; out/demo.jmr is written over anyway."},
    JM_OPT_JSON,
    JM_OPTS_METER,
    JM_OPTS_COMMON,
    {NULL}};

const struct jm_cmd jm_cmd_demo = {
    .name = "demo",
    .group = "Measure",
    .summary = "See in half a minute what comes out, on simulated parts or at a URL",
    .usage = "[OPTIONS] [URL]",
    .description = "Without a URL a simulated node of eight GPUs and a simulated engine are started and "
                   "measured like real ones; "
                   "everything that comes of it is marked SIMULATED. With a URL that endpoint is measured "
                   "with the meters of this "
                   "machine. Ends with the summary and the path of the HTML report.",
    .examples = "joulemark demo\n"
                "joulemark demo http://127.0.0.1:8000 # a real endpoint on this machine",
    .opts = table,
    .opts_size = sizeof(struct opts),
    .init = init,
    .max_operands = 1,
    .fn = demo,
};
