/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "cli/cmds.h"
#include "cli/session.h"
#include "cli/signals.h"
#include "cli/stepload.h"
#include "cli/steps.h"
#include "compute/traits.h"
#include "run/run.h"

#include "base/banned.h"

#define POLL_HZ  500
#define STEPS    60
#define SHORTEST (50 * JM_NS_PER_MS)
#define LONGEST  (400 * JM_NS_PER_MS)
/* An engine takes some tenths of a second to begin and to end. */
#define ENGINE_STEPS    30
#define ENGINE_SHORTEST (600 * JM_NS_PER_MS)
#define ENGINE_LONGEST  (2500 * JM_NS_PER_MS)

struct opts {
    struct jm_common common;
    const char *output, *run, *against, *load, *model, *key_env;
    bool force;
    int64_t steps, seed, concurrency;
};

static void init(void *opts)
{
    struct opts *o = opts;
    o->seed = -1;
    o->concurrency = 32;
}

static void cell(struct jm_str *out, const struct jm_trait *t, double scale, const char *unit)
{
    char text[48] = "-";
    if (isfinite(t->value))
        snprintf(text, sizeof text, "%.4g%s +-%.2g", scale * t->value, unit, scale * 0.5 * (t->hi - t->lo));
    jm_str_addf(out, "  %-17s", text);
}

static void table_text(const struct jm_passport *p, struct jm_str *out)
{
    const char *device = "";
    for (size_t i = 0; i < p->n; i++) {
        const struct jm_passport_row *r = &p->row[i];
        if (strcmp(device, r->device) != 0 || !i)
            jm_str_addf(out, "%s%s\n  %-21s  %-17s  %-17s  %s\n", i ? "\n" : "", r->device, "channel",
                        "period", "window", "lag");
        device = r->device;
        jm_str_addf(out, "  %-21.21s", r->channel);
        cell(out, &r->period, 1e3, " ms");
        cell(out, &r->window, 1e3, " ms");
        cell(out, &r->lag, 1e3, " ms");
        while (out->len && out->buf[out->len - 1] == ' ')
            out->buf[--out->len] = '\0';
        jm_str_addc(out, '\n');
        if (isfinite(r->duty.value))
            jm_str_addf(out, "    sees %.3g %% of the time\n", 100 * r->duty.value);
        if (isfinite(r->gain.value))
            jm_str_addf(out, "    gain %.4f +-%.2g, offset %.3g W +-%.2g W, against %s\n", r->gain.value,
                        0.5 * (r->gain.hi - r->gain.lo), r->offset.value, 0.5 * (r->offset.hi - r->offset.lo),
                        r->against);
        if (r->note[0])
            jm_str_wrap(out, jm_span_of(r->note), 4, 80);
    }
}

static int passport(struct jm_cli *cli, const struct opts *o, const char *path, struct jm_err *err)
{
    struct jm_run *run = NULL;
    struct jm_passport p = {0};
    struct jm_str json, text;
    jm_str_init(&json);
    jm_str_init(&text);
    int rc = jm_run_open(path, &run, err);
    if (!rc)
        rc = jm_traits_find(run, o->against, &p, err);
    if (!rc) {
        jm_passport_write(&p, &json);
        table_text(&p, &text);
        rc = jm_str_ok(&json, "the passport", err);
    }
    if (!rc && o->output)
        rc = jm_file_write(o->output, jm_str_span(&json), err);
    if (!rc)
        jm_cli_out(cli, jm_str_span(o->common.json || cli->common->json ? &json : &text));
    bool found = false;
    for (size_t i = 0; i < p.n; i++)
        found = found || isfinite(p.row[i].lag.value);
    jm_passport_release(&p);
    jm_run_close(run);
    jm_str_release(&json);
    jm_str_release(&text);
    return rc ? rc : found ? JM_EXIT_OK : JM_EXIT_INVALID;
}

