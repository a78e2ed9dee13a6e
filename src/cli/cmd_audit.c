/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "audit/audit.h"
#include "base/json.h"
#include "cli/auditout.h"
#include "cli/bundle.h"
#include "cli/cmds.h"
#include "cli/present.h"
#include "compute/compute.h"
#include "import/import.h"
#include "run/run.h"
#include "show/fmt.h"
#include "show/text_out.h"

#include "base/banned.h"

struct opts {
    struct jm_common common;
    struct jm_figure_opts figures;
    const char *from, *bundle, *sign, *verify, *key;
    struct jm_opt_list include;
    bool force;
    int64_t select;
    bool checks, disclosure, levels;
    int format;
};

enum { AS_TEXT, AS_MARKDOWN, AS_HTML, AS_JSON };

static void init(void *opts)
{
    struct opts *o = opts;
    jm_present_init(&o->figures.present);
}

static void one_finding(struct jm_out *o, size_t i)
{
    static const char *const tag[] = {"note", "WARNING", "ERROR"};
    static const enum jm_out_style_of st[] = {JM_OUT_DIM, JM_OUT_YELLOW, JM_OUT_RED};
    const struct jm_finding *f = &o->r->findings[i];
    const char *why = jm_audit_why(f->id);
    size_t more = jm_fmt_more(o->r, i);
    jm_str_adds(o->s, "\n");
    jm_out_style(o, st[f->severity]);
    jm_out_cell(o, tag[f->severity], 9, false);
    jm_out_style(o, JM_OUT_PLAIN);
    jm_out_style(o, JM_OUT_BOLD);
    jm_out_add(o, f->id);
    jm_out_style(o, JM_OUT_PLAIN);
    if (f->window >= 0 && o->r->n_windows > 1) {
        jm_out_add(o, " in window ");
        jm_out_add(o, o->r->windows[f->window].name);
    }
    jm_str_adds(o->s, "\n  ");
    jm_out_wrap(o, f->text, 2, 2);
    jm_out_style(o, JM_OUT_DIM);
    if (f->evidence && f->evidence[0]) {
        jm_str_adds(o->s, "  evidence: ");
        jm_out_wrap(o, f->evidence, 12, 12);
    }
    if (why && f->severity != JM_SEV_INFO) {
        jm_str_adds(o->s, "  why:      ");
        jm_out_wrap(o, why, 12, 12);
    }
    jm_out_style(o, JM_OUT_PLAIN);
    if (more)
        jm_str_addf(o->s, "  and %zu more of this kind\n", more);
}

static void text(struct jm_cli *cli, struct jm_str *s, const struct jm_report *r, const struct opts *o,
                 const struct jm_evidence *e, const char *path, const char *importer)
{
    static const char *const words[] = {"passed", "noted", "FAILED"};
    struct jm_show_opts show = {.width = 80, .color = cli->term.out_color, .ascii = o->figures.present.ascii};
    struct jm_out out = {s, r, &show, 80};
    int failed, n = jm_audit_count(r, &failed);
    jm_out_style(&out, JM_OUT_BOLD);
    jm_out_add(&out, path);
    jm_out_style(&out, JM_OUT_PLAIN);
    jm_str_addf(s, "  (%s)\n", importer ? importer : "run file");
    jm_out_style(&out, failed ? JM_OUT_RED : JM_OUT_GREEN);
    if (failed)
        jm_str_addf(s, "%d of %d checks failed", failed, n);
    else
        jm_str_addf(s, "all %d checks passed", n);
    jm_out_style(&out, JM_OUT_PLAIN);
    jm_str_addf(s, " for profile %s\n", jm_profile_name((int)r->profile));
    for (int sev = JM_SEV_ERROR; sev >= JM_SEV_INFO; sev--)
        for (size_t i = 0; i < r->n_findings; i++)
            if ((int)r->findings[i].severity == sev && !jm_fmt_repeats(r, i))
                one_finding(&out, i);
    if (!o->disclosure && !o->levels)
        jm_show_evidence_brief(&out, e);
    if (o->disclosure)
        jm_show_disclosure_text(&out, e);
    if (o->levels)
        jm_show_levels_text(&out, e);
    if (!o->checks)
        return;
    jm_out_section(&out, "Checks");
    for (const struct jm_check *const *t = jm_audit_tables(); *t; t++)
        for (const struct jm_check *c = *t; c->id && (*t != jm_foreign_check_table || jm_audit_imported(r));
             c++) {
            jm_str_adds(s, "  ");
            jm_out_cell(&out, words[jm_audit_outcome(r, c)], 8, false);
            jm_out_cell(&out, c->id, 22, false);
            jm_out_wrap(&out, c->title, 32, 32);
        }
}

