/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "cli/cmds.h"
#include "import/import.h"

#include "base/banned.h"

struct opts {
    struct jm_common common;
    const char *from, *output, *label, *since, *until;
    int64_t select, interval;
    bool force, list;
};

static int list(struct jm_cli *cli, struct jm_err *err)
{
    struct jm_str s;
    jm_str_init(&s);
    for (const struct jm_importer *const *i = jm_importers; *i; i++) {
        jm_str_addf(&s, "%s ", (*i)->name);
        jm_str_wrap(&s, jm_span_of((*i)->summary), 12, 80);
    }
    int rc = jm_str_ok(&s, "the list of importers", err);
    if (!rc)
        jm_cli_out(cli, jm_str_span(&s));
    jm_str_release(&s);
    return rc;
}

/* The last part of the path, slashes at its end aside, with .jmr. */
static int default_name(const char *path, struct jm_str *out, struct jm_err *err)
{
    struct jm_span s = jm_span_of(path);
    while (s.n > 1 && s.p[s.n - 1] == '/')
        s.n--;
    size_t from = s.n;
    while (from && s.p[from - 1] != '/')
        from--;
    s = jm_span_sub(s, from, s.n);
    if (!s.n || jm_span_is(s, ".") || jm_span_is(s, ".."))
        return jm_err_set(err, JM_EUSAGE, "%s gives no name for the run file; add -o FILE", path);
    jm_str_addspan(out, s);
    jm_str_adds(out, ".jmr");
    return jm_str_ok(out, "a file name", err);
}

static int run_import(struct jm_cli *cli, void *opts, struct jm_err *err)
{
    const struct opts *o = opts;
    if (o->list)
        return list(cli, err);
    if (!cli->n_operands)
        return jm_err_set(err, JM_EUSAGE, "nothing to import; usage: joulemark import [OPTIONS] PATH");
    const char *path = cli->operand[0];
    const struct jm_importer *imp = jm_importer_find(o->from, path, err);
    if (!imp)
        return err->code ? err->code : JM_EUSAGE;
    struct jm_str out;
    jm_str_init(&out);
    int rc = o->output ? (jm_str_adds(&out, o->output), jm_str_ok(&out, "a file name", err))
                       : default_name(path, &out, err);
    struct jm_import_opts io = {.label = o->label,
                                .overwrite = o->force,
                                .select = (int)o->select,
                                .since = o->since,
                                .until = o->until,
                                .interval_ns = o->interval,
                                .log = &cli->log};
    if (!rc)
        rc = jm_file_mkparents(out.buf, err);
    if (!rc)
        rc = imp->import(path, out.buf, &io, err);
    if (!rc) {
        struct jm_str text;
        jm_str_init(&text);
        if (cli->common->json) {
            struct jm_jsonw w;
            jm_jsonw_init(&w, &text, 2);
            jm_jsonw_object(&w);
            jm_jsonw_kstr(&w, "schema", "joulemark.import/1");
            jm_jsonw_kstr(&w, "joulemark", JM_VERSION);
            jm_jsonw_kstr(&w, "importer", imp->name);
            jm_jsonw_kstr(&w, "path", path);
            jm_jsonw_kstr(&w, "run", out.buf);
            jm_jsonw_end(&w);
        } else {
            jm_str_addf(&text, "%s\n", out.buf);
        }
        rc = jm_str_ok(&text, "the answer", err);
        if (!rc)
            jm_cli_out(cli, jm_str_span(&text));
        jm_str_release(&text);
    }
    jm_str_release(&out);
    return rc;
}

static const struct jm_opt table[] = {
    {"output", 'o', JM_OPT_STR, offsetof(struct opts, output), .arg = "FILE", .help = "Run file to write.",
     .deflt = "the name of PATH with .jmr"},
    {"from", 0, JM_OPT_STR, offsetof(struct opts, from), .arg = "NAME", .help = "Importer to use.",
     .deflt = "found by looking at PATH"},
    {"label", 0, JM_OPT_STR, offsetof(struct opts, label), .help = "Name of the run for people."},
    {"select", 0, JM_OPT_INT, offsetof(struct opts, select), 1, 1e6, .arg = "N",
     .help = "Of a file that holds several benchmarks (JSON lines, a list) only the N-th.",
     .deflt = "all, a window each"},
    {"since", 0, JM_OPT_STR, offsetof(struct opts, since), .arg = "WHEN",
     .help = "Of a device log only what comes from here on: a time as in the log, or one from its beginning "
             "(90s).",
     .deflt = "the beginning"},
    {"until", 0, JM_OPT_STR, offsetof(struct opts, until), .arg = "WHEN",
     .help = "Of a device log only what comes up to here.", .deflt = "the end"},
    {"interval", 0, JM_OPT_DURATION, offsetof(struct opts, interval), 1e5, 86400e9, .arg = "TIME",
     .help = "Time between the lines of a device log that has no time stamps.",
     .deflt = "the default of the tool that wrote it"},
    {"force", 0, JM_OPT_FLAG, offsetof(struct opts, force), .help = "Write over an existing file."},
    {"list", 0, JM_OPT_FLAG, offsetof(struct opts, list), .help = "List the importers."},
    JM_OPT_JSON,
    JM_OPTS_COMMON,
    {NULL}};

const struct jm_cmd jm_cmd_import = {
    .name = "import",
    .group = "Keep and exchange runs",
    .summary = "Turn another tool's files into a run file",
    .usage = "[OPTIONS] PATH",
    .description = "What the other tool observed goes into the run file, what it concluded does not: show "
                   "computes it again "
                   "by the same rules as for an own run. The path of the run file is printed.",
    .examples = "joulemark import mlperf/results/Server -o out/server.jmr # an MLPerf power session\n"
                "joulemark import smi.csv --since 30s --until 90s # a minute of an nvidia-smi log\n"
                "joulemark import --list # what can be imported",
    .opts = table,
    .opts_size = sizeof(struct opts),
    .max_operands = 1,
    .fn = run_import,
};
