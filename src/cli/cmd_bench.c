/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "cli/bench.h"
#include "cli/benchorder.h"
#include "cli/cmds.h"
#include "cli/enginemetrics.h"
#include "cli/hosts.h"
#include "cli/selfcheck.h"
#include "cli/signals.h"
#include "load/dialects.h"

#include "base/banned.h"

struct opts {
    struct jm_common common;
    struct jm_present present;
    struct jm_session_opts session;
    struct jm_bench_opts bench;
    struct jm_selfcheck_opts check;
    struct jm_hosts_opts hosts;
};

static void init(void *opts)
{
    struct opts *o = opts;
    jm_present_init(&o->present);
    jm_session_opts_init(&o->session);
    jm_bench_opts_init(&o->bench);
    o->bench.duration = 0; /* not given */
}

static int selfcheck(struct jm_cli *cli, struct opts *o, struct jm_err *err)
{
    if (cli->n_operands)
        return jm_err_set(err, JM_EUSAGE, "--selfcheck has a server of its own: leave the URL away");
    o->check.measure = o->bench.duration;
    o->check.threads = o->bench.threads;
    o->check.curl = strcmp(jm_bench_transport(&o->bench), "curl") == 0;
    return jm_selfcheck(cli, &o->check, err);
}

static int load(void *arg, const struct jm_session_opts *session, struct jm_session *s, struct jm_err *err)
{
    struct opts *o = arg;
    struct jm_cli *cli = s->cli;
    struct jm_meter_env env;
    jm_cli_meter_env(cli, &env);
    return jm_bench(s, cli, &o->bench, &o->present, session, &env, cli->operand[0], err);
}

static int bench(struct jm_cli *cli, void *opts, struct jm_err *err)
{
    struct opts *o = opts;
    struct jm_session s = {.cli = cli};
    int rc = jm_signals_catch(err);
    if (rc)
        return rc;
    o->session.present = &o->present;
    if (o->check.on)
        return selfcheck(cli, o, err);
    if (o->check.streams || o->check.tls)
        return jm_err_set(err, JM_EUSAGE, "--streams and --tls belong to --selfcheck");
    if (!cli->n_operands)
        return jm_err_set(err, JM_EUSAGE, "too few arguments; usage: joulemark bench %s", jm_cmd_bench.usage);
    if (!o->bench.duration)
        o->bench.duration = -1; /* as the plan needs */
    int hosts = jm_hosts_asked(&o->hosts, err);
    if (hosts < 0)
        return hosts;
    jm_str_init(&s.path);
    rc = hosts ? jm_hosts_around(cli, &o->hosts, &o->session, "bench", load, o, &s, err)
               : load(o, &o->session, &s, err);
    if (!rc)
        rc = jm_session_show(&s, &o->present, cli, err);
    jm_session_release(&s);
    return rc;
}

