/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <errno.h>
#include <glob.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "cli/cmds.h"
#include "cli/path.h"
#include "cli/present.h"
#include "compute/compare.h"
#include "show/compare.h"
#include "wire/scores.h"

#include "base/banned.h"

#define MOST_RUNS   1000
#define SCORE_BYTES ((size_t)64 << 20)

struct opts {
    struct jm_common common;
    struct jm_present present;
    const char *contract, *format, *output, *unit;
    struct jm_opt_list differs, aa, quality;
    int boundary;
    double margin;
};

static int share(void *at, const char *text, struct jm_err *err)
{
    double v;
    int rc = jm_contract_share(at ? &v : NULL, text, err);
    if (!rc && !(v > 0 && v < 1))
        return jm_err_set(err, JM_EUSAGE, "%.20s is not between 0 and 100 %%", text);
    if (!rc)
        *(double *)at = v;
    return rc;
}

static void init(void *opts)
{
    struct opts *o = opts;
    jm_present_init(&o->present);
    o->format = "text";
    o->boundary = -1;
}

/* --- files of a side */
struct files {
    char **path;
    size_t n;
};

static int add_file(struct files *f, const char *path, struct jm_err *err)
{
    if (f->n == MOST_RUNS)
        return jm_err_set(err, JM_EUSAGE, "more than %d run files", MOST_RUNS);
    char **v = realloc(f->path, (f->n + 1) * sizeof *v);
    if (!v)
        return jm_err_set(err, JM_ENOMEM, "out of memory for the run files");
    f->path = v;
    if (!(f->path[f->n] = strdup(path)))
        return jm_err_set(err, JM_ENOMEM, "out of memory for the run files");
    f->n++;
    return 0;
}

