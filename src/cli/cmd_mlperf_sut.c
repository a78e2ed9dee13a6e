/* SPDX-License-Identifier: Apache-2.0 */
/* The client of a power measurement: runs a workload while a Director measures. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "cli/cmds.h"
#include "cli/mlperf_check.h"
#include "cli/mlperf_child.h"
#include "cli/signals.h"
#include "mlperf/client.h"
#include "mlperf/rounds.h"
#include "mlperf/tree.h"

#include "base/banned.h"

struct opts {
    struct jm_common common;
    const char *addr, *workload, *indir, *outdir, *ntp, *label, *volts, *amps, *fetch;
    int64_t port, reply_ns, measure_ns;
    const char *submission, *system, *benchmark, *scenario, *submitter, *user_conf;
    int division;
    bool no_ntp, set_clock, force, stop_server, timestamp_path, no_timestamp_path;
};

static void init(void *opts)
{
    struct opts *o = opts;
    o->port = JM_MLPERF_PORT;
    o->label = "";
    o->timestamp_path = true;
    o->submitter = "submitter";
}

/* One line a stage, with the time of day: phases take minutes. */
static void progress(void *self, const struct jm_mlperf_client_report *r)
{
    static const struct {
        const char *stage, *text;
    } row[] = {{"connect", "connecting to the Director"},
               {"clocks", "comparing clocks"},
               {"ranging: start", "ranging: the Director prepares the analyzer"},
               {"ranging: workload", "ranging: the workload runs"},
               {"ranging: stop", "ranging: the Director collects the samples"},
               {"testing: start", "testing: the Director sets the ranges"},
               {"testing: workload", "testing: the workload runs"},
               {"testing: stop", "testing: the Director collects the samples"},
               {"download", "fetching the Director's files"}};
    struct jm_cli *cli = self;
    struct jm_clock clock = jm_clock_system();
    struct jm_clock_pair now;
    if (cli->common->quiet)
        return;
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        if (strcmp(row[i].stage, r->stage) != 0)
            continue;
        char line[160], when[JM_RFC3339_SIZE];
        jm_clock_pair(&clock, &now);
        jm_time_rfc3339(now.real, when);
        snprintf(line, sizeof line, "%.8sZ  %s", when + 11, row[i].text);
        jm_term_say(&cli->term, line);
    }
}

static struct jm_mlperf_tree_conf tree_conf(const struct opts *o)
{
    return (struct jm_mlperf_tree_conf){.root = o->submission,
                                        .division = o->division ? "open" : "closed",
                                        .submitter = o->submitter,
                                        .system = o->system,
                                        .benchmark = o->benchmark,
                                        .scenario = o->scenario,
                                        .user_conf = o->user_conf};
}

static int required(const struct opts *o, struct jm_err *err)
{
    const struct {
        const char *value, *name;
    } row[] = {{o->addr, "-a ADDR, the Director's address"},
               {o->workload, "-w CMD, the command to measure"},
               {o->indir, "-L INDIR, where LoadGen writes its logs"},
               {o->outdir, "-o OUTDIR, where the session is put"}};
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++)
        if (!row[i].value && !(o->fetch && i > 0))
            return jm_err_set(err, JM_EUSAGE, "missing %s; see joulemark mlperf sut --help", row[i].name);
    if (!o->fetch && !o->ntp && !o->no_ntp)
        return jm_err_set(
            err, JM_EUSAGE,
            "missing -n ADDR, an NTP server that both sides are compared with; --no-ntp measures "
            "without, and the session says so");
    if (!o->volts != !o->amps)
        return jm_err_set(err, JM_EUSAGE,
                          "-V and -A go together: with both ranges given there is no ranging run");
    if (!o->submission)
        return o->system || o->benchmark || o->scenario || o->user_conf
                   ? jm_err_set(err, JM_EUSAGE,
                                "--system, --benchmark, --scenario and --user-conf go with --submission DIR")
                   : 0;
    struct jm_mlperf_tree_conf conf = tree_conf(o);
    return jm_mlperf_tree_check(&conf, err);
}

