/* SPDX-License-Identifier: Apache-2.0 */
#include "import/mlperf_tiny.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "import/file.h"

#include "base/banned.h"

#define TIMES_MOST ((size_t)4 << 20)
#define LINE_MOST  ((size_t)1 << 16)

static const char energy[] = "-energy.bin";

static bool is_file(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/* Length of the prefix of a name that ends with -energy.bin, 0: it does not. */
static size_t prefix_of(const char *name)
{
    size_t n = strlen(name), m = sizeof energy - 1;
    return n > m && strcmp(name + n - m, energy) == 0 ? n - m : 0;
}

/* "Power Edition Output" begins results.txt. */
static bool trials_at(const char *path)
{
    static const char head[] = "Power Edition Output";
    char p[8192], text[sizeof head] = "";
    if ((size_t)snprintf(p, sizeof p, "%s/results.txt", path) >= sizeof p || !is_file(p))
        return false;
    FILE *f = fopen(p, "rbe");
    size_t n = f ? fread(text, 1, sizeof head - 1, f) : 0;
    if (f)
        fclose(f);
    return n == sizeof head - 1 && memcmp(text, head, n) == 0;
}

bool jm_tiny_dir_at(const char *path)
{
    char p[8192];
    struct dirent *e;
    bool found = false;
    DIR *d = opendir(path);
    while (d && !found && (e = readdir(d))) {
        size_t n = prefix_of(e->d_name);
        found =
            n &&
            (size_t)snprintf(p, sizeof p, "%s/%.*s-timestamps.json", path, (int)n, e->d_name) < sizeof p &&
            is_file(p);
    }
    if (d)
        closedir(d);
    return found || trials_at(path);
}

static int nomem(const char *path, struct jm_err *err)
{
    return jm_err_set(err, JM_ENOMEM, "Out of memory while reading the Tiny run %s.", path);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct jm_tiny_file *)a)->name, ((const struct jm_tiny_file *)b)->name);
}

static void take_text(char *out, size_t cap, struct jm_span text)
{
    if (out[0])
        return;
    snprintf(out, cap, "%.*s", (int)(text.n < cap ? text.n : cap - 1), text.n ? text.p : "");
    jm_text_plain(out, strlen(out), false);
}

static struct jm_tiny_claim *claim_of(struct jm_tiny_dir *d, double number)
{
    if (!(number >= 0 && number < 1e6))
        return NULL;
    for (size_t i = 0; i < d->n_claim; i++)
        if (d->claim[i].number == (int)number)
            return &d->claim[i];
    if (d->n_claim >= JM_TINY_WINDOWS)
        return NULL;
    if ((d->n_claim & (d->n_claim - 1)) == 0) {
        struct jm_tiny_claim *more = realloc(d->claim, (d->n_claim ? 2 * d->n_claim : 1) * sizeof *more);
        if (!more) {
            d->no_memory = true;
            return NULL;
        }
        d->claim = more;
    }
    struct jm_tiny_claim *c = &d->claim[d->n_claim++];
    *c = (struct jm_tiny_claim){(int)number, NAN, NAN, NAN, NAN, NAN, NAN};
    return c;
}

struct reading {
    struct jm_tiny_dir *d;
    struct jm_tiny_claim *at; /* the window that lines speak of */
};

