/* SPDX-License-Identifier: Apache-2.0 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "cli/cmds.h"
#include "cli/mlperf_check.h"
#include "cli/path.h"
#include "cli/signals.h"
#include "mlperf/official.h"
#include "mlperf/rounds.h"
#include "mlperf/tiny.h"
#include "mlperf/training.h"

#include "base/banned.h"

struct opts {
    struct jm_common common;
    const char *revision, *as_round, *html;
    int64_t jobs;
    bool all, official, ascii;
};

struct work {
    const struct opts *o;
    const struct jm_mlperf_round *as; /* NULL: as path or date say */
    struct jm_cli *cli;
    const struct jm_mlperf_found *found;
    struct jm_judged *judged;
    size_t n;
    bool thin;
    atomic_size_t done;
};

static int no_memory(const char *path, struct jm_err *err)
{
    return jm_err_set(err, JM_ENOMEM, "out of memory while checking %s", path);
}

static int session(const struct work *w, struct jm_judged *out, struct jm_err *why, struct jm_err *err)
{
    struct jm_mlperf_session *s = NULL;
    struct jm_err none = {0};
    int rc = jm_mlperf_session_read_as(out->path, JM_MLPERF_READ_ALL, w->as, &s, why);
    if (rc)
        return rc;
    snprintf(out->round, sizeof out->round, "%s", s->round.name);
    snprintf(out->round_from, sizeof out->round_from, "%s", s->round.from ? s->round.from : "");
    out->no_figures = jm_mlperf_compute(s, &out->r, &none) != 0;
    struct jm_mlperf_submission *m = NULL;
    rc = jm_mlperf_submission_read(out->path, s->round.name, &m, err);
    if (!rc)
        rc = jm_mlperf_judge(s, out->no_figures ? NULL : &out->r, w->o->revision, m, &out->c, err);
    jm_mlperf_submission_free(m);
    jm_mlperf_session_free(s);
    if (rc)
        *why = *err;
    return rc;
}

static int training(struct jm_judged *out, struct jm_err *why)
{
    struct jm_training_result *t = NULL;
    int rc = jm_training_read(out->path, &t, why);
    if (!rc) {
        snprintf(out->round, sizeof out->round, "%s", t->round);
        rc = jm_training_check(t, &out->c, why);
    }
    jm_training_free(t);
    return rc;
}

static int tiny(struct jm_judged *out, struct jm_err *why)
{
    struct jm_tiny_result *t = NULL;
    int rc = jm_tiny_read(out->path, &t, why);
    if (!rc) {
        snprintf(out->round, sizeof out->round, "%s", t->round);
        rc = jm_tiny_check(t, &out->c, why);
    }
    jm_tiny_free(t);
    return rc;
}

/* Judges one find; only JM_ENOMEM and a wrong revision end all. */
static int judge(void *self, size_t i, struct jm_err *err)
{
    struct work *w = self;
    const struct jm_mlperf_found *f = &w->found[i];
    struct jm_judged *out = &w->judged[i];
    struct jm_err why = {0};
    out->no_figures = true;
    if (!(out->path = strdup(f->path)))
        return no_memory(f->path, err);
    out->no_official = f->kind != JM_FOUND_SESSION;
    int rc = f->kind == JM_FOUND_TRAINING ? training(out, &why)
             : f->kind == JM_FOUND_TINY   ? tiny(out, &why)
                                          : session(w, out, &why, err);
    if (rc == JM_ENOMEM || rc == JM_EUSAGE)
        return jm_err_set(err, rc, "%s", why.text);
    if (rc && !(out->error = strdup(why.text)))
        return no_memory(f->path, err);
    jm_judged_count(out);
    if (w->thin)
        jm_judged_thin(out);
    size_t done = atomic_fetch_add(&w->done, 1) + 1;
    if (w->n > 1)
        jm_term_progress(&w->cli->term, (double)done / (double)w->n, "%zu of %zu checked", done, w->n);
    return 0;
}

static bool stopped(void *self)
{
    (void)self;
    return jm_signals_stop;
}

/* Everything below the folders that were asked for, in order. */
static int find(struct jm_cli *cli, struct jm_mlperf_walk *walk, int jobs, struct jm_err *err)
{
    const struct jm_mlperf_pool_ops ops = {.stopped = stopped};
    struct jm_round_table t = {0};
    int rc = jm_mlperf_walk(cli->operand, cli->n_operands, jobs, &ops, &t, walk, err);
    size_t n = 0;
    for (size_t i = 0; !rc && i < walk->n; i++) {
        if (walk->found[i].kind >= JM_FOUND_TABLE) /* beside the results, none itself */
            free(walk->found[i].path);
        else
            walk->found[n++] = walk->found[i];
    }
    if (!rc) {
        walk->n = n;
        if (!n)
            rc = jm_err_set(err, JM_EABSENT,
                            "no MLPerf result with power lies below %s%s; a session is a folder that holds "
                            "performance/ or power/, ranging/ and run_1/",
                            cli->operand[0], cli->n_operands > 1 ? " and the others" : "");
        else if (t.n_trouble && !cli->common->quiet)
            jm_cli_say(cli, "%zu folders or files could not be read, the first: %s: %s", t.n_trouble,
                       t.trouble[0].path, t.trouble[0].why);
    }
    jm_round_table_release(&t);
    return rc;
}