/* What the session's files say, as mlperf check does; in a submission also what stands around it. */
static int judge(const char *path, bool submission, struct jm_judged *j, struct jm_mlperf_session **s,
                 struct jm_err *err)
{
    struct jm_mlperf_submission *m = NULL;
    struct jm_err none = {0};
    int rc = jm_mlperf_session_read(path, JM_MLPERF_READ_ALL, s, err);
    if (rc)
        return rc;
    if (!(j->path = strdup(path)))
        return jm_err_set(err, JM_ENOMEM, "out of memory while checking %s", path);
    snprintf(j->round, sizeof j->round, "%s", (*s)->round.name);
    snprintf(j->round_from, sizeof j->round_from, "%s", (*s)->round.from ? (*s)->round.from : "");
    j->no_figures = jm_mlperf_compute(*s, &j->r, &none) != 0;
    const struct jm_mlperf_result *r = j->no_figures ? NULL : &j->r;
    rc = submission ? jm_mlperf_submission_read(path, j->round, &m, err) : 0;
    if (!rc)
        rc = jm_mlperf_judge(*s, r, NULL, m, &j->c, err);
    jm_mlperf_submission_free(m);
    jm_judged_count(j);
    return rc;
}

static void figures(const struct jm_mlperf_result *r, struct jm_str *out)
{
    if (isfinite(r->power.published))
        jm_str_addf(out, "power      %.6g W as published\n", r->power.published);
    if (isfinite(r->power.lo) && isfinite(r->power.hi))
        jm_str_addf(out, "           %.6g W weighted by time, 95 %%: %.6g to %.6g W\n", r->power.proper,
                    r->power.lo, r->power.hi);
    else if (isfinite(r->power.proper))
        jm_str_addf(out, "           %.6g W weighted by time\n", r->power.proper);
    if (isfinite(r->j_per_token.published))
        jm_str_addf(out, "energy     %.4g J/token at %.6g tokens/s\n", r->j_per_token.published,
                    r->tokens_per_s);
    else if (isfinite(r->samples_per_j.published))
        jm_str_addf(out, "energy     %.4g samples/J\n", r->samples_per_j.published);
}

static void text(struct jm_cli *cli, const struct jm_mlperf_client_report *r, const struct jm_judged *j,
                 const char *scenario_dir, const struct jm_str *todo)
{
    static const char *const word[] = {"pass", "pass, with notes", "pass, with warnings", "fail", "pass"};
    struct jm_str out;
    jm_str_init(&out);
    jm_str_addf(&out, "session    %s\nfiles      %s\n", r->id, r->dir);
    if (r->ntp.asked)
        jm_str_addf(&out, "clocks     %+.1f ms off the NTP server at worst (limit 400 ms)\n",
                    -1e3 * r->ntp.offset_s);
    if (!isnan(r->clock_min_ms))
        jm_str_addf(&out, "           %+.1f ms to %+.1f ms off the Director%s\n", r->clock_min_ms,
                    r->clock_max_ms, r->clock_off ? ", beyond the limit of 400 ms" : "");
    if (!j->no_figures)
        figures(&j->r, &out);
    if (scenario_dir) {
        jm_str_addf(&out, "submission %s\n", scenario_dir);
        struct jm_span rest = jm_str_span(todo), line;
        while (jm_span_line(&rest, &line)) {
            size_t at = out.len;
            jm_str_adds(&out, at && todo->buf == line.p ? "to fill in " : "           ");
            jm_str_wrap(&out, line, 11, 80);
        }
        jm_str_addc(&out, '\n');
        struct jm_check_show how = {.width = cli->term.width, .color = cli->term.out_color};
        jm_check_text(j, &how, &out);
    } else if (j->path) {
        jm_str_addf(&out, "check      ours: %s; official: %s\n           joulemark mlperf check %s\n",
                    word[j->c.verdict], word[j->c.official.verdict], r->dir);
    }
    jm_cli_out(cli, jm_str_span(&out));
    jm_str_release(&out);
}