static void take(struct reading *r, const struct jm_tiny_said *s)
{
    struct jm_tiny_dir *d = r->d;
    switch (s->kind) {
    case JM_TINY_INFER_START:
        if (d->n_inferences < JM_TINY_WINDOWS && d->inferences)
            d->inferences[d->n_inferences++] = s->number;
        break;
    case JM_TINY_MODEL: take_text(d->model, sizeof d->model, s->text); break;
    case JM_TINY_PROFILE: take_text(d->device, sizeof d->device, s->text); break;
    case JM_TINY_MODE:
        if (jm_span_starts(s->text, JM_SPAN("energy")))
            d->energy_mode = true;
        break;
    case JM_TINY_VOLTAGE: d->volts_mv = s->number > 0 && s->number < 1e6 ? (int64_t)s->number : -1; break;
    case JM_TINY_INSTRUMENT: take_text(d->instrument, sizeof d->instrument, s->text); break;
    case JM_TINY_DROP_LIMIT: d->drop_limit = s->number; break;
    case JM_TINY_BAD_SAMPLES: d->bad_percent = s->number; break;
    case JM_TINY_ERROR:
        d->errors++;
        take_text(d->error, sizeof d->error, s->text);
        break;
    case JM_TINY_ENERGY_WINDOW:
        if ((r->at = claim_of(d, s->number))) {
            r->at->at_s = s->at;
            r->at->seconds = s->seconds;
        }
        break;
    case JM_TINY_SPEED_WINDOW: r->at = claim_of(d, s->number); break;
    case JM_TINY_ENERGY:
        if (r->at)
            r->at->uj = s->number;
        break;
    case JM_TINY_PER_INFERENCE:
        if (r->at)
            r->at->per_uj = s->number;
        break;
    case JM_TINY_INFERENCES:
        if (r->at)
            r->at->inferences = s->number;
        break;
    case JM_TINY_SECONDS:
        if (r->at)
            r->at->seconds = s->number;
        break;
    case JM_TINY_RUNTIME:
        if (r->at)
            r->at->runtime_s = s->number;
        break;
    case JM_TINY_MEDIAN_ENERGY: d->median_uj = s->number; break;
    case JM_TINY_MEDIAN_SPEED: d->median_speed = s->number; break;
    default: break;
    }
}

/* Lines of log.txt or results.txt; absent is fine. */
static bool lines(struct jm_tiny_dir *d, const char *name)
{
    char path[8192];
    struct jm_ifile f;
    struct reading r = {.d = d};
    size_t mark = 0;
    if ((size_t)snprintf(path, sizeof path, "%s/%s", d->dir, name) >= sizeof path)
        return false;
    int rc = jm_ifile_open(path, &f, NULL);
    d->no_memory |= rc == JM_ENOMEM;
    if (rc)
        return false;
    struct jm_span rest = f.text, line;
    while (jm_span_line(&rest, &line)) {
        struct jm_tiny_said said;
        jm_ifile_used(&f, line.p, &mark);
        jm_tiny_line(jm_span_sub(line, 0, LINE_MOST), &said);
        take(&r, &said);
    }
    jm_ifile_close(&f);
    return true;
}

static int by_number(const void *a, const void *b)
{
    int x = ((const struct jm_tiny_claim *)a)->number, y = ((const struct jm_tiny_claim *)b)->number;
    return x < y ? -1 : x > y;
}

int jm_tiny_list(const char *path, struct jm_tiny_dir *out, struct jm_err *err)
{
    char p[8192];
    struct dirent *e;
    int rc = 0;
    memset(out, 0, sizeof *out);
    snprintf(out->dir, sizeof out->dir, "%s", path);
    out->volts_mv = -1;
    out->drop_limit = out->bad_percent = out->median_uj = out->median_speed = NAN;
    errno = 0;
    DIR *d = opendir(path);
    if (!d && errno == ENOMEM)
        return nomem(path, err);
    while (d && !rc && (e = readdir(d))) {
        size_t n = prefix_of(e->d_name);
        if (!n ||
            (size_t)snprintf(p, sizeof p, "%s/%.*s-timestamps.json", path, (int)n, e->d_name) >= sizeof p ||
            !is_file(p))
            continue;
        if (out->n >= JM_TINY_TRACES) {
            out->left_out++;
            continue;
        }
        struct jm_tiny_file *t = &out->trace[out->n++];
        snprintf(t->name, sizeof t->name, "%.*s", (int)n, e->d_name);
        t->times = strdup(p);
        snprintf(p, sizeof p, "%s/%s", path, e->d_name);
        t->energy = strdup(p);
        if (!t->times || !t->energy)
            rc = nomem(path, err);
    }
    if (d)
        closedir(d);
    if (!rc && !out->n && trials_at(path)) {
        out->trials = out->energy_mode = true;
        if ((size_t)snprintf(p, sizeof p, "%s/results.json", path) < sizeof p && is_file(p) &&
            !(out->json = strdup(p)))
            rc = nomem(path, err);
    }
    if (!rc && !out->n && !out->trials)
        rc = jm_err_set(err, JM_EABSENT,
                        "%s is no MLPerf Tiny energy run: it holds neither <name>-energy.bin with "
                        "<name>-timestamps.json nor the "
                        "results.txt of a run in energy mode.",
                        path);
    if (!rc && !(out->inferences = calloc(JM_TINY_WINDOWS, sizeof *out->inferences)))
        rc = nomem(path, err);
    if (rc) {
        jm_tiny_list_release(out);
        return rc;
    }
    qsort(out->trace, out->n, sizeof *out->trace, by_name);
    out->has_log = lines(out, "log.txt");
    out->has_results = lines(out, "results.txt");
    if (out->no_memory) {
        jm_tiny_list_release(out);
        return nomem(path, err);
    }
    if (out->n_claim)
        qsort(out->claim, out->n_claim, sizeof *out->claim, by_number);
    return 0;
}

