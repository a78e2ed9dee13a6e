/* SPDX-License-Identifier: Apache-2.0 */
/* Writes an evidence bundle: files in order of their names, one header form, one compression level, so that
 * the same runs and options give the same bytes (with the same version of zstd). */
#include "cli/bundle.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/fileout.h"
#include "base/sign.h"
#include "base/zip.h"
#include "cli/bundle_assets.h"
#include "cli/path.h"
#include "wire/tar.h"

#include "base/banned.h"

#define BLOCK ((size_t)256 * 1024)

struct file {
    char name[JM_TAR_NAME + 1]; /* below the root */
    const char *path;           /* on disk; NULL: text */
    struct jm_str text;
    int64_t size;
    char sha[JM_SHA256_HEX];
};

struct bundle {
    const struct jm_bundle_write_opts *o;
    struct file *file;
    size_t n, cap;
    struct jm_bundle_figures *figures;
    char (*run)[JM_TAR_NAME + 1]; /* "bench" of runs/bench.jmr */
    char signer[17];              /* beginning of the key's SHA-256, "" not signed */
    struct jm_err *err;
};

static struct file *add(struct bundle *b, const char *name)
{
    char whole[JM_TAR_NAME + 32];
    snprintf(whole, sizeof whole, "%s%s", JM_BUNDLE_ROOT, name);
    if (!jm_tar_name_ok(jm_span_of(whole))) {
        jm_err_set(b->err, JM_EUSAGE,
                   "%.80s cannot be in a bundle under this name: letters of ASCII, digits and . _ - + alone, "
                   "80 of them at "
                   "most; rename it",
                   name);
        return NULL;
    }
    for (size_t i = 0; i < b->n; i++)
        if (strcmp(b->file[i].name, name) == 0) {
            jm_err_set(b->err, JM_EUSAGE, "two files would be %s in the bundle; rename one of them", name);
            return NULL;
        }
    if (b->n == b->cap) {
        size_t cap = b->cap ? 2 * b->cap : 32;
        struct file *more = realloc(b->file, cap * sizeof *more);
        if (!more) {
            jm_err_set(b->err, JM_ENOMEM, "out of memory for a bundle");
            return NULL;
        }
        b->file = more;
        b->cap = cap;
    }
    struct file *f = &b->file[b->n++];
    *f = (struct file){0};
    snprintf(f->name, sizeof f->name, "%s", name);
    jm_str_init(&f->text);
    return f;
}

static int add_text(struct bundle *b, const char *name, struct jm_span text)
{
    struct file *f = add(b, name);
    if (!f)
        return b->err->code;
    jm_str_addspan(&f->text, text);
    return jm_str_ok(&f->text, name, b->err);
}

static int add_path(struct bundle *b, const char *name, const char *path)
{
    struct stat st;
    struct file *f = add(b, name);
    if (!f)
        return b->err->code;
    if (stat(path, &st))
        return jm_err_sys(b->err, errno, "cannot read %s", path);
    f->path = path;
    f->size = st.st_size;
    return jm_file_sha256(path, f->sha, b->err);
}

static int given(struct bundle *b, const char *path)
{
    char name[512];
    snprintf(name, sizeof name, "given/%.400s", jm_bundle_basename(path));
    return add_path(b, name, path);
}

/* The file's own name without .jmr, made of what names in a bundle may hold; a second one of that name gets a
 * number. */
static void name_run(struct bundle *b, size_t i)
{
    struct jm_span s = jm_span_of(jm_bundle_basename(b->o->run[i]));
    char *to = b->run[i];
    size_t n = 0;
    if (jm_span_ends(s, JM_SPAN(".jmr")))
        s.n -= 4;
    for (size_t k = 0; k < s.n && n < 48; k++) {
        char c[2] = {s.p[k], '\0'};
        to[n++] = jm_tar_name_ok((struct jm_span){c, 1}) || c[0] == '.' ? c[0] : '_';
    }
    if (!n || to[0] == '.')
        to[n ? 0 : n++] = '_';
    to[n] = '\0';
    for (unsigned k = 2, same = 1; same; k++) {
        same = 0;
        for (size_t j = 0; j < i; j++)
            same |= strcmp(b->run[j], to) == 0;
        if (same)
            snprintf(to + n, JM_TAR_NAME - n, "-%u", k);
    }
}