#define AT(f) offsetof(struct opts, bench.f)
static const struct jm_opt table[] = {
    {"concurrency", 'c', JM_OPT_INT, AT(concurrency), 1, 65536, .group = "How much and how long",
     .help = "Closed loop: requests in flight; with --rate the most in flight.", .deflt = "8"},
    {"rate", 'r', JM_OPT_RATE, AT(rate), 1e-4, 1e6,
     .help = "Open loop: Poisson arrivals, e.g. 4/s; latencies count from the scheduled time."},
    JM_OPTS_ARRIVE(opts, bench.shape),
    {"duration", 't', JM_OPT_DURATION, AT(duration), 1e8, 86400e9, .help = "Length of a measured window.",
     .deflt = "60s; a trace, ramp or scenario to its end"},
    {"trials", 'n', JM_OPT_INT, AT(how.trials), 1, 1000, .help = "Measured windows, one after the other.",
     .deflt = "1; with --until 30 at the most"},
    {"until", 0, JM_OPT_PARSE, AT(how.until), .arg = "PERCENT", .parse = jm_bench_parse_until,
     .help = "Trials until the half width of J/token is so small a part of it (2%), five at least; they end "
             "by the width alone, never by what a comparison says."},
    {"order", 0, JM_OPT_ENUM, AT(how.order), .choices = JM_BENCH_ORDERS,
     .help = "What comes in turn (slices, levels): its order in each trial; abba (forth and back) is free of "
             "a linear drift, random is drawn from --seed.",
     .deflt = "as-written"},
    {"cool-down", 0, JM_OPT_DURATION, AT(how.cool_down), 0, 3600e9,
     .help = "Pause without load between slices, levels or trials; the load begins anew after it.",
     .deflt = "none"},
    {"cool-to", 0, JM_OPT_NUM, AT(how.cool_to), 0, 150, .arg = "CELSIUS",
     .help = "End that pause once no device is hotter; --cool-down is then the longest.",
     .deflt = "5m at the longest"},
    {"requests", 0, JM_OPT_INT, AT(requests), 1, 1e9,
     .help = "End a window when so many requests finished in it."},
    {"warmup", 'w', JM_OPT_DURATION, AT(warmup), 0, 86400e9, .help = "Load before the first window.",
     .deflt = "10s; a trace, ramp or scenario 0s"},
    {"idle", 0, JM_OPT_DURATION, AT(idle), 0, 3600e9,
     .help = "Loaded idle measured before the load, for the net figures.", .deflt = "5s"},
    {"drain", 0, JM_OPT_DURATION, AT(drain), 0, 86400e9,
     .help = "Longest time to follow what is in flight at the end.", .deflt = "60s"},
    {"ladder", 0, JM_OPT_FLAG, AT(ladder), .group = "Load ladder and calibration",
     .help = "Find the capacity (under --slo-ttft, --slo-tpot where given), then measure levels of it, and "
             "loaded idle: joules per qualified token by load."},
    {"levels", 0, JM_OPT_PARSE, AT(how), .arg = "PERCENTS", .parse = jm_bench_parse_levels,
     .help = "Of the ladder: percent of the capacity, 0 for loaded idle.",
     .deflt = "100,90,80,70,60,50,40,30,20,10,0"},
    {"capacity", 0, JM_OPT_RATE, AT(how.capacity), 1e-4, 1e6,
     .help = "Of the ladder: requests a second that are 100 %, so that none is looked for."},
    {"probe", 0, JM_OPT_DURATION, AT(how.probe), 1e8, 3600e9,
     .help = "Of the ladder: each step of the search for the capacity.", .deflt = "10s"},
    {"phase-bursts", 0, JM_OPT_FLAG, AT(bursts),
     .help = "Before the load: a burst of prefill and one of decode alone, to tell their energies apart."},
    {"burst-length", 0, JM_OPT_DURATION, AT(burst), 1e9, 3600e9, .help = "Of each burst.", .deflt = "10s"},
    {"isl", 0, JM_OPT_PARSE, AT(isl), .arg = "LENGTH", .parse = jm_bench_parse_length,
     .group = "What is asked",
     .help = "Synthetic prompts: input tokens: 512, 64..1024, or \"lognormal MEDIAN SIGMA\".",
     .deflt = "512"},
    {"osl", 0, JM_OPT_PARSE, AT(osl), .arg = "LENGTH", .parse = jm_bench_parse_length,
     .help = "Output tokens asked for, in the same way.", .deflt = "128"},
    {"prompts", 0, JM_OPT_STR, AT(prompts), .arg = "FILE",
     .help = "Prompts from JSONL instead: prompt or messages, optional max_tokens and slice."},
    {"ignore-eos", 0, JM_OPT_FLAG, AT(ignore_eos), .help = "Ask the engine to go on to --osl."},
    {"prompt-ids", 0, JM_OPT_FLAG, AT(prompt_ids),
     .help = "Send synthetic prompts as token ids, just --isl of them, where the API takes ids."},
    {"token-counts", 0, JM_OPT_ENUM, AT(counts), .choices = "auto|usage|continuous|ids",
     .help =
         "Who counts the tokens of each event: nobody (usage at the end alone), a running usage, or token "
         "ids.",
     .deflt = "auto: continuous where the engine is known to have it"},
    {"whole", 0, JM_OPT_FLAG, AT(no_stream),
     .help = "Ask for answers that do not stream: no token has a time of its own then."},
    {"temperature", 0, JM_OPT_NUM, AT(temperature), 0, 10, .help = "Sampling temperature.",
     .deflt = "not sent"},
    {"extra-body", 0, JM_OPT_STR, AT(extra), .arg = "JSON",
     .help = "Object merged into each request's body."},
    JM_OPTS_ASK(opts, bench.shape),
    JM_OPTS_TRACE(opts, bench.shape),
    {"api", 0, JM_OPT_STR, AT(api), .arg = "NAME", .group = "Endpoint",
     .help = "How requests are written and answers read: " JM_DIALECT_NAMES ".",
     .deflt = "auto: as the engine speaks"},
    {"model", 0, JM_OPT_STR, AT(model), .arg = "NAME", .help = "Model to ask for.",
     .deflt = "the first of /v1/models"},
    {"api-key-env", 0, JM_OPT_STR, AT(key_env), .arg = "NAME",
     .help = "Environment variable that holds the API key; the key is never stored."},
    {"seed", 0, JM_OPT_INT, offsetof(struct opts, session.seed), 0, 9e18,
     .help =
         "Of arrivals, lengths, prompts and resampling. The run keeps it (load.seed); the same one sends the "
         "same load again.",
     .deflt = "drawn anew, so that no cache knows the prompts"},
    {"keep-text", 0, JM_OPT_FLAG, AT(keep_text),
     .help = "Keep prompts and answers in the run, not only their hashes."},
    {"connect-timeout", 0, JM_OPT_DURATION, AT(connect), 1e6, 3600e9, .help = "Limit to connect.",
     .deflt = "10s"},
    {"header-timeout", 0, JM_OPT_DURATION, AT(header), 1e6, 86400e9,
     .help = "Limit to the answer's header; when given, also to the answers before the load (3 s at least).",
     .deflt = "120s"},
    {"stall-timeout", 0, JM_OPT_DURATION, AT(stall), 1e6, 86400e9,
     .help = "Limit without a byte in a stream.", .deflt = "60s"},
    {"timeout", 0, JM_OPT_DURATION, AT(total), 1e6, 86400e9, .help = "Limit of a whole request.",
     .deflt = "600s"},
    {"threads", 0, JM_OPT_INT, AT(threads), 1, 16, .help = "Load threads.", .deflt = "chosen"},
    {"ca-file", 0, JM_OPT_STR, AT(ca_file), .arg = "FILE", .help = "Certificates to trust for https.",
     .deflt = "the system's"},
    {"insecure", 0, JM_OPT_FLAG, AT(insecure), .help = "https without verification; the run says so."},
    {"transport", 0, JM_OPT_ENUM, AT(transport), .choices = "auto|plain|curl",
     .help = "plain: own sockets, exact stamps. curl: HTTP/2, proxies, compressed answers.",
     .deflt = "plain, curl where an option needs it"},
    {"proxy", 0, JM_OPT_STR, AT(proxy), .arg = "URL",
     .help = "Proxy to go through; one that the environment names is not used. Its password is not stored."},
    {"http", 0, JM_OPT_ENUM, AT(http), .choices = "auto|1.1|2",
     .help = "HTTP version; auto: 2 where an https server offers it. With 2, http:// is not asked first.",
     .deflt = "1.1; with --transport curl auto"},
    {"compressed", 0, JM_OPT_FLAG, AT(compressed),
     .help = "Ask for compressed answers; they can come late and in lumps."},
    {"selfcheck", 0, JM_OPT_FLAG, offsetof(struct opts, check.on), .group = "Other",
     .help = "Instead of a URL: how true the stamps are on this machine, against a server of its own."},
    {"streams", 0, JM_OPT_STR, offsetof(struct opts, check.streams), .arg = "LIST",
     .help = "--selfcheck: streams of each row.", .deflt = "1,100,1000,4000"},
    {"tls", 0, JM_OPT_FLAG, offsetof(struct opts, check.tls), .help = "--selfcheck: over https."},
    JM_OPT_ENGINE_METRICS(AT(engine_metrics), "auto: looked for where the engine usually has them"),
    JM_OPTS_SLO(opts, present),
    JM_OPTS_HOSTS(opts, hosts),
    JM_OPT_WINDOW_MAX(opts, session),
    JM_OPTS_SESSION(opts, session),
    JM_OPT_JSON,
    JM_OPTS_METER,
    JM_OPTS_PRESENT(opts, present),
    JM_OPTS_FACTORS(opts, present),
    JM_OPTS_COMMON,
    {NULL}};