void jm_tiny_list_release(struct jm_tiny_dir *d)
{
    for (size_t i = 0; i < d->n; i++) {
        free(d->trace[i].energy);
        free(d->trace[i].times);
    }
    free(d->json);
    free(d->inferences);
    free(d->claim);
    d->json = NULL;
    d->inferences = NULL;
    d->claim = NULL;
    d->n = d->n_claim = d->n_inferences = 0;
}

/* results.txt numbers its windows by the edge at which they end, counted from 0: 2, 4, 6, ... with the edge
 * of the device's start, 1, 3, 5, ... without. Where it says nothing, the number of inference commands tells.
 */
size_t jm_tiny_first(const struct jm_tiny_dir *d, size_t n)
{
    for (size_t i = 0; i < d->n_claim; i++)
        if (!isnan(d->claim[i].uj) && d->claim[i].number >= 1)
            return (size_t)(d->claim[i].number - 1) % 2;
    if (d->n_inferences && n == 2 * d->n_inferences)
        return 0;
    if (d->n_inferences && n == 2 * d->n_inferences + 1)
        return 1;
    return n % 2;
}

int jm_tiny_samples(const char *path, double *rate_hz, jm_tiny_fn fn, void *self, size_t *rest,
                    struct jm_err *err)
{
    struct jm_ifile f;
    size_t mark = 0;
    *rest = 0;
    int rc = jm_ifile_open(path, &f, err);
    if (rc)
        return rc;
    rc = jm_tiny_head(f.all, rate_hz, err);
    size_t at = JM_TINY_HEAD;
    for (int64_t i = 0; !rc && at + 4 <= f.all.n; i++, at += 4) {
        rc = fn(self, i, jm_tiny_sample(f.all.p + at));
        if ((i & 0xffff) == 0)
            jm_ifile_used(&f, f.all.p + at, &mark);
    }
    if (!rc)
        *rest = f.all.n - at;
    jm_ifile_close(&f);
    if (rc && err && rc == JM_EPARSE)
        jm_err_prefix(err, "%s", path);
    return rc;
}

int jm_tiny_edges(const char *path, double **edge, size_t *n, struct jm_err *err)
{
    struct jm_str text;
    *n = 0;
    jm_str_init(&text);
    int rc = jm_file_read_regular(path, TIMES_MOST, &text, err);
    double *v = rc ? NULL : malloc(JM_TINY_EDGES * sizeof *v);
    if (!rc && !v)
        rc = nomem(path, err);
    if (!rc) {
        rc = jm_tiny_times(jm_str_span(&text), v, JM_TINY_EDGES, n, err);
        if (rc && err)
            jm_err_prefix(err, "%s", path);
    }
    jm_str_release(&text);
    if (rc)
        free(v);
    else
        *edge = v;
    return rc;
}