static int one_run(struct bundle *b, size_t i)
{
    struct jm_bundle_figures *f = &b->figures[i];
    const struct {
        const char *name;
        struct jm_str *text;
    } part[] = {{"show.json", &f->show},
                {"audit.json", &f->audit},
                {"audit.html", &f->page},
                {"disclosure.md", &f->disclosure},
                {"report.html", &f->report}};
    char name[160];
    name_run(b, i);
    snprintf(name, sizeof name, "runs/%s.jmr", b->run[i]);
    int rc = jm_bundle_figures(b->o->run[i], name, b->o->figures, true, f, b->err);
    if (!rc)
        rc = add_path(b, name, b->o->run[i]);
    if (!rc && strcmp(b->file[b->n - 1].sha, f->sha256) != 0)
        rc = jm_err_set(b->err, JM_ECONFLICT, "%s changed while it was read", b->o->run[i]);
    for (size_t k = 0; !rc && k < sizeof part / sizeof part[0]; k++) {
        snprintf(name, sizeof name, "figures/%s/%s", b->run[i], part[k].name);
        rc = add_text(b, name, jm_str_span(part[k].text));
        jm_str_release(part[k].text);
        jm_str_init(part[k].text);
    }
    return rc;
}

static int description(struct bundle *b)
{
    struct jm_jsonw w;
    struct file *f = add(b, "bundle.json");
    char name[160];
    if (!f)
        return b->err->code;
    jm_jsonw_init(&w, &f->text, 2);
    jm_jsonw_object(&w);
    jm_jsonw_kstr(&w, "schema", "joulemark.bundle/1");
    jm_jsonw_kstr(&w, "joulemark", JM_VERSION);
    jm_jsonw_kstr(&w, "zstd", jm_zip_version());
    jm_jsonw_key(&w, "options");
    jm_jsonw_object(&w);
    jm_figure_opts_put(&w, b->o->figures);
    jm_jsonw_end(&w);
    jm_jsonw_key(&w, "runs");
    jm_jsonw_array(&w);
    for (size_t i = 0; i < b->o->n_run; i++) {
        snprintf(name, sizeof name, "runs/%s.jmr", b->run[i]);
        jm_jsonw_object(&w);
        jm_jsonw_kstr(&w, "file", name);
        jm_jsonw_kstr(&w, "id", b->figures[i].id);
        jm_jsonw_kstr(&w, "sha256", b->figures[i].sha256);
        jm_jsonw_kbool(&w, "cut", b->figures[i].cut);
        jm_jsonw_kbool(&w, "simulated", b->figures[i].simulated);
        jm_jsonw_end(&w);
    }
    jm_jsonw_end(&w);
    jm_jsonw_end(&w);
    return jm_str_ok(&f->text, "bundle.json", b->err);
}