const struct jm_cmd jm_cmd_bench = {
    .name = "bench",
    .group = "Measure",
    .summary = "Load an OpenAI-compatible endpoint and measure its energy",
    .usage = "[OPTIONS] URL | --selfcheck",
    .description = "Asks the endpoint who it is, finds its process and by that its GPUs, then measures "
                   "loaded idle, warms up, measures "
                   "and drains, all in one run file with every request and its stamps. Failed requests keep "
                   "their joules. An endpoint "
                   "on another host gets latencies but no energy per token: the meters are not at it.\n\n"
                   "Ends with 3 when the measurement is invalid or no meter could be read.",
    .examples =
        "joulemark bench http://127.0.0.1:8000 -c 32 -n 3 --slo-ttft 500ms\n"
        "joulemark bench http://127.0.0.1:8000 --rate 4/s --prompts my.jsonl --json\n"
        "joulemark bench http://127.0.0.1:8000 --trace azure.csv --time-scale 2\n"
        "joulemark bench http://127.0.0.1:8000 --slices examples/slices.yaml\n"
        "joulemark bench http://127.0.0.1:8000 -c 32 --until 2% # trials until J/token is known to 2 %\n"
        "joulemark bench http://127.0.0.1:8000 --ladder --slo-ttft 500ms # 100 to 10 % of its capacity\n"
        "joulemark bench --selfcheck --streams 1,100,1000",
    .opts = table,
    .opts_size = sizeof(struct opts),
    .init = init,
    .min_operands = 0,
    .max_operands = 1,
    .fn = bench,
};