static int judge(struct jm_cli *cli, const char *run_path, const struct opts *o, const char *path,
                 const char *importer, struct jm_err *err)
{
    struct jm_run *run = NULL;
    struct jm_report *r = NULL;
    struct jm_evidence e = {0};
    struct jm_str s;
    int failed = 0;
    int rc = jm_run_open(run_path, &run, err);
    if (rc)
        return rc;
    jm_str_init(&s);
    rc = jm_present_report(run, &o->figures.present, &r, err);
    for (size_t i = 0; !rc && i < o->figures.facts.n; i++)
        rc = jm_fact_declare(r, o->figures.facts.item[i], err);
    if (!rc)
        rc = jm_disclosure(run, r, &e.row, &e.n_row, err);
    if (!rc)
        rc = jm_levels(run, r, &e.levels, err);
    if (!rc) {
        if (cli->common->json || o->format == AS_JSON)
            jm_audit_json(&s, r, &e, path, importer);
        else if (o->format == AS_MARKDOWN)
            jm_show_evidence_markdown(&s, r, &e, o->levels);
        else if (o->format == AS_HTML)
            rc = jm_show_evidence_html(&s, r, &e, err);
        else
            text(cli, &s, r, o, &e, path, importer);
        jm_audit_count(r, &failed);
        if (o->disclosure)
            failed += (int)jm_disclosure_missing(e.row, e.n_row);
    }
    if (!rc)
        rc = jm_str_ok(&s, "the audit", err);
    if (!rc)
        jm_cli_out(cli, jm_str_span(&s));
    jm_str_release(&s);
    jm_report_free(r);
    jm_run_close(run);
    return rc ? rc : failed ? JM_EXIT_CHECK : JM_EXIT_OK;
}