static int readme(struct bundle *b)
{
    struct file *f = add(b, "README.md");
    if (!f)
        return b->err->code;
    struct jm_str *s = &f->text;
    bool cut = false, simulated = false;
    for (size_t i = 0; i < b->o->n_run; i++) {
        cut |= b->figures[i].cut;
        simulated |= b->figures[i].simulated;
    }
    jm_str_adds(s, "# Evidence for an energy measurement\n\n");
    if (simulated)
        jm_str_adds(
            s, "**SIMULATED**: devices or endpoint of a run in here are simulated; its numbers describe no "
               "hardware.\n\n");
    if (cut)
        jm_str_adds(s,
                    "A run in here was cut: up to 10 s at its end are missing, and its audit says so.\n\n");
    jm_str_adds(s, "| run | SHA-256 | figures |\n|---|---|---|\n");
    for (size_t i = 0; i < b->o->n_run; i++)
        jm_str_addf(s, "| runs/%s.jmr | %s | figures/%s/ |\n", b->run[i], b->figures[i].sha256, b->run[i]);
    jm_str_addf(
        s,
        "\nEvery number in `figures/` is computed from the run files, which hold what instruments and "
        "requests said and "
        "no conclusion.\n`report.html` and `audit.html` are for people, `show.json` and `audit.json` for "
        "machines, "
        "`disclosure.md` for a paper.\n`given/` holds the files that the figures were made with (factors, "
        "calibration, "
        "contract). Made by joulemark " JM_VERSION ".\n\n"
        "## To check it\n\n"
        "Nothing was changed (any system):\n\n    sha256sum -c MANIFEST.sha256\n\n"
        "The figures, a second time, with Python 3.9 and nothing else, none of joulemark's code:\n\n"
        "    python3 recompute.py\n\n"
        "It reads the run files by their documentation (`run-file.md`); `decode_run.py` decodes them and "
        "`unzstd.py` "
        "unpacks them\nwhere Python has no zstd of its own. It says of each figure whether it agrees, and by "
        "how much.\n\n"
        "All of it, with joulemark, from the archive:\n\n    joulemark audit --verify evidence.tar.zst%s\n",
        b->signer[0] ? " --key PUBLIC.pem" : "");
    if (b->signer[0])
        jm_str_addf(s,
                    "\n## Who signed it\n\nThe manifest is signed with the Ed25519 key whose public half is "
                    "`signer.pem` (SHA-256 "
                    "%s...). A key that comes with what\nit signs proves nothing: hold it against the one "
                    "that the signer "
                    "publishes, and give that one to `--key`. Without joulemark:\n\n    openssl pkeyutl "
                    "-verify -pubin -inkey "
                    "PUBLIC.pem -rawin -in MANIFEST.sha256 -sigfile MANIFEST.sha256.sig\n",
                    b->signer);
    else
        jm_str_adds(s, "\nIt is not signed: the manifest shows that its files belong together, not who put "
                       "them there.\n");
    return jm_str_ok(s, "README.md", b->err);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct file *)a)->name, ((const struct file *)b)->name);
}

static int secret(const struct bundle *b, struct jm_str *key)
{
    int rc = jm_file_read(b->o->key, 64 << 10, key, b->err);
    return rc ? jm_err_prefix(b->err, "--sign") : 0;
}

/* The public half goes into the manifest, so a first signature, of nothing, tells it. */
static int signer(struct bundle *b, const struct jm_sign_ops *ops, const struct jm_str *key)
{
    unsigned char sig[JM_SIGN_BYTES];
    char pem[JM_SIGN_PEM], why[JM_SIGN_WHY] = "", hex[JM_SHA256_HEX];
    if (ops->sign(key->buf, key->len, "", 0, sig, pem, why))
        return jm_err_set(b->err, JM_EUSAGE, "--sign: %s %s", b->o->key, why);
    jm_sha256_hex(jm_span_of(pem), hex);
    snprintf(b->signer, sizeof b->signer, "%.16s", hex);
    return add_text(b, JM_BUNDLE_PEM, jm_span_of(pem));
}

static int manifest(struct bundle *b, const struct jm_sign_ops *ops, const struct jm_str *key)
{
    unsigned char sig[JM_SIGN_BYTES];
    char pem[JM_SIGN_PEM], why[JM_SIGN_WHY] = "";
    struct jm_str text;
    jm_str_init(&text);
    qsort(b->file, b->n, sizeof *b->file, by_name);
    for (size_t i = 0; i < b->n; i++) {
        struct file *f = &b->file[i];
        if (!f->path) {
            f->size = (int64_t)f->text.len;
            jm_sha256_hex(jm_str_span(&f->text), f->sha);
        }
        jm_str_addf(&text, "%s  %s\n", f->sha, f->name);
    }
    int rc = jm_str_ok(&text, "the manifest", b->err);
    if (!rc && ops && ops->sign(key->buf, key->len, text.buf, text.len, sig, pem, why))
        rc = jm_err_set(b->err, JM_EUSAGE, "--sign: %s %s", b->o->key, why);
    if (!rc)
        rc = add_text(b, JM_BUNDLE_MANIFEST, jm_str_span(&text));
    if (!rc && ops)
        rc = add_text(b, JM_BUNDLE_SIG, (struct jm_span){(const char *)sig, sizeof sig});
    for (size_t i = 0; i < b->n; i++)
        if (!b->file[i].path)
            b->file[i].size = (int64_t)b->file[i].text.len;
    qsort(b->file, b->n, sizeof *b->file, by_name);
    jm_str_release(&text);
    return rc;
}

