/* SPDX-License-Identifier: Apache-2.0 */
/* Checks an evidence bundle: the container byte by byte, every file against the manifest, the manifest
 * against its signature, the runs' seals, and the figures, which are computed again. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/fileout.h"
#include "base/sign.h"
#include "base/zip.h"
#include "cli/bundle.h"
#include "run/run.h"
#include "show/text_out.h"
#include "wire/manifest.h"
#include "wire/tar.h"

#include "base/banned.h"

#define UNPACKED (UINT64_C(256) << 30)
#define ALWAYS   (UINT64_C(256) << 20) /* may come out of any file */
#define RATIO    200                   /* and so many bytes of one: runs and pages shrink 2 to 20 times */
#define BLOCK    ((size_t)256 * 1024)

struct file {
    char name[JM_TAR_NAME + 1]; /* below the root */
    char sha[JM_SHA256_HEX], want[JM_SHA256_HEX];
    bool named; /* in the manifest */
};

enum state { HOLDS, FAILS, OPEN };

struct check {
    const char *id, *title;
    enum state state;
    char text[900];
};

struct verify {
    struct jm_cli *cli;
    const char *path;
    struct jm_str dir; /* it is unpacked into */
    struct file *file;
    size_t n, cap;
    struct jm_sha256 sha;
    struct jm_file_out out;
    /* the container is packed again and held against what there is */
    int again; /* descriptor of the file */
    struct jm_zip *zip;
    int64_t at, differs; /* first byte that is another; -1 none */
    bool foreign;        /* made by another version of zstd */
    struct check check[8];
    size_t n_check;
    struct jm_err *err;
};

static struct check *put(struct verify *v, const char *id, const char *title, enum state state)
{
    struct check *c = &v->check[v->n_check++];
    *c = (struct check){.id = id, .title = title, .state = state};
    return c;
}

static void also(struct check *c, const char *text)
{
    size_t n = strlen(c->text);
    if (n + strlen(text) + 3 < sizeof c->text)
        snprintf(c->text + n, sizeof c->text - n, "%s%s", n ? "; " : "", text);
}

static int path_of(struct verify *v, const char *name, struct jm_str *out)
{
    jm_str_reset(out);
    jm_str_addf(out, "%s/%s", v->dir.buf, name);
    return jm_str_ok(out, "a file name", v->err);
}

/* ---- unpacking */

static int begin(void *self, const char *name, int64_t size, struct jm_err *err)
{
    struct verify *v = self;
    struct jm_span root = JM_SPAN(JM_BUNDLE_ROOT);
    struct jm_str path;
    (void)size;
    if (!jm_span_starts(jm_span_of(name), root))
        return jm_err_set(err, JM_ECORRUPT,
                          "%s is not below " JM_BUNDLE_ROOT ", so this is no evidence bundle", name);
    if (v->n == v->cap) {
        size_t cap = v->cap ? 2 * v->cap : 64;
        struct file *more = realloc(v->file, cap * sizeof *more);
        if (!more)
            return jm_err_set(err, JM_ENOMEM, "out of memory for a bundle");
        v->file = more;
        v->cap = cap;
    }
    struct file *f = &v->file[v->n++];
    *f = (struct file){0};
    snprintf(f->name, sizeof f->name, "%s", name + root.n);
    jm_sha256_init(&v->sha);
    jm_str_init(&path);
    int rc = path_of(v, f->name, &path);
    if (!rc)
        rc = jm_file_mkparents(path.buf, err);
    if (!rc)
        rc = jm_file_out_open(&v->out, path.buf, err);
    jm_str_release(&path);
    return rc;
}

static int data(void *self, struct jm_span s, struct jm_err *err)
{
    struct verify *v = self;
    jm_sha256_add(&v->sha, s.p, s.n);
    return jm_file_out_add(&v->out, s, err);
}

static int end(void *self, struct jm_err *err)
{
    struct verify *v = self;
    jm_sha256_done(&v->sha, v->file[v->n - 1].sha);
    return jm_file_out_commit(&v->out, false, err);
}