static void free_files(struct files *f)
{
    for (size_t i = 0; i < f->n; i++)
        free(f->path[i]);
    free(f->path);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static int folder(const char *path, struct files *f, struct jm_err *err)
{
    size_t from = f->n;
    int rc = 0;
    DIR *d = opendir(path);
    if (!d)
        return jm_err_sys(err, errno, "cannot read the folder %s", path);
    for (struct dirent *e; !rc && (e = readdir(d));)
        if (jm_span_ends(jm_span_of(e->d_name), JM_SPAN(".jmr"))) {
            struct jm_str s;
            jm_str_init(&s);
            jm_str_addf(&s, "%s/%s", path, e->d_name);
            rc = jm_str_ok(&s, "a file name", err);
            if (!rc)
                rc = add_file(f, s.buf, err);
            jm_str_release(&s);
        }
    closedir(d);
    if (!rc && f->n == from)
        rc = jm_err_set(err, JM_EUSAGE, "the folder %s has no run file (*.jmr)", path);
    if (!rc)
        qsort(f->path + from, f->n - from, sizeof *f->path, by_name);
    return rc;
}

/* A run file, a folder of them, or a pattern. */
static int collect(const char *name, struct files *f, struct jm_err *err)
{
    struct stat st;
    if (stat(name, &st) == 0)
        return S_ISDIR(st.st_mode) ? folder(name, f, err) : add_file(f, name, err);
    glob_t g;
    int rc = strpbrk(name, "*?[") ? glob(name, 0, NULL, &g) : -1;
    if (rc == 0) {
        for (size_t i = 0; !rc && i < g.gl_pathc; i++)
            rc = stat(g.gl_pathv[i], &st) == 0 && S_ISDIR(st.st_mode) ? folder(g.gl_pathv[i], f, err)
                                                                      : add_file(f, g.gl_pathv[i], err);
        globfree(&g);
        return rc;
    }
    if (strchr(name, ',')) { /* a list */
        struct jm_span rest = jm_span_of(name), one;
        for (rc = 0; !rc && jm_span_field(&rest, ',', &one);) {
            char *part = strndup(one.p, one.n);
            if (!part)
                return jm_err_set(err, JM_ENOMEM, "out of memory for the run files");
            rc = one.n ? collect(part, f, err) : 0;
            free(part);
        }
        return rc;
    }
    return add_file(f, name, err); /* opening it says what is wrong */
}

/* --- runs and reports */
struct side {
    struct files files;
    struct jm_run **open;
    struct jm_report **report;
    struct jm_compare_run *run;
    struct jm_scores scores;
};

static int load(struct side *s, const struct jm_present *p, struct jm_err *err)
{
    s->open = calloc(s->files.n + 1, sizeof *s->open);
    s->report = calloc(s->files.n + 1, sizeof *s->report);
    s->run = calloc(s->files.n + 1, sizeof *s->run);
    if (!s->open || !s->report || !s->run)
        return jm_err_set(err, JM_ENOMEM, "out of memory for the runs");
    for (size_t i = 0; i < s->files.n; i++) {
        int rc = jm_run_open(s->files.path[i], &s->open[i], err);
        if (!rc)
            rc = jm_present_report(s->open[i], p, &s->report[i], err);
        if (rc)
            return rc;
        s->run[i] = (struct jm_compare_run){s->open[i], s->report[i]};
    }
    return 0;
}

static void release(struct side *s)
{
    for (size_t i = 0; i < s->files.n; i++) {
        if (s->report)
            jm_report_free(s->report[i]);
        if (s->open && s->open[i])
            jm_run_close(s->open[i]);
    }
    free(s->open);
    free(s->report);
    free(s->run);
    jm_scores_release(&s->scores);
    free_files(&s->files);
}

static int scores(const char *path, struct jm_scores *out, struct jm_err *err)
{
    struct jm_str text;
    jm_str_init(&text);
    int rc = jm_file_read(path, SCORE_BYTES, &text, err);
    if (!rc && (rc = jm_scores_parse(jm_str_span(&text), out, err))) {
        jm_err_prefix(err, "--quality %s", path);
        rc = JM_EUSAGE;
    }
    jm_str_release(&text);
    return rc;
}

static int names_of(const struct jm_opt_list *list, const char **out, char **copy, size_t most, size_t *n,
                    struct jm_err *err)
{
    *n = 0;
    for (size_t i = 0; i < list->n; i++) {
        struct jm_span rest = jm_span_of(list->item[i]), one;
        while (jm_span_field(&rest, ',', &one)) {
            one = jm_span_trim(one);
            if (!one.n)
                continue;
            if (*n == most)
                return jm_err_set(err, JM_EUSAGE, "--differs: more than %zu names", most);
            if (!(copy[*n] = strndup(one.p, one.n)))
                return jm_err_set(err, JM_ENOMEM, "out of memory for the names");
            out[*n] = copy[*n];
            (*n)++;
        }
    }
    return 0;
}

static int output(struct jm_cli *cli, const struct opts *o, const struct jm_comparison *c, struct jm_err *err)
{
    const char *format = cli->common->json ? "json" : o->format;
    const struct jm_compare_format *f = jm_compare_formats;
    struct jm_show_opts show = {.width = 80,
                                .color =
                                    o->output ? cli->common->color == JM_COLOR_ALWAYS : cli->term.out_color,
                                .ascii = o->present.ascii,
                                .all = o->present.all};
    struct jm_str s;
    while (f->name && strcmp(f->name, format) != 0)
        f++;
    jm_str_init(&s);
    int rc = f->render(c, &show, &s, err);
    if (!rc && o->output) {
        rc = jm_path_spare_run(o->output, err);
        if (!rc)
            rc = jm_file_mkparents(o->output, err);
        if (!rc)
            rc = jm_file_write(o->output, jm_str_span(&s), err);
    } else if (!rc) {
        jm_cli_out(cli, jm_str_span(&s));
    }
    jm_str_release(&s);
    return rc;
}

static int exit_of(const struct jm_comparison *c)
{
    switch (c->verdict) {
    case JM_VERDICT_ACCEPT:
    case JM_VERDICT_LOWER:
    case JM_VERDICT_HIGHER:
    case JM_VERDICT_EQUIVALENT: return JM_EXIT_OK;
    case JM_VERDICT_INCOMPARABLE: return JM_EXIT_INVALID;
    default: return JM_EXIT_CHECK;
    }
}

#define MOST_NAMES 64

static int all(struct jm_cli *cli, struct opts *o, struct jm_contract *k, struct side *side, size_t n,
               struct side *aa, struct jm_err *err)
{
    struct jm_compare_side_in in[JM_COMPARE_SIDES];
    const char *names[MOST_NAMES];
    char *copy[MOST_NAMES] = {NULL};
    struct jm_compare_opts c = {.contract = o->contract ? k : NULL,
                                .unit = o->unit,
                                .boundary = o->boundary,
                                .level = o->present.level,
                                .margin = o->margin,
                                .differs = names};
    struct jm_comparison *out = NULL;
    int rc = names_of(&o->differs, names, copy, MOST_NAMES, &c.n_differs, err);
    if (o->contract)
        o->present.contract = k;
    for (size_t i = 0; !rc && i < n; i++) {
        rc = collect(cli->operand[i], &side[i].files, err);
        if (!rc)
            rc = load(&side[i], &o->present, err);
        if (!rc && o->quality.n)
            rc = scores(o->quality.item[i], &side[i].scores, err);
        in[i] = (struct jm_compare_side_in){cli->operand[i], side[i].run, side[i].files.n,
                                            o->quality.n ? side[i].scores.v : NULL, side[i].scores.n};
    }
    for (size_t i = 0; !rc && i < o->aa.n; i++)
        rc = collect(o->aa.item[i], &aa->files, err);
    if (!rc)
        rc = load(aa, &o->present, err);
    c.aa = aa->run;
    c.n_aa = aa->files.n;
    if (!rc)
        rc = jm_compare(in, n, &c, &out, err);
    if (!rc)
        rc = output(cli, o, out, err);
    if (!rc)
        rc = exit_of(out);
    jm_comparison_free(out);
    for (size_t i = 0; i < MOST_NAMES; i++)
        free(copy[i]);
    return rc;
}

static int compare(struct jm_cli *cli, void *opts, struct jm_err *err)
{
    struct opts *o = opts;
    struct jm_contract k = {0};
    struct side side[JM_COMPARE_SIDES] = {{{0}, 0}}, aa = {{0}, 0};
    size_t n = cli->n_operands;
    struct jm_str text;
    int rc = 0;
    const char *beside = !o->contract           ? NULL
                         : o->unit              ? "unit"
                         : o->boundary >= 0     ? "boundary"
                         : o->margin > 0        ? "margin"
                         : o->present.level > 0 ? "level"
                         : o->present.slo_ttft  ? "slo-ttft"
                         : o->present.slo_tpot  ? "slo-tpot"
                         : o->present.slo_e2e   ? "slo-e2e"
                                                : NULL;
    bool known = cli->common->json;
    for (const struct jm_compare_format *f = jm_compare_formats; f->name; f++)
        known |= strcmp(f->name, o->format) == 0;
    if (!known)
        return jm_err_set(err, JM_EUSAGE, "--format: \"%.40s\" is not one of text, json, markdown, html",
                          o->format);
    if (beside)
        return jm_err_set(err, JM_EUSAGE, "--%s: the contract says that; leave it out", beside);
    if (o->quality.n && o->quality.n != n)
        return jm_err_set(err, JM_EUSAGE,
                          "--quality: %zu file%s for %zu sides; give one a side, in their order",
                          o->quality.n, o->quality.n == 1 ? "" : "s", n);
    jm_str_init(&text);
    if (o->contract) {
        rc = jm_file_read(o->contract, JM_CONTRACT_BYTES, &text, err);
        if (!rc)
            rc = jm_contract_parse(jm_str_span(&text), o->contract, &k, err);
    }
    jm_str_release(&text);
    if (!rc)
        rc = all(cli, o, &k, side, n, &aa, err);
    for (size_t i = 0; i < n; i++)
        release(&side[i]);
    release(&aa);
    jm_contract_release(&k);
    return rc;
}

static int parse_boundary(void *at, const char *text, struct jm_err *err)
{
    int b = jm_boundary_parse(jm_span_of(text));
    if (b < JM_B_GPU || b > JM_B_WALL)
        return jm_err_set(err, JM_EUSAGE, "\"%.40s\" is not one of gpu, device, node, wall", text);
    *(int *)at = b;
    return 0;
}

static const struct jm_opt table[] = {
    {"contract", 'c', JM_OPT_STR, offsetof(struct opts, contract), .arg = "FILE",
     .help =
         "Hold B against an acceptance contract (docs/compare.md): the verdict is then accept, reject or not "
         "resolvable."},
    {"differs", 0, JM_OPT_LIST, offsetof(struct opts, differs), .arg = "LIST",
     .help = "What is meant to differ, e.g. engine.version,clocks. Everything else must agree. Repeatable."},
    {"aa", 0, JM_OPT_LIST, offsetof(struct opts, aa), .arg = "RUN",
     .help = "Runs of A against A, six trials at least, for the detection floor. Repeatable.",
     .deflt = "the scatter of A's own trials"},
    {"quality", 0, JM_OPT_LIST, offsetof(struct opts, quality), .arg = "FILE",
     .help = "Quality scores, once a side in their order: a CSV with a column score, or a number a line.",
     .deflt = "those that the runs keep"},
    {"unit", 'u', JM_OPT_PARSE, offsetof(struct opts, unit), .parse = jm_contract_unit, .arg = "NAME",
     .help = "Unit of useful work: output_token, qualified_token, total_token, input_token or request_ok.",
     .deflt = "output_token"},
    {"boundary", 'b', JM_OPT_PARSE, offsetof(struct opts, boundary), .parse = parse_boundary, .arg = "NAME",
     .help = "gpu, device, node or wall.", .deflt = "the widest that all sides have"},
    {"margin", 0, JM_OPT_PARSE, offsetof(struct opts, margin), .parse = share, .arg = "SHARE",
     .help = "Within it A and B are called equivalent.", .deflt = "2 %"},
    {"format", 'f', JM_OPT_STR, offsetof(struct opts, format), .arg = "NAME",
     .help = "text, json, markdown or html.", .deflt = "text"},
    JM_OPT_JSON,
    {"output", 'o', JM_OPT_STR, offsetof(struct opts, output), .arg = "FILE", .help = "Write to FILE.",
     .deflt = "standard output"},
    JM_OPTS_CALIBRATION(opts, present),
    JM_OPTS_PRESENT(opts, present),
    JM_OPTS_SLO(opts, present),
    JM_OPTS_COMMON,
    {NULL}};

const struct jm_cmd jm_cmd_compare = {
    .name = "compare",
    .group = "Look at a run",
    .summary = "Tell whether B takes less energy than A, and whether a change may go to production",
    .usage = "[OPTIONS] A B [MORE...]",
    .description =
        "A and B are run files with several trials, or several run files: a folder, a quoted pattern or a "
        "list "
        "with commas. First what must agree is compared: boundary, instrument, workload, model, engine, "
        "clocks "
        "and more; what differs without having been declared (--differs) ends it. Then trial by trial: the "
        "ratio "
        "with its interval, whether it is more than A against A shows, and one sentence.\n\n"
        "Without a contract the sentence says lower, higher, equivalent or not resolvable. With one it says "
        "accept, reject or not resolvable, each with its reason. With several candidates the best is "
        "corrected "
        "for having been chosen.\n\n"
        "Ends with 0 when B is accepted (without a contract: when something can be told), 1 when it is "
        "rejected "
        "or not resolvable, 2 for a wrong contract or the same run twice, 3 when the sides are not "
        "comparable "
        "or a measurement is invalid.",
    .examples = "joulemark compare a.jmr b.jmr --differs engine.version # lower, higher, equivalent?\n"
                "joulemark compare a.jmr b.jmr --contract contract.yaml # for CI: 0 means accept\n"
                "joulemark compare base/ 'try1/*.jmr' 'try2/*.jmr' --differs clocks # several candidates\n"
                "joulemark compare a.jmr b.jmr -c contract.yaml -f markdown # for a pull request",
    .opts = table,
    .opts_size = sizeof(struct opts),
    .init = init,
    .min_operands = 2,
    .max_operands = JM_COMPARE_SIDES,
    .fn = compare,
};