static int gather(struct bundle *b)
{
    const struct jm_present *p = &b->o->figures->present;
    const struct jm_sign_ops *ops = NULL;
    struct jm_str key;
    int rc = 0;
    const struct {
        const char *name;
        const unsigned char *data;
        size_t n;
    } asset[] = {{"recompute.py", jm_asset_recompute, jm_asset_recompute_len},
                 {"decode_run.py", jm_asset_decode_run, jm_asset_decode_run_len},
                 {"unzstd.py", jm_asset_unzstd, jm_asset_unzstd_len},
                 {"run-file.md", jm_asset_run_file, jm_asset_run_file_len}};
    jm_str_init(&key);
    if (b->o->key) {
        rc = jm_sign_load(&ops, b->err);
        if (!rc)
            rc = secret(b, &key);
        if (!rc)
            rc = signer(b, ops, &key);
    }
    for (size_t i = 0; !rc && i < b->o->n_run; i++)
        rc = one_run(b, i);
    for (size_t i = 0; !rc && i < p->factors.n; i++)
        rc = given(b, p->factors.item[i]);
    for (size_t i = 0; !rc && i < p->passports.n; i++)
        rc = given(b, p->passports.item[i]);
    if (!rc && p->calibration)
        rc = given(b, p->calibration);
    for (size_t i = 0; !rc && i < b->o->n_include; i++)
        rc = given(b, b->o->include[i]);
    for (size_t i = 0; !rc && i < sizeof asset / sizeof asset[0]; i++)
        rc = add_text(b, asset[i].name, (struct jm_span){(const char *)asset[i].data, asset[i].n});
    if (!rc)
        rc = description(b);
    if (!rc)
        rc = readme(b);
    if (!rc)
        rc = manifest(b, ops, &key);
    jm_str_release(&key);
    return rc;
}

struct pour {
    struct jm_zip *zip;
    struct jm_sha256 sha;
    int64_t n;
};

static int to_file(void *self, struct jm_span s, struct jm_err *err)
{
    return jm_file_out_add(self, s, err);
}

static int pour(void *self, struct jm_span s, struct jm_err *err)
{
    struct pour *p = self;
    jm_sha256_add(&p->sha, s.p, s.n);
    p->n += (int64_t)s.n;
    return jm_zip_add(p->zip, s, err);
}

static int put_file(const struct file *f, struct jm_zip *zip, struct jm_str *scratch, char *block,
                    struct jm_err *err)
{
    static const char zeros[JM_TAR_BLOCK];
    char name[JM_TAR_NAME + 32], sha[JM_SHA256_HEX];
    struct pour p = {.zip = zip};
    snprintf(name, sizeof name, "%s%s", JM_BUNDLE_ROOT, f->name);
    jm_str_reset(scratch);
    int rc = jm_tar_header(name, f->size, scratch, err);
    if (!rc)
        rc = jm_zip_add(zip, jm_str_span(scratch), err);
    if (!rc && !f->path)
        rc = jm_zip_add(zip, jm_str_span(&f->text), err);
    if (!rc && f->path) {
        jm_sha256_init(&p.sha);
        rc = jm_file_blocks(f->path, block, BLOCK, pour, &p, err);
        jm_sha256_done(&p.sha, sha);
        if (!rc && (p.n != f->size || strcmp(sha, f->sha) != 0))
            rc = jm_err_set(err, JM_ECONFLICT, "%s changed while the bundle was written", f->path);
    }
    return rc ? rc : jm_zip_add(zip, (struct jm_span){zeros, jm_tar_padding(f->size)}, err);
}