static int compare(void *self, struct jm_span s, struct jm_err *err)
{
    struct verify *v = self;
    char buf[4096];
    while (s.n && v->differs < 0) {
        size_t n = s.n < sizeof buf ? s.n : sizeof buf;
        ssize_t got = pread(v->again, buf, n, v->at);
        if (got < 0)
            return jm_err_sys(err, errno, "cannot read %s", v->path);
        for (size_t i = 0; i < n && v->differs < 0; i++)
            if (i >= (size_t)got || buf[i] != s.p[i])
                v->differs = v->at + (int64_t)i;
        v->at += (int64_t)n;
        s = jm_span_sub(s, n, s.n);
    }
    return 0;
}

struct flow {
    struct verify *v;
    struct jm_tar tar;
    struct jm_unzip *unzip;
};

static int unpacked(void *self, struct jm_span s, struct jm_err *err)
{
    struct flow *f = self;
    int rc = jm_tar_feed(&f->tar, s, err);
    return rc ? rc : jm_zip_add(f->v->zip, s, err);
}

static int packed(void *self, struct jm_span s, struct jm_err *err)
{
    return jm_unzip_add(((struct flow *)self)->unzip, s, err);
}

static int unpack(struct verify *v)
{
    static const struct jm_tar_ops ops = {begin, data, end};
    struct flow f = {.v = v};
    struct stat st;
    char *block = malloc(BLOCK);
    v->out.fd = -1;
    v->differs = -1;
    v->again = open(v->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    int rc = v->again < 0 ? jm_err_sys(v->err, errno, "cannot open %s", v->path)
             : block      ? jm_zip_new(JM_BUNDLE_LEVEL, compare, v, &v->zip, v->err)
                          : jm_err_set(v->err, JM_ENOMEM, "out of memory for a bundle");
    jm_tar_init(&f.tar, &ops, v, JM_BUNDLE_FILES);
    uint64_t limit = UNPACKED;
    if (!rc && fstat(v->again, &st) == 0 && st.st_size >= 0 &&
        (uint64_t)st.st_size < (UNPACKED - ALWAYS) / RATIO)
        limit = ALWAYS + (uint64_t)st.st_size * RATIO;
    if (!rc)
        rc = jm_unzip_new(limit, unpacked, &f, &f.unzip, v->err);
    if (!rc)
        rc = jm_file_blocks(v->path, block, BLOCK, packed, &f, v->err);
    if (!rc)
        rc = jm_unzip_end(f.unzip, v->err);
    if (!rc)
        rc = jm_tar_done(&f.tar, v->err);
    if (!rc)
        rc = jm_zip_end(v->zip, v->err);
    jm_file_out_abandon(&v->out);
    jm_unzip_free(f.unzip);
    jm_zip_free(v->zip);
    if (v->again >= 0)
        close(v->again);
    free(block);
    return rc;
}

/* ---- manifest and signature */

static struct file *find(struct verify *v, struct jm_span name)
{
    for (size_t i = 0; i < v->n; i++)
        if (jm_span_is(name, v->file[i].name))
            return &v->file[i];
    return NULL;
}

static int read_file(struct verify *v, const char *name, struct jm_str *out)
{
    struct jm_str path;
    jm_str_init(&path);
    int rc = path_of(v, name, &path);
    if (!rc)
        rc = jm_file_read(path.buf, JM_BUNDLE_TEXT, out, v->err);
    jm_str_release(&path);
    return rc;
}

struct lines {
    struct verify *v;
    struct check *c;
};

static int line(void *self, struct jm_span name, struct jm_span sha, struct jm_err *err)
{
    struct lines *l = self;
    struct file *f = find(l->v, name);
    char text[240];
    (void)err;
    if (!f || f->named || !jm_span_is(sha, f->sha)) {
        snprintf(text, sizeof text, "%.*s %s", (int)name.n, name.p,
                 !f           ? "is not there"
                 : !f->sha[0] ? "is not whole"
                 : f->named   ? "is named twice"
                              : "was changed: it is not the file that the manifest names");
        also(l->c, text);
        l->c->state = FAILS;
    }
    if (f)
        f->named = true;
    return 0;
}

static int manifest(struct verify *v, struct jm_str *text)
{
    struct check *c = put(v, "manifest", "files", HOLDS);
    struct lines l = {v, c};
    struct jm_err why = {0};
    char note[240];
    if (!find(v, JM_SPAN(JM_BUNDLE_MANIFEST))) {
        c->state = FAILS;
        also(c, JM_BUNDLE_MANIFEST " is not there");
        return 0;
    }
    int rc = read_file(v, JM_BUNDLE_MANIFEST, text);
    if (rc)
        return rc;
    if (jm_manifest_read(jm_str_span(text), line, &l, &why)) {
        c->state = FAILS;
        also(c, why.text);
    }
    for (size_t i = 0; i < v->n; i++) {
        const char *name = v->file[i].name;
        if (v->file[i].named || strcmp(name, JM_BUNDLE_MANIFEST) == 0 || strcmp(name, JM_BUNDLE_SIG) == 0)
            continue;
        c->state = FAILS;
        snprintf(note, sizeof note, "%s is not in the manifest", name);
        also(c, note);
    }
    if (c->state == HOLDS) {
        snprintf(note, sizeof note, "%zu files are what the manifest says", v->n);
        also(c, note);
    }
    return 0;
}

static int signature(struct verify *v, const struct jm_str *text, const char *key)
{
    bool there = find(v, JM_SPAN(JM_BUNDLE_SIG)) != NULL;
    struct check *c = put(v, "signature", "signature", OPEN);
    const struct jm_sign_ops *ops;
    struct jm_str sig, pem;
    struct jm_err why = {0};
    char note[JM_SIGN_WHY + 200] = "", hex[JM_SHA256_HEX];
    if (!there) {
        c->state = key || find(v, JM_SPAN(JM_BUNDLE_PEM)) ? FAILS : OPEN;
        also(c, "it is not signed");
        return 0;
    }
    if (jm_sign_load(&ops, &why)) {
        c->state = key ? FAILS : OPEN;
        also(c, why.text);
        return 0;
    }
    jm_str_init(&sig);
    jm_str_init(&pem);
    int rc = read_file(v, JM_BUNDLE_SIG, &sig);
    if (!rc && key && (rc = jm_file_read(key, 64 << 10, &pem, v->err)))
        jm_err_prefix(v->err, "--key");
    if (!rc && !key && find(v, JM_SPAN(JM_BUNDLE_PEM)))
        rc = read_file(v, JM_BUNDLE_PEM, &pem);
    if (!rc) {
        jm_sha256_hex(jm_str_span(&pem), hex);
        int good = sig.len == JM_SIGN_BYTES ? ops->verify(pem.buf, pem.len, text->buf, text->len,
                                                          (const unsigned char *)sig.buf, note)
                                            : 0;
        if (good < 0 && !key && !pem.len)
            snprintf(note, sizeof note, JM_BUNDLE_PEM " is not there, and no key was given (--key)");
        if (good < 0 && key)
            rc = jm_err_set(v->err, JM_EUSAGE, "--key: %s %s", key, note);
        c->state = good > 0 ? HOLDS : FAILS;
        if (good > 0)
            snprintf(note, sizeof note,
                     key ? "by the key that was given"
                         : "by signer.pem, which comes with it (SHA-256 %.16s...): "
                           "hold it against the key that the signer publishes, or give that one by --key",
                     hex);
        else if (good == 0)
            snprintf(note, sizeof note, "%s is not this manifest's by %s", JM_BUNDLE_SIG,
                     key ? "the key that was given" : JM_BUNDLE_PEM);
        also(c, note);
    }
    jm_str_release(&sig);
    jm_str_release(&pem);
    return rc;
}

/* ---- runs and figures */

/* The first place where two texts part, by line. */
static size_t line_of(struct jm_span a, struct jm_span b)
{
    size_t n = 1;
    for (size_t i = 0; i < a.n && i < b.n && a.p[i] == b.p[i]; i++)
        n += a.p[i] == '\n';
    return n;
}

static int same(struct verify *v, struct check *c, const char *name, struct jm_span again)
{
    struct jm_str there;
    char note[240];
    jm_str_init(&there);
    if (!find(v, jm_span_of(name))) {
        snprintf(note, sizeof note, "%s is not there", name);
        also(c, note);
        c->state = FAILS;
        return 0;
    }
    int rc = read_file(v, name, &there);
    if (!rc && !jm_span_eq(jm_str_span(&there), again)) {
        snprintf(note, sizeof note, "%s is not what the run gives (line %zu)", name,
                 line_of(jm_str_span(&there), again));
        also(c, note);
        bool open = c->state == OPEN;
        if (open && jm_span_ends(jm_span_of(name), JM_SPAN("/show.json"))) {
            int other = jm_bundle_values(jm_str_span(&there), again, note, sizeof note, v->err);
            rc = other < 0 ? other : 0;
            if (other > 0)
                also(c, note);
            open = !other;
        }
        c->state = open ? OPEN : FAILS;
    }
    jm_str_release(&there);
    return rc;
}

static int one_run(struct verify *v, const struct jm_json *row, const struct jm_figure_opts *o,
                   struct check *seal, struct check *figures)
{
    struct jm_span name = {0}, sha = {0}, id = {0};
    struct jm_bundle_figures f;
    struct jm_str path;
    struct jm_err why = {0};
    char file[JM_TAR_NAME + 1], note[300];
    if (!jm_json_str(jm_json_get(row, "file"), &name) || !jm_json_str(jm_json_get(row, "sha256"), &sha) ||
        !jm_span_starts(name, JM_SPAN("runs/")) || !jm_span_ends(name, JM_SPAN(".jmr")) || !find(v, name)) {
        also(seal, "bundle.json names a run that is not there");
        seal->state = FAILS;
        return 0;
    }
    snprintf(file, sizeof file, "%.*s", (int)name.n, name.p);
    jm_bundle_figures_init(&f);
    jm_str_init(&path);
    int rc = path_of(v, file, &path);
    if (!rc && jm_bundle_figures(path.buf, file, o, false, &f, &why)) {
        snprintf(note, sizeof note, "%s: %.240s", file, why.text);
        also(seal, note);
        seal->state = FAILS;
    } else if (!rc) {
        if (!jm_span_is(sha, f.sha256) || !f.sha256[0] || !jm_json_str(jm_json_get(row, "id"), &id) ||
            !jm_span_is(id, f.id)) {
            snprintf(note, sizeof note, "%s is not the run of bundle.json", file);
            also(seal, note);
            seal->state = FAILS;
        }
        snprintf(note, sizeof note, "figures/%.*s/show.json", (int)name.n - 9, name.p + 5);
        rc = same(v, figures, note, jm_str_span(&f.show));
        snprintf(note, sizeof note, "figures/%.*s/audit.json", (int)name.n - 9, name.p + 5);
        if (!rc)
            rc = same(v, figures, note, jm_str_span(&f.audit));
    }
    jm_bundle_figures_release(&f);
    jm_str_release(&path);
    return rc;
}

static int runs(struct verify *v)
{
    struct check *seal = put(v, "seal", "runs", HOLDS), *figures = put(v, "figures", "figures", HOLDS);
    struct jm_str text, arena;
    struct jm_json *doc = NULL;
    struct jm_figure_opts o;
    struct jm_err why = {0};
    struct jm_span version = {0}, zstd = {0};
    char note[240];
    int rc = 0, bad = 0;
    jm_str_init(&text);
    jm_str_init(&arena);
    if (!find(v, JM_SPAN("bundle.json")))
        bad = jm_err_set(&why, JM_ECORRUPT, "bundle.json is not there");
    else
        rc = read_file(v, "bundle.json", &text);
    if (!rc && !bad)
        bad = jm_json_parse(jm_str_span(&text), &doc, &why);
    if (!rc && !bad)
        bad = jm_figure_opts_get(jm_json_get(doc, "options"), v->dir.buf, &o, &arena, &why);
    const struct jm_json *list = jm_json_get(doc, "runs");
    if (!rc && !bad && !jm_json_len(list))
        bad = jm_err_set(&why, JM_ECORRUPT, "bundle.json names no run");
    if (!rc && bad) {
        seal->state = FAILS;
        figures->state = OPEN;
        snprintf(note, sizeof note, "bundle.json: %.200s", why.text);
        also(seal, note);
        also(figures, "not computed again: bundle.json does not say of which runs and how");
    }
    if (!rc && !bad) {
        bool ours = jm_json_str(jm_json_get(doc, "joulemark"), &version) && jm_span_is(version, JM_VERSION);
        v->foreign = !jm_json_str(jm_json_get(doc, "zstd"), &zstd) || !jm_span_is(zstd, jm_zip_version());
        if (!ours) { /* another version may word a finding in another way */
            figures->state = OPEN;
            snprintf(note, sizeof note, "made by joulemark %.*s, checked by " JM_VERSION,
                     (int)(version.n > 40 ? 40 : version.n), version.n ? version.p : "");
            also(figures, note);
        }
        for (size_t i = 0; !rc && i < jm_json_len(list); i++)
            rc = one_run(v, jm_json_at(list, i), &o, seal, figures);
        if (seal->state == HOLDS) {
            snprintf(note, sizeof note, "%zu sealed, and the ones that the figures are of",
                     jm_json_len(list));
            also(seal, note);
        }
        if (figures->state == HOLDS)
            also(figures, "computed again from the runs, they are the same to the last digit");
    }
    jm_json_free(doc);
    jm_str_release(&text);
    jm_str_release(&arena);
    return rc;
}

static void container(struct verify *v)
{
    struct check *c = put(v, "container", "archive", HOLDS);
    char note[200];
    struct stat st;
    if (v->differs < 0 && stat(v->path, &st) == 0 && st.st_size != v->at)
        v->differs = v->at;
    if (v->differs < 0)
        also(c, "byte by byte what joulemark writes of these files");
    else {
        c->state = v->foreign ? OPEN : FAILS;
        snprintf(note, sizeof note,
                 "its files are whole, but its packing is not joulemark's from byte %lld on%s",
                 (long long)v->differs,
                 v->foreign ? ": it was packed by another version of zstd, so this says nothing" : "");
        also(c, note);
    }
}

/* ---- what comes out */

static int report(struct verify *v, bool *failed)
{
    static const char *const words[] = {"ok", "FAILED", "not known"};
    static const enum jm_out_style_of st[] = {JM_OUT_GREEN, JM_OUT_RED, JM_OUT_YELLOW};
    struct jm_str s;
    struct jm_show_opts show = {.width = 80, .color = v->cli->term.out_color};
    struct jm_out out = {&s, NULL, &show, 80};
    struct jm_jsonw w;
    jm_str_init(&s);
    *failed = false;
    for (size_t i = 0; i < v->n_check; i++)
        *failed |= v->check[i].state == FAILS;
    jm_jsonw_init(&w, &s, 2);
    if (v->cli->common->json) {
        static const char *const state[] = {"holds", "fails", "unknown"};
        jm_jsonw_object(&w);
        jm_jsonw_kstr(&w, "schema", "joulemark.verify/1");
        jm_jsonw_kstr(&w, "file", v->path);
        jm_jsonw_kstr(&w, "status", *failed ? "failed" : "passed");
        jm_jsonw_key(&w, "checks");
        jm_jsonw_array(&w);
        for (size_t i = 0; i < v->n_check; i++) {
            jm_jsonw_object(&w);
            jm_jsonw_kstr(&w, "id", v->check[i].id);
            jm_jsonw_kstr(&w, "state", state[v->check[i].state]);
            jm_jsonw_kstr(&w, "text", v->check[i].text);
            jm_jsonw_end(&w);
        }
        jm_jsonw_end(&w);
        jm_jsonw_end(&w);
    } else {
        jm_out_style(&out, JM_OUT_BOLD);
        jm_out_add(&out, v->path);
        jm_out_style(&out, JM_OUT_PLAIN);
        jm_str_addc(&s, '\n');
        for (size_t i = 0; i < v->n_check; i++) {
            jm_str_adds(&s, "  ");
            jm_out_style(&out, st[v->check[i].state]);
            jm_out_cell(&out, words[v->check[i].state], 11, false);
            jm_out_style(&out, JM_OUT_PLAIN);
            jm_out_cell(&out, v->check[i].title, 11, false);
            jm_out_wrap(&out, v->check[i].text, 24, 24);
        }
    }
    int rc = jm_str_ok(&s, "the verification", v->err);
    if (!rc)
        jm_cli_out(v->cli, jm_str_span(&s));
    jm_str_release(&s);
    return rc;
}

/* Names are those of the archive, checked: nothing above the folder. */
static void sweep(struct verify *v)
{
    struct jm_str path;
    jm_str_init(&path);
    for (size_t i = 0; i < v->n; i++)
        if (path_of(v, v->file[i].name, &path) == 0)
            unlink(path.buf);
    for (size_t i = 0; i < v->n; i++)
        if (path_of(v, v->file[i].name, &path) == 0)
            for (char *slash; (slash = strrchr(path.buf, '/')) && (size_t)(slash - path.buf) > v->dir.len;) {
                *slash = '\0';
                rmdir(path.buf);
            }
    rmdir(v->dir.buf);
    jm_str_release(&path);
}

int jm_bundle_verify(struct jm_cli *cli, const char *path, const char *key, struct jm_err *err)
{
    struct verify v = {.cli = cli, .path = path, .err = err};
    struct jm_err why = {0};
    struct jm_str text;
    bool failed = true;
    const char *tmp = getenv("TMPDIR");
    jm_str_init(&text);
    jm_str_init(&v.dir);
    jm_str_addf(&v.dir, "%s/joulemark-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    int rc = jm_str_ok(&v.dir, "a file name", err);
    if (!rc && !mkdtemp(v.dir.buf)) {
        rc = jm_err_sys(err, errno, "cannot make a temporary folder %s for the bundle (TMPDIR says where)",
                        v.dir.buf);
        jm_str_release(&v.dir);
        return rc;
    }
    if (!rc) {
        v.err = &why;
        rc = unpack(&v);
        v.err = err;
        if (rc == JM_ECORRUPT || rc == JM_ELIMIT || rc == JM_ECONFLICT) {
            /* what there is still tells which file it is */
            bool manifested = find(&v, JM_SPAN(JM_BUNDLE_MANIFEST)) != NULL;
            rc = manifested ? manifest(&v, &text) : 0;
            if (manifested && v.check[0].state == HOLDS)
                v.n_check = 0;
            struct check *c = put(&v, "container", "archive", FAILS);
            if (v.n && !v.file[v.n - 1].sha[0]) {
                char note[JM_TAR_NAME + 40];
                snprintf(note, sizeof note, "in %s", v.file[v.n - 1].name);
                also(c, note);
            }
            also(c, why.text);
        } else if (rc) {
            *err = why;
            if (rc == JM_EFULL)
                jm_err_prefix(err, "the bundle is unpacked below %s (TMPDIR says where)", v.dir.buf);
        } else {
            rc = manifest(&v, &text);
            if (!rc)
                rc = signature(&v, &text, key);
            if (!rc)
                rc = runs(&v);
            if (!rc)
                container(&v);
        }
        if (!rc)
            rc = report(&v, &failed);
        sweep(&v);
    }
    jm_str_release(&text);
    jm_str_release(&v.dir);
    free(v.file);
    return rc ? rc : failed ? JM_EXIT_CHECK : JM_EXIT_OK;
}