static void json(struct jm_cli *cli, const struct jm_mlperf_client_report *r, const struct jm_judged *j,
                 const char *scenario_dir, const struct jm_str *todo)
{
    struct jm_str out;
    struct jm_jsonw w;
    jm_str_init(&out);
    jm_jsonw_init(&w, &out, 2);
    jm_jsonw_object(&w);
    jm_jsonw_kstr(&w, "schema", "joulemark.mlperf.sut/1");
    jm_jsonw_kstr(&w, "joulemark", JM_VERSION);
    jm_jsonw_kstr(&w, "session", r->id);
    jm_jsonw_kstr(&w, "path", r->dir);
    jm_jsonw_kbool(&w, "complete", r->complete);
    jm_jsonw_knum(&w, "ntp_offset_s", r->ntp.asked ? r->ntp.offset_s : NAN);
    jm_jsonw_key(&w, "director_difference_ms");
    jm_jsonw_array(&w);
    jm_jsonw_num(&w, r->clock_min_ms);
    jm_jsonw_num(&w, r->clock_max_ms);
    jm_jsonw_end(&w);
    if (scenario_dir) {
        jm_jsonw_kstr(&w, "submission", scenario_dir);
        jm_jsonw_key(&w, "to_fill_in");
        jm_jsonw_array(&w);
        struct jm_span rest = jm_str_span(todo), line;
        while (jm_span_line(&rest, &line))
            jm_jsonw_span(&w, line);
        jm_jsonw_end(&w);
    }
    if (j->path) {
        jm_jsonw_key(&w, "check");
        jm_check_json(j, &w);
    }
    jm_jsonw_end(&w);
    jm_str_addc(&out, '\n');
    jm_cli_out(cli, jm_str_span(&out));
    jm_str_release(&out);
}

/* The session is whole: lays it out where asked, judges it, tells. */
static int tell(struct jm_cli *cli, const struct opts *o, const struct jm_mlperf_client_report *r,
                struct jm_err *err)
{
    struct jm_mlperf_tree_conf conf = tree_conf(o);
    struct jm_mlperf_session *s = NULL;
    struct jm_judged j = {.no_figures = true};
    struct jm_str todo;
    char dir[4096];
    jm_str_init(&todo);
    int rc = judge(r->dir, false, &j, &s, err);
    if (!rc && o->submission && !(rc = jm_mlperf_tree_make(&conf, s, dir, &todo, err))) {
        jm_judged_release(&j);
        jm_mlperf_session_free(s);
        s = NULL;
        j = (struct jm_judged){.no_figures = true};
        rc = judge(dir, true, &j, &s, err);
    }
    if (!rc)
        (cli->common->json ? json : text)(cli, r, &j, o->submission ? dir : NULL, &todo);
    else
        jm_cli_say(cli, "the session is whole in %s, but: %s", r->dir, err->text);
    bool fails = !rc && o->submission && jm_judged_fails(&j);
    jm_judged_release(&j);
    jm_mlperf_session_free(s);
    jm_str_release(&todo);
    return rc ? JM_EXIT_SYSTEM : r->clock_off ? JM_EXIT_INVALID : fails ? JM_EXIT_CHECK : JM_EXIT_OK;
}

