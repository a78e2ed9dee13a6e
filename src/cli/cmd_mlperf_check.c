/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "cli/cmds.h"
#include "cli/mlperf_check.h"
#include "cli/path.h"
#include "mlperf/official.h"
#include "mlperf/session.h"

#include "base/banned.h"

struct opts {
    struct jm_common common;
    const char *revision, *as_round, *html;
    bool all, official, ascii;
};

/* Judges the session at path; only JM_ENOMEM and a wrong revision end all. */
static int judge(const char *path, const struct opts *o, const struct jm_mlperf_round *as,
                 struct jm_judged *out, struct jm_err *err)
{
    struct jm_mlperf_session *s = NULL;
    struct jm_err why = {0};
    memset(out, 0, sizeof *out);
    out->no_figures = true;
    if (!(out->path = strdup(path)))
        return jm_err_set(err, JM_ENOMEM, "out of memory while checking %s", path);
    int rc = jm_mlperf_session_read_as(path, JM_MLPERF_READ_ALL, as, &s, &why);
    if (rc == JM_ENOMEM)
        return jm_err_set(err, rc, "%s", why.text);
    if (rc) {
        out->error = strdup(why.text);
        return out->error ? 0 : jm_err_set(err, JM_ENOMEM, "out of memory while checking %s", path);
    }
    memcpy(out->round, s->round.name, sizeof out->round);
    snprintf(out->round_from, sizeof out->round_from, "%s", s->round.from ? s->round.from : "");
    out->no_figures = jm_mlperf_compute(s, &out->r, &why) != 0;
    rc = jm_mlperf_check(s, out->no_figures ? NULL : &out->r, o->revision, &out->c, err);
    if (!rc)
        jm_judged_count(out);
    jm_mlperf_session_free(s);
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
        if (j->error)
            jm_str_addf(s, "%s\n", j->error);
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

static int check(struct jm_cli *cli, void *opts, struct jm_err *err)
{
    const struct opts *o = opts;
    size_t n = cli->n_operands;
    struct jm_judged *j = calloc(n ? n : 1, sizeof *j);
    struct jm_str s;
    struct jm_jsonw w;
    bool fails = false, json = cli->common->json;
    struct jm_mlperf_round as;
    int rc = j ? 0 : jm_err_set(err, JM_ENOMEM, "out of memory while checking %zu sessions", n);
    jm_str_init(&s);
    jm_jsonw_init(&w, &s, 2);
    if (!rc && o->as_round)
        rc = jm_mlperf_round_named(o->as_round, &as, err);
    if (json) {
        jm_jsonw_object(&w);
        jm_jsonw_kstr(&w, "schema", "joulemark.mlperf.check/1");
        jm_jsonw_kstr(&w, "joulemark", JM_VERSION);
        jm_jsonw_key(&w, "sessions");
        jm_jsonw_array(&w);
    }
    for (size_t i = 0; i < n && !rc; i++) {
        rc = judge(cli->operand[i], o, o->as_round ? &as : NULL, &j[i], err);
        if (rc)
            break;
        fails |=
            o->official ? j[i].error || j[i].c.official.verdict == JM_MLPERF_FAIL : jm_judged_fails(&j[i]);
        show(cli, o, &j[i], i, n, &w, &s);
        rc = jm_str_ok(&s, "what the rules say", err);
        if (!rc) {
            jm_cli_out(cli, jm_str_span(&s));
            jm_str_reset(&s);
        }
    }
    if (!rc && n == 1 && j[0].error) { /* nothing was checked */
        rc = jm_err_set(err, JM_EABSENT, "%s", j[0].error);
        jm_str_reset(&s);
    }
    if (!rc && json) {
        jm_jsonw_end(&w);
        jm_check_json_sum(j, n, &w);
        jm_jsonw_end(&w);
        jm_str_addc(&s, '\n');
    } else if (!rc && n > 1 && !o->official) {
        struct jm_check_show how = {
            .width = cli->term.width, .color = cli->term.out_color, .ascii = o->ascii};
        jm_check_sum(j, n, &how, &s);
    }
    if (!rc && !(rc = jm_str_ok(&s, "what the rules say", err)))
        jm_cli_out(cli, jm_str_span(&s));
    if (!rc && o->html)
        rc = page(j, n, o->html, err);
    for (size_t i = 0; j && i < n; i++)
        jm_judged_release(&j[i]);
    free(j);
    jm_str_release(&s);
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
         "c4b3ad8, HEAD.",
     .deflt = "that of the session's round", .group = "The public checker"},
    {"as-round", 0, JM_OPT_STR, offsetof(struct opts, as_round), .arg = "ROUND",
     .help = "Take the session for one of this round, e.g. v3.1.", .deflt = "as its path or date says"},
    JM_OPTS_COMMON,
    {NULL}};

const struct jm_cmd jm_cmd_mlperf_check = {
    .name = "mlperf check",
    .group = "MLPerf Power",
    .summary = "Say by which rules a power measurement is valid, and which it breaks",
    .usage = "[OPTIONS] DIR...",
    .description =
        "DIR is a session: the folder that holds performance/, or power/, ranging/ and run_1/. It is judged "
        "twice. First by the public power checker of its round (compliance/check.py of mlcommons/power-dev), "
        "followed to the letter, its errors included, so that you see what a submission would be told. Then "
        "by "
        "rules of our own, one line each: the same eleven checks without those errors, and what they do not "
        "look "
        "at, such as over-range, missed or frozen samples inside the load, ranges that do not fit the load, "
        "a "
        "Director that ran on the system under test, clocks that were set, or a simulated measurement.\n\n"
        "Fails come first. docs/mlperf-rules.md lists every rule with its source; the JSON is described in "
        "docs/mlperf.md. Ends with 1 when a rule or the public checker fails, with --official when the "
        "public "
        "checker does.",
    .examples = "joulemark mlperf check results/h200/llama2-70b-99/Offline # one session\n"
                "joulemark mlperf check --all --html=check.html session/ # every rule, and a page\n"
                "joulemark mlperf check --official --revision=HEAD session/ # what the newest checker says\n"
                "joulemark mlperf check --json */performance | jq '.summary' # many",
    .opts = table,
    .opts_size = sizeof(struct opts),
    .min_operands = 1,
    .max_operands = 65536,
    .fn = check,
};