static int page(const struct jm_judged *j, size_t n, const char *file, struct jm_err *err)
{
    struct jm_str s;
    jm_str_init(&s);
    int rc = jm_path_spare_run(file, err);
    if (!rc) {
        jm_check_html(j, n, &s);
        rc = jm_str_ok(&s, "the page", err);
    }
    if (!rc)
        rc = jm_file_mkparents(file, err);
    if (!rc)
        rc = jm_file_write(file, jm_str_span(&s), err);
    jm_str_release(&s);
    return rc;
}

/* One session is told in full, many a line each. */
static void show(struct jm_cli *cli, const struct opts *o, const struct jm_judged *j, size_t i, size_t n,
                 struct jm_jsonw *w, struct jm_str *s)
{
    struct jm_check_show how = {
        .width = cli->term.width, .color = cli->term.out_color, .ascii = o->ascii, .all = o->all};
    if (cli->common->json) {
        jm_check_json(j, w);
    } else if (o->official) {
        if (n > 1)
            jm_str_addf(s, "%s%s\n", i ? "\n" : "", j->path);
        if (j->error || j->no_official)
            jm_str_addf(s, "%s\n",
                        j->error ? j->error : "The public power checker does not look at such results.");
        else
            jm_mlperf_official_print(&j->c.official, s);
    } else if (n == 1) {
        jm_check_text(j, &how, s);
    } else {
        if (!i)
            jm_str_adds(s, "ours  official  session\n");
        jm_check_line(j, &how, s);
    }
}

static int tell(struct jm_cli *cli, const struct opts *o, struct jm_judged *j, size_t n, bool *fails,
                struct jm_err *err)
{
    struct jm_str s;
    struct jm_jsonw w;
    bool json = cli->common->json;
    int rc = 0;
    jm_str_init(&s);
    jm_jsonw_init(&w, &s, 2);
    if (json) {
        jm_jsonw_object(&w);
        jm_jsonw_kstr(&w, "schema", "joulemark.mlperf.check/1");
        jm_jsonw_kstr(&w, "joulemark", JM_VERSION);
        jm_jsonw_key(&w, "sessions");
        jm_jsonw_array(&w);
    }
    for (size_t i = 0; i < n && !rc; i++) {
        *fails |= o->official ? j[i].error || (!j[i].no_official && j[i].c.official.verdict == JM_MLPERF_FAIL)
                              : jm_judged_fails(&j[i]);
        show(cli, o, &j[i], i, n, &w, &s);
        rc = jm_str_ok(&s, "what the rules say", err);
        if (!rc)
            jm_cli_out(cli, jm_str_span(&s));
        jm_str_reset(&s);
    }
    if (json) {
        jm_jsonw_end(&w);
        jm_check_json_sum(j, n, &w);
        jm_jsonw_end(&w);
        jm_str_addc(&s, '\n');
    } else if (n > 1 && !o->official) {
        struct jm_check_show how = {
            .width = cli->term.width, .color = cli->term.out_color, .ascii = o->ascii};
        jm_check_sum(j, n, &how, &s);
    }
    if (!rc && !(rc = jm_str_ok(&s, "what the rules say", err)))
        jm_cli_out(cli, jm_str_span(&s));
    jm_str_release(&s);
    return rc;
}