static int run(struct jm_cli *cli, void *opts, struct jm_err *err)
{
    struct opts *o = opts;
    struct jm_mlperf_client_report report;
    struct jm_str kept;
    int rc = required(o, err);
    if (!rc)
        rc = jm_signals_catch(err);
    if (rc)
        return rc;
    struct jm_mlperf_client_conf conf = {
        .addr = o->addr,
        .port = (int)o->port,
        .workload = o->workload,
        .indir = o->indir,
        .outdir = o->outdir,
        .ntp = o->no_ntp ? NULL : o->ntp,
        .set_clock = o->set_clock,
        .label = o->label,
        .flat = o->no_timestamp_path || !o->timestamp_path,
        .force = o->force,
        .stop_server = o->stop_server,
        .volts = o->volts,
        .amps = o->amps,
        .reply_ns = o->reply_ns,
        .measure_ns = o->measure_ns,
        .child = jm_cli_mlperf_child(),
        .clock = jm_clock_system(),
        .wake = {&jm_signals_stop, jm_signals_fd()},
        .log = cli->log,
        .progress = progress,
        .progress_self = cli,
    };
    rc = o->fetch ? jm_mlperf_client_fetch(&conf, o->fetch, &report, err)
                  : jm_mlperf_client_run(&conf, &report, err);
    if (!rc)
        return tell(cli, o, &report, err);
    jm_cli_say(cli, "%s", err->text);
    if (rc == JM_EUSAGE)
        return JM_EXIT_USAGE;
    jm_str_init(&kept);
    jm_mlperf_client_kept(&report, &kept);
    jm_cli_say(cli, "%s", kept.buf);
    jm_str_release(&kept);
    return jm_signals_which() ? 128 + jm_signals_which() : JM_EXIT_SYSTEM;
}

static int positive(void *at, const char *text, struct jm_err *err)
{
    double v;
    if (jm_num_double(jm_span_of(text), &v) || !(v > 0))
        return jm_err_set(err, JM_EUSAGE, "\"%.40s\" is no number above 0", text);
    *(const char **)at = text;
    return 0;
}