/* Through a run file that nobody keeps. */
static int foreign(struct jm_cli *cli, const struct opts *o, const char *path, const struct jm_importer *imp,
                   struct jm_err *err)
{
    const char *tmp = getenv("TMPDIR");
    struct jm_str dir, file;
    jm_str_init(&dir);
    jm_str_init(&file);
    jm_str_addf(&dir, "%s/joulemark-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    int rc = jm_str_ok(&dir, "a file name", err);
    if (!rc && !mkdtemp(dir.buf))
        rc = jm_err_sys(err, errno, "cannot make a temporary folder %s for the audit", dir.buf);
    else if (!rc) {
        struct jm_import_opts io = {.overwrite = true, .select = (int)o->select, .log = &cli->log};
        jm_str_addf(&file, "%s/audit.jmr", dir.buf);
        rc = jm_str_ok(&file, "a file name", err);
        if (!rc)
            rc = imp->import(path, file.buf, &io, err);
        if (!rc)
            rc = judge(cli, file.buf, o, path, imp->name, err);
        jm_run_remove(file.buf, NULL);
        rmdir(dir.buf);
    }
    jm_str_release(&file);
    jm_str_release(&dir);
    return rc;
}

static int evidence(struct jm_cli *cli, const struct opts *o, struct jm_err *err)
{
    struct jm_bundle_write_opts w = {.figures = &o->figures,
                                     .run = cli->operand,
                                     .n_run = cli->n_operands,
                                     .include = o->include.item,
                                     .n_include = o->include.n,
                                     .key = o->sign,
                                     .force = o->force};
    if (o->verify) {
        if (o->bundle || o->sign || o->include.n || o->force || cli->n_operands)
            return jm_err_set(err, JM_EUSAGE, "--verify takes a bundle and --key alone");
        return jm_bundle_verify(cli, o->verify, o->key, err);
    }
    if (!o->bundle)
        return jm_err_set(err, JM_EUSAGE, "%s belongs to %s",
                          o->key         ? "--key"
                          : o->sign      ? "--sign"
                          : o->include.n ? "--include"
                                         : "--force",
                          o->key ? "--verify" : "--bundle");
    if (o->key)
        return jm_err_set(err, JM_EUSAGE, "--key belongs to --verify; --sign signs a bundle");
    if (!cli->n_operands)
        return jm_err_set(err, JM_EUSAGE, "--bundle takes one run or more");
    int rc = jm_bundle_write(cli, o->bundle, &w, err);
    return rc ? rc : JM_EXIT_OK;
}

static int audit(struct jm_cli *cli, void *opts, struct jm_err *err)
{
    const struct opts *o = opts;
    if (o->verify || o->bundle || o->sign || o->key || o->include.n || o->force)
        return evidence(cli, o, err);
    if (cli->n_operands != 1)
        return jm_err_set(err, JM_EUSAGE, "audit takes one FILE; --bundle takes several runs");
    const char *path = cli->operand[0];
    struct jm_run *run = NULL;
    struct jm_err why = {0};
    int rc = o->from ? JM_EPARSE : jm_run_open(path, &run, &why);
    if (!rc) {
        jm_run_close(run);
        return judge(cli, path, o, path, NULL, err);
    }
    if (rc != JM_EPARSE && rc != JM_EIO) { /* a run file that cannot be read, or nothing at all */
        *err = why;
        return rc;
    }
    const struct jm_importer *imp = jm_importer_find(o->from, path, err);
    if (!imp)
        return err->code ? err->code : JM_EUSAGE;
    return foreign(cli, o, path, imp, err);
}

static const struct jm_opt table[] = {
    {"checks", 0, JM_OPT_FLAG, offsetof(struct opts, checks), .help = "List every check with its result."},
    {"disclosure", 0, JM_OPT_FLAG, offsetof(struct opts, disclosure),
     .help = "What has to stand beside the number, item by item, and what is missing: for a paper with "
             "--format markdown. A missing item that a reader needs is a failure."},
    {"levels", 0, JM_OPT_FLAG, offsetof(struct opts, levels),
     .help =
         "What the run is evidence for: levels of a claim, of the EE HPC WG and rules of MLPerf Power, and "
         "what each lacks."},
    {"fact", 0, JM_OPT_LIST, offsetof(struct opts, figures.facts), .arg = "KEY=VALUE",
     .help = "Declare what no instrument tells, such as precision=FP8; marked as declared later. Repeatable "
             "(docs/disclosure.md lists the keys)."},
    {"format", 'f', JM_OPT_ENUM, offsetof(struct opts, format), .choices = "text|markdown|html|json",
     .help = "markdown and html: the disclosure (markdown with --levels: these too).", .deflt = "text"},
    {"bundle", 0, JM_OPT_STR, offsetof(struct opts, bundle), .arg = "FILE", .group = "Evidence",
     .help =
         "Write an evidence bundle (tar.zst) of the runs: the sealed files, a manifest of hashes, figures, "
         "reports, disclosure, and a script that computes the figures a second time without joulemark."},
    {"sign", 0, JM_OPT_STR, offsetof(struct opts, sign), .arg = "FILE",
     .help = "With --bundle: sign the manifest with this Ed25519 key (openssl genpkey -algorithm ed25519)."},
    {"include", 0, JM_OPT_LIST, offsetof(struct opts, include), .arg = "FILE",
     .help = "With --bundle: put this file in too, a contract or a certificate. Repeatable."},
    {"force", 0, JM_OPT_FLAG, offsetof(struct opts, force), .help = "With --bundle: write over FILE."},
    {"verify", 0, JM_OPT_STR, offsetof(struct opts, verify), .arg = "FILE",
     .help =
         "Check a bundle: every byte, the signature, the seals, and the figures, which are computed again."},
    {"key", 0, JM_OPT_STR, offsetof(struct opts, key), .arg = "FILE",
     .help = "With --verify: the signer's public key, which you have from elsewhere.",
     .deflt = "the one inside, which proves nothing"},
    {"from", 0, JM_OPT_STR, offsetof(struct opts, from), .group = "Files of other tools", .arg = "NAME",
     .help = "Importer to use for FILE.", .deflt = "found by looking at FILE"},
    {"select", 0, JM_OPT_INT, offsetof(struct opts, select), 1, 1e6, .arg = "N",
     .help = "Of a file that holds several benchmarks only the N-th.", .deflt = "all"},
    JM_OPT_JSON,
    JM_OPTS_PRESENT(opts, figures.present),
    JM_OPTS_SLO(opts, figures.present),
    JM_OPTS_CALIBRATION(opts, figures.present),
    JM_OPTS_FACTORS(opts, figures.present),
    JM_OPTS_COMMON,
    {NULL}};

const struct jm_cmd jm_cmd_audit = {
    .name = "audit",
    .group = "Look at a run",
    .summary = "Say what is wrong with the number in a run or in another tool's file",
    .usage = "[OPTIONS] FILE | RUN... --bundle FILE | --verify FILE",
    .description =
        "FILE is a run file, or a result file of another tool (joulemark import --list says which), which is "
        "read as "
        "import would and not kept. Its numbers are computed again from its own requests, and every check "
        "looks at "
        "them: chunks taken for tokens, lengths asked for taken for produced, failures left out, an energy "
        "of another "
        "window, sums that do not add up, and what docs/checks.md lists. Findings come worst first, each "
        "with its "
        "evidence, why it matters and what to do.\n\n"
        "It also says what has to stand beside the number and is missing (--disclosure), what the run is "
        "evidence "
        "for (--levels), and packs it so that others can check it (--bundle, --verify).\n\n"
        "Ends with 1 when a check failed, that is, found an error or gave a warning; notes do not fail.",
    .examples = "joulemark audit results/vllm-8qps.json # another tool's file\n"
                "joulemark audit run.jmr --profile publication --checks # a run, with every check\n"
                "joulemark audit profile_export_aiperf.json --json\n"
                "joulemark audit run.jmr --disclosure --format markdown --fact precision=FP8 # for a paper\n"
                "joulemark audit run.jmr --bundle out/evidence.tar.zst --sign key.pem\n"
                "joulemark audit --verify out/evidence.tar.zst --key signer.pem",
    .opts = table,
    .opts_size = sizeof(struct opts),
    .init = init,
    .min_operands = 0,
    .max_operands = 256,
    .fn = audit,
};