/* What is loaded, how, and what that is called in the run. */
static int play(struct jm_cli *cli, struct jm_session *s, const struct opts *o, int64_t seed,
                struct jm_err *err)
{
    bool engine = o->load != NULL;
    char text[320];
    struct jm_step_plan plan = {.steps = o->steps > 0 ? (int)o->steps
                                         : engine     ? ENGINE_STEPS
                                                      : STEPS,
                                .shortest = engine ? ENGINE_SHORTEST : SHORTEST,
                                .longest = engine ? ENGINE_LONGEST : LONGEST,
                                .rest = 3 * JM_NS_PER_S,
                                .seed = (uint64_t)seed};
    double length = (double)(2 * plan.rest + plan.steps * (plan.shortest + plan.longest)) / 1e9;
    jm_recorder_env(s->rec, "steps.load", engine ? "engine" : "cpu");
    if (engine)
        snprintf(text, sizeof text, "bursts of requests, %d in flight, to the engine at %.200s",
                 (int)o->concurrency, o->load);
    else
        snprintf(text, sizeof text, "every CPU of this host, idle and full in turn");
    jm_recorder_env(s->rec, "characterize.load", text);
    if (!o->common.quiet)
        jm_cli_say(cli, "%d steps of load: %s; about %.0f s; leave the machine alone meanwhile", plan.steps,
                   text, length);
    if (!engine)
        return jm_cli_steps(s, &plan, NULL, err);
    struct jm_stepload *l = NULL;
    struct jm_stepload_cfg cfg = {.url = o->load,
                                  .model = o->model,
                                  .key = o->key_env ? getenv(o->key_env) : NULL,
                                  .concurrency = (int)o->concurrency,
                                  .seed = (uint64_t)seed,
                                  .log = &cli->log};
    int64_t answered;
    int rc = jm_stepload_new(&cfg, &l, err);
    if (!rc) {
        struct jm_step_load load = jm_stepload_load(l);
        rc = jm_cli_steps(s, &plan, &load, err);
    }
    if (!rc)
        rc = jm_stepload_done(l, &answered, err);
    jm_stepload_free(l);
    return rc;
}

static int record(struct jm_cli *cli, const struct opts *o, const char *path, struct jm_err *err)
{
    struct jm_session s;
    struct jm_meter_env env;
    struct jm_session_opts so;
    jm_session_opts_init(&so);
    so.output = path;
    so.force = o->force;
    so.no_edge = true;
    so.sample_hz = POLL_HZ;
    so.seed = jm_session_seed(o->seed); /* one for the steps, the prompts and resampling */
    so.label = "characterize";
    int rc = jm_signals_catch(err);
    if (rc)
        return rc;
    if (o->key_env && !getenv(o->key_env))
        return jm_err_set(err, JM_EUSAGE, "--api-key-env: the environment has no variable %s", o->key_env);
    jm_cli_meter_env(cli, &env);
    rc = jm_session_open(&s, cli, &so, "characterize", "characterize", &env, false, err);
    if (!rc && !s.metered)
        rc = jm_err_set(err, JM_EABSENT, "no meter can be read, so there is nothing to characterize");
    if (!rc)
        rc = jm_recorder_start(s.rec, err);
    if (!rc)
        rc = play(cli, &s, o, so.seed, err);
    s.begun = !rc || rc == JM_ESTATE; /* what could not begin leaves no file */
    rc = jm_session_finish(&s, rc, err);
    jm_session_release(&s);
    return rc;
}

static int characterize(struct jm_cli *cli, void *opts, struct jm_err *err)
{
    struct opts *o = opts;
    struct jm_str path;
    jm_str_init(&path);
    int rc = 0;
    if (cli->n_operands) {
        jm_str_adds(&path, cli->operand[0]);
    } else if (!o->output && !o->run) {
        rc = jm_err_set(err, JM_EUSAGE, "no file for the passport; usage: joulemark characterize -o FILE");
    } else {
        jm_str_addf(&path, o->run ? "%s" : "%s.jmr", o->run ? o->run : o->output);
        rc = jm_str_ok(&path, "a file name", err);
        if (!rc)
            rc = record(cli, o, path.buf, err);
    }
    if (!rc)
        rc = passport(cli, o, path.buf, err);
    jm_str_release(&path);
    return rc;
}