static const struct jm_opt table[] = {
    {"addr", 'a', JM_OPT_STR, offsetof(struct opts, addr), .arg = "ADDR", .help = "Address of the Director.",
     .group = "Measurement"},
    {"port", 'p', JM_OPT_INT, offsetof(struct opts, port), 1, 65535, .help = "Its port.", .deflt = "4950"},
    {"run-workload", 'w', JM_OPT_STR, offsetof(struct opts, workload), .arg = "CMD",
     .help = "Shell command to run under power measurement: twice, first to find the ranges."},
    {"loadgen-logs", 'L', JM_OPT_STR, offsetof(struct opts, indir), .arg = "INDIR",
     .help = "Take LoadGen's logs from INDIR or below it."},
    {"output", 'o', JM_OPT_STR, offsetof(struct opts, outdir), .arg = "OUTDIR",
     .help = "Put the session into OUTDIR; it must not lie inside INDIR."},
    {"ntp", 'n', JM_OPT_STR, offsetof(struct opts, ntp), .arg = "ADDR",
     .help = "NTP server to compare the clock with: host or host:port."},
    {"no-ntp", 0, JM_OPT_FLAG, offsetof(struct opts, no_ntp),
     .help = "Ask no NTP server; the session says so, and cannot be submitted."},
    {"set-clock", 0, JM_OPT_FLAG, offsetof(struct opts, set_clock),
     .help = "When a clock is off by 400 ms or more, let ntpdate set it on both sides, as the public client "
             "does; without this the session ends there."},
    {"label", 'l', JM_OPT_STR, offsetof(struct opts, label), .arg = "LABEL",
     .help = "Put LABEL into the session's name: letters, digits, - and _."},
    {"force", 'f', JM_OPT_FLAG, offsetof(struct opts, force), .help = "Remove INDIR first."},
    {"stop-server", 'S', JM_OPT_FLAG, offsetof(struct opts, stop_server),
     .help = "Let the Director end after this session."},
    {"timestamp-path", 't', JM_OPT_FLAG, offsetof(struct opts, timestamp_path),
     .help = "Put the session into OUTDIR/SESSION.", .deflt = "yes"},
    {"no-timestamp-path", 'T', JM_OPT_FLAG, offsetof(struct opts, no_timestamp_path),
     .help = "Put the session into OUTDIR itself."},
    {"max-volts", 'V', JM_OPT_PARSE, offsetof(struct opts, volts), .arg = "VOLTS", .parse = positive,
     .help = "With -A: no ranging run, test with these ranges. Not valid for a submission."},
    {"max-amps", 'A', JM_OPT_PARSE, offsetof(struct opts, amps), .arg = "AMPS", .parse = positive,
     .help = "See -V."},
    {"submission", 0, JM_OPT_STR, offsetof(struct opts, submission), .arg = "DIR", .group = "Submission",
     .help = "Lay the session out below DIR/DIVISION/SUBMITTER as a submission, with templates of its "
             "documents, and "
             "check it there. Ends with 1 when a rule is broken."},
    {"system", 0, JM_OPT_STR, offsetof(struct opts, system), .arg = "NAME",
     .help = "Folder name of the system."},
    {"benchmark", 0, JM_OPT_STR, offsetof(struct opts, benchmark), .arg = "NAME",
     .help = "Benchmark, as submissions name it: llama3.1-8b, llama2-70b-99."},
    {"scenario", 0, JM_OPT_STR, offsetof(struct opts, scenario), .arg = "NAME",
     .help = "Offline, Server, Interactive, SingleStream or MultiStream."},
    {"division", 0, JM_OPT_ENUM, offsetof(struct opts, division), .arg = "NAME", .choices = "closed|open",
     .help = "closed or open.", .deflt = "closed"},
    {"submitter", 0, JM_OPT_STR, offsetof(struct opts, submitter), .arg = "NAME",
     .help = "Folder name of the submitter.", .deflt = "submitter"},
    {"user-conf", 0, JM_OPT_STR, offsetof(struct opts, user_conf), .arg = "FILE",
     .help = "user.conf that LoadGen was given, to be copied into the submission."},
    {"fetch", 0, JM_OPT_STR, offsetof(struct opts, fetch), .arg = "DIR", .group = "After a broken connection",
     .help = "Measure nothing: fetch the Director's files that session DIR still lacks. Needs -a."},
    {"reply-timeout", 0, JM_OPT_DURATION, offsetof(struct opts, reply_ns), 1e6, 1e13,
     .help = "Longest wait for the Director's reply.", .deflt = "60s"},
    {"start-timeout", 0, JM_OPT_DURATION, offsetof(struct opts, measure_ns), 1e6, 1e13,
     .help = "Longest wait until the Director has started or stopped the analyzer.", .deflt = "15min"},
    JM_OPT_JSON,
    JM_OPTS_COMMON,
    {NULL}};

const struct jm_cmd jm_cmd_mlperf_sut = {
    .name = "mlperf sut",
    .group = "MLPerf Power",
    .summary = "Run a workload here while a Director measures it",
    .usage = "-a ADDR -w CMD -L INDIR -o OUTDIR -n NTP [OPTIONS]",
    .description =
        "The system under test's side of an MLPerf power measurement. CMD runs LoadGen in performance mode "
        "and "
        "writes its logs into INDIR; it is run twice, once while the Director finds the analyzer's ranges "
        "and once "
        "for the result. Clocks are compared before each run. In the end OUTDIR/SESSION holds both sides' "
        "files: "
        "power, ranging and run_1.\n\n"
        "Options and protocol are those of the public client (mlcommons/power-dev), whose Director works "
        "with this "
        "command as well as joulemark mlperf director does. When the workload fails, the Director goes away, "
        "or "
        "Ctrl-C is pressed, what was measured so far is kept and named.\n\n"
        "CMD's output goes to standard error. docs/mlperf.md has a walk-through on one machine, without an "
        "analyzer.",
    .examples = "joulemark mlperf sut -a director -n ntp.local -L lg -o power -w ./run.sh # both runs\n"
                "joulemark mlperf sut -a director --fetch power/2026-01-30_10-00-00 # the rest of it",
    .opts = table,
    .opts_size = sizeof(struct opts),
    .init = init,
    .fn = run,
};