static int write_archive(struct bundle *b, const char *path)
{
    static const char zeros[JM_TAR_END];
    struct jm_file_out out;
    struct jm_zip *zip = NULL;
    struct jm_str scratch;
    char *block = malloc(BLOCK);
    jm_str_init(&scratch);
    int rc = block ? jm_file_out_open(&out, path, b->err)
                   : jm_err_set(b->err, JM_ENOMEM, "out of memory for a bundle");
    if (!rc) {
        rc = jm_zip_new(JM_BUNDLE_LEVEL, to_file, &out, &zip, b->err);
        for (size_t i = 0; !rc && i < b->n; i++)
            rc = put_file(&b->file[i], zip, &scratch, block, b->err);
        if (!rc)
            rc = jm_zip_add(zip, (struct jm_span){zeros, sizeof zeros}, b->err);
        if (!rc)
            rc = jm_zip_end(zip, b->err);
        if (!rc)
            rc = jm_file_out_commit(&out, b->o->force, b->err);
        jm_file_out_abandon(&out);
    }
    jm_zip_free(zip);
    jm_str_release(&scratch);
    free(block);
    return rc;
}

static int say(struct jm_cli *cli, const struct bundle *b, const char *path, struct jm_err *err)
{
    char sha[JM_SHA256_HEX];
    struct jm_str s;
    int rc = jm_file_sha256(path, sha, err);
    if (rc)
        return rc;
    jm_str_init(&s);
    if (cli->common->json) {
        struct jm_jsonw w;
        jm_jsonw_init(&w, &s, 2);
        jm_jsonw_object(&w);
        jm_jsonw_kstr(&w, "schema", "joulemark.bundled/1");
        jm_jsonw_kstr(&w, "file", path);
        jm_jsonw_kstr(&w, "sha256", sha);
        jm_jsonw_ki64(&w, "runs", (int64_t)b->o->n_run);
        jm_jsonw_ki64(&w, "files", (int64_t)b->n);
        jm_jsonw_kstr(&w, "signer", b->signer[0] ? b->signer : NULL);
        jm_jsonw_end(&w);
    } else {
        jm_str_addf(&s, "%s\n", path);
        jm_cli_say(cli, "%zu run%s, %zu files, %s; SHA-256 %s", b->o->n_run, b->o->n_run == 1 ? "" : "s",
                   b->n, b->signer[0] ? "signed" : "not signed", sha);
    }
    rc = jm_str_ok(&s, "the summary", err);
    if (!rc)
        jm_cli_out(cli, jm_str_span(&s));
    jm_str_release(&s);
    return rc;
}

int jm_bundle_write(struct jm_cli *cli, const char *path, const struct jm_bundle_write_opts *o,
                    struct jm_err *err)
{
    struct stat st;
    struct bundle b = {.o = o, .err = err};
    bool there = stat(path, &st) == 0;
    if (there && !S_ISREG(st.st_mode))
        return jm_err_set(err, JM_ECONFLICT, "%s is no regular file, and a bundle is written as one", path);
    if (!o->force && there)
        return jm_err_set(err, JM_ECONFLICT, "%s is there already; --force writes over it", path);
    int rc = jm_path_spare_run(path, err);
    if (rc)
        return rc;
    b.figures = calloc(o->n_run, sizeof *b.figures);
    b.run = calloc(o->n_run, sizeof *b.run);
    if (!b.figures || !b.run)
        rc = jm_err_set(err, JM_ENOMEM, "out of memory for a bundle");
    for (size_t i = 0; b.figures && i < o->n_run; i++)
        jm_bundle_figures_init(&b.figures[i]);
    if (!rc)
        rc = gather(&b);
    if (!rc)
        rc = jm_file_mkparents(path, err);
    if (!rc)
        rc = write_archive(&b, path);
    if (!rc)
        rc = say(cli, &b, path, err);
    for (size_t i = 0; b.figures && i < o->n_run; i++)
        jm_bundle_figures_release(&b.figures[i]);
    for (size_t i = 0; i < b.n; i++)
        jm_str_release(&b.file[i].text);
    free(b.figures);
    free(b.run);
    free(b.file);
    return rc;
}