static const struct jm_opt table[] = {
    {"output", 'o', JM_OPT_STR, offsetof(struct opts, output), .arg = "FILE",
     .help = "Passport to write (JSON)."},
    {"run", 0, JM_OPT_STR, offsetof(struct opts, run), .arg = "FILE",
     .help = "Run file of the recording it rests on.", .deflt = "the passport's name and .jmr"},
    {"against", 0, JM_OPT_STR, offsetof(struct opts, against), .arg = "METER[:CHANNEL]",
     .help = "Take gain and offset against this better instrument."},
    {"load", 0, JM_OPT_STR, offsetof(struct opts, load), .arg = "URL",
     .help = "Load the GPUs by bursts of requests to the engine at this URL, instead of the CPUs."},
    {"concurrency", 'c', JM_OPT_INT, offsetof(struct opts, concurrency), 1, 4096,
     .help = "With --load: requests in flight in a burst.", .deflt = "32"},
    {"model", 0, JM_OPT_STR, offsetof(struct opts, model), .arg = "NAME",
     .help = "With --load: model to ask for.", .deflt = "the first of /v1/models"},
    {"api-key-env", 0, JM_OPT_STR, offsetof(struct opts, key_env), .arg = "NAME",
     .help = "With --load: environment variable that holds the API key; the key is never stored."},
    {"steps", 0, JM_OPT_INT, offsetof(struct opts, steps), 8, 2000, .help = "Steps of load.",
     .deflt = "60; with --load 30"},
    {"seed", 0, JM_OPT_INT, offsetof(struct opts, seed), 0, 9e15,
     .help = "Of the lengths of the steps and of the prompts; the run keeps it.", .deflt = "drawn anew"},
    {"force", 0, JM_OPT_FLAG, offsetof(struct opts, force), .help = "Write over an existing run file."},
    JM_OPT_JSON,
    JM_OPTS_METER,
    JM_OPTS_COMMON,
    {NULL}};

const struct jm_cmd jm_cmd_characterize = {
    .name = "characterize",
    .group = "Measure",
    .summary = "Find out how an instrument refreshes, averages and lags",
    .usage = "[OPTIONS] -o FILE | RUN",
    .description =
        "A load goes on and off in steps of random lengths while all meters are read 500 times a second. "
        "From what "
        "each channel shows come its refresh period, the time it averages over, how late it is and, against "
        "a "
        "better instrument of the same domain, its gain and offset, each with an interval.\n\n"
        "What is loaded is every CPU of this host; joulemark has no burner for GPUs. With --load the GPUs "
        "are "
        "loaded by the engine that serves at URL: bursts of its own kind of requests. An engine begins and "
        "ends "
        "when it likes, so lags are then behind the fastest instrument that followed, and are so called; how "
        "late that one is itself stays unknown. A channel that does not follow the load (a GPU while the "
        "CPUs "
        "are loaded, or one that others load too) has none of these, and says so.\n\n"
        "The passport is a small JSON file: record, run and bench keep it with the run by --passport, and "
        "show "
        "takes it too. With RUN nothing is recorded: the steps of a run that was made with --sync-step, or "
        "by an "
        "earlier characterize, are looked at again. The status is 3 when no channel followed the load.",
    .examples =
        "joulemark characterize -o out/host.passport.json\n"
        "joulemark characterize -o out/host.passport.json --against yokogawa:power # beside an analyzer\n"
        "joulemark characterize -o out/gpu.passport.json --load http://127.0.0.1:8000 # the GPUs, by their "
        "engine",
    .opts = table,
    .opts_size = sizeof(struct opts),
    .init = init,
    .max_operands = 1,
    .fn = characterize,
};