static int check(struct jm_cli *cli, void *opts, struct jm_err *err)
{
    const struct opts *o = opts;
    const struct jm_mlperf_pool_ops ops = {.stopped = stopped};
    struct work w = {.o = o, .cli = cli};
    struct jm_mlperf_walk walk = {0};
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    int jobs = o->jobs ? (int)o->jobs : cores > 256 ? 256 : cores > 0 ? (int)cores : 1;
    bool fails = false;
    if (o->revision && !jm_mlperf_revision_find(o->revision)) { /* told before anything is read */
        struct jm_mlperf_checked none;
        struct jm_mlperf_session *empty = calloc(1, sizeof *empty);
        int rc = empty ? jm_mlperf_check(empty, NULL, o->revision, &none, err) : no_memory("a session", err);
        free(empty);
        return rc;
    }
    struct jm_mlperf_round as;
    int rc = o->as_round ? jm_mlperf_round_named(o->as_round, &as, err) : 0;
    if (o->as_round)
        w.as = &as;
    if (!rc)
        rc = jm_signals_catch(err);
    if (!rc)
        rc = find(cli, &walk, jobs, err);
    if (!rc && !(w.judged = calloc(walk.n, sizeof *w.judged)))
        rc = no_memory(cli->operand[0], err);
    if (!rc) {
        w.found = walk.found;
        w.n = walk.n;
        w.thin = walk.n > 1 && !o->all;
        rc = jm_mlperf_each(walk.n, jobs, &ops, judge, &w, err);
        jm_term_progress_end(&cli->term);
    }
    size_t n = 0; /* those that were judged, in order */
    for (size_t i = 0; w.judged && i < walk.n; i++)
        if (w.judged[i].path)
            w.judged[n++] = w.judged[i];
    if (!rc && n == 1 && walk.n == 1 && w.judged[0].error) /* nothing was checked */
        rc = jm_err_set(err, JM_EABSENT, "%s", w.judged[0].error);
    if (!rc)
        rc = tell(cli, o, w.judged, n, &fails, err);
    if (!rc && o->html)
        rc = page(w.judged, n, o->html, err);
    if (!rc && n < walk.n) {
        jm_cli_say(cli, "interrupted: %zu of %zu were checked", n, walk.n);
        rc = JM_EXIT_SYSTEM;
    }
    for (size_t i = 0; i < n; i++)
        jm_judged_release(&w.judged[i]);
    free(w.judged);
    jm_mlperf_walk_release(&walk);
    return rc ? rc : fails ? JM_EXIT_CHECK : JM_EXIT_OK;
}

static const struct jm_opt table[] = {
    {"all", 'a', JM_OPT_FLAG, offsetof(struct opts, all),
     .help = "Show the rules that hold and those that had nothing to look at too.", .group = "Output"},
    {"official", 0, JM_OPT_FLAG, offsetof(struct opts, official),
     .help = "Print only what the public checker says, in its own form."},
    {"html", 0, JM_OPT_STR, offsetof(struct opts, html), .arg = "FILE",
     .help = "Also write one self-contained page."},
    JM_OPT_JSON,
    {"ascii", 0, JM_OPT_FLAG, offsetof(struct opts, ascii),
     .help = "No characters beyond ASCII in the text."},
    {"revision", 0, JM_OPT_STR, offsetof(struct opts, revision), .arg = "REV",
     .help =
         "Follow this revision of the public checker: r1.0 to r3.0, f59033d (v3.1), inf_v4.0 to inf_v5.1, "
         "c4b3ad8, HEAD; or that of a round, e.g. v3.1.",
     .deflt = "that of the session's round", .group = "The public checker"},
    {"as-round", 0, JM_OPT_STR, offsetof(struct opts, as_round), .arg = "ROUND",
     .help = "Take the session for one of this round, e.g. v3.1.", .deflt = "as its path or date says"},
    {"jobs", 'j', JM_OPT_INT, offsetof(struct opts, jobs), 1, 256, .arg = "N", .help = "Read with N threads.",
     .deflt = "one a core", .group = "Reading"},
    JM_OPTS_COMMON,
    {NULL}};

const struct jm_cmd jm_cmd_mlperf_check = {
    .name = "mlperf check",
    .group = "MLPerf Power",
    .summary = "Say by which rules a power measurement is valid, and which it breaks",
    .usage = "[OPTIONS] DIR...",
    .description =
        "DIR is a session (the folder that holds performance/, or power/, ranging/ and run_1/), or a folder "
        "with "
        "many: a submission, a whole round. One session is told in full, of many a line each. Each is judged "
        "twice. First by the public power checker of its round (compliance/check.py of mlcommons/power-dev), "
        "followed to the letter, its errors included, so that you see what a submission would be told. Then "
        "by "
        "rules of our own, one line each: the same eleven checks without those errors, and what they do not "
        "look "
        "at, such as over-range, missed or frozen samples inside the load, ranges that do not fit the load, "
        "a "
        "Director that ran on the system under test, clocks that were set, or a simulated measurement.\n\n"
        "Fails come first. docs/mlperf-rules.md lists every rule with its source; the JSON is described in "
        "docs/mlperf.md. Of MLPerf Training and Tiny results the rules of theirs are looked at. Ends with 1 "
        "when a rule or the public checker fails, with --official when the "
        "public "
        "checker does.",
    .examples = "joulemark mlperf check results/h200/llama2-70b-99/Offline # one session\n"
                "joulemark mlperf check --all --html=check.html session/ # every rule, and a page\n"
                "joulemark mlperf check --official --revision=HEAD session/ # what the newest checker says\n"
                "joulemark mlperf check inference_results_v5.1 # a whole round\n"
                "joulemark mlperf check --json inference_results_v5.1 | jq .summary # its counts",
    .opts = table,
    .opts_size = sizeof(struct opts),
    .min_operands = 1,
    .max_operands = 4096,
    .fn = check,
};
