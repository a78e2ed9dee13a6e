/* SPDX-License-Identifier: Apache-2.0 */
/* Files around a session: what the folders of the result hold, and the documents of its measurements. */
#include "mlperf/submission_docs.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/json.h"
#include "base/num.h"
#include "mlperf/arena.h"
#include "wire/csv.h"

#include "base/banned.h"

#define TABLE_MOST   ((size_t)64 << 10)
#define CONF_MOST    ((size_t)256 << 10)
#define LISTED       64   /* names kept of each kind */
#define ENTRIES_MOST 4096 /* of a folder */

static bool join(char out[8192], const char *dir, const char *name)
{
    return (size_t)snprintf(out, 8192, "%s/%s", dir, name) < 8192;
}

static int64_t size_of(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) ? (int64_t)st.st_size : -1;
}

/* NULL: it cannot be opened; without memory the submission is marked. */
static DIR *open_dir(struct jm_mlperf_submission *m, const char *path)
{
    errno = 0;
    DIR *d = opendir(path);
    m->no_memory |= !d && errno == ENOMEM;
    return d;
}

/* ---- performance/
 * ---------------------------------------------------------------------------------------------------- */

static void keep(struct jm_mlperf_submission *m, const char ***v, size_t *n, const char *folder,
                 const char *name)
{
    if (!*v)
        *v = jm_mlperf_alloc(m->arena, LISTED * sizeof **v);
    if (*v && *n < LISTED && ((*v)[*n] = jm_mlperf_printf(m->arena, "%s/%s", folder, name))) {
        jm_text_plain((char *)(uintptr_t)(*v)[*n], strlen((*v)[*n]), false);
        ++*n;
    }
}

/* mlcommons/inference tools/submission files_diff: these are passed over everywhere. */
static bool passed_over(const char *name)
{
    static const char *const names[] = {"mlperf_log_trace.json", "results.json", ".gitkeep"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

static void folder(struct jm_mlperf_submission *m, const char *root, const char *name, struct jm_span files,
                   bool optional)
{
    char dir[8192], path[8192];
    struct jm_span item, rest = files;
    struct dirent *e;
    if (!join(dir, root, name))
        return;
    while (jm_span_field(&rest, ',', &item)) {
        char file[256];
        snprintf(file, sizeof file, "%.*s", (int)item.n, item.p);
        int64_t n = join(path, dir, file) ? size_of(path) : -1;
        if (n < 0)
            keep(m, &m->missing, &m->n_missing, name, file);
        else if (n == 0)
            keep(m, &m->empty, &m->n_empty, name, file);
    }
    DIR *d = open_dir(m, dir);
    for (int i = 0; d && i < ENTRIES_MOST && (e = readdir(d)); i++)
        if (!jm_mlperf_round_lists(files, jm_span_of(e->d_name)) && !passed_over(e->d_name) &&
            !(optional && strcmp(e->d_name, "mlperf_log_accuracy.json") == 0) && join(path, dir, e->d_name) &&
            size_of(path) >= 0)
            keep(m, &m->stray, &m->n_stray, name, e->d_name);
    if (d)
        closedir(d);
}

/* Power logs in a run that is measured without. */
static void no_power(struct jm_mlperf_submission *m, const char *dir, const char *shown, int deep)
{
    static const char *const marks[] = {"spl.txt", "power", "ranging"};
    char path[8192];
    struct dirent *e;
    if (m->power_elsewhere || !jm_submission_dir(dir))
        return;
    for (size_t i = 0; i < 3; i++)
        if (join(path, dir, marks[i]) && (i ? jm_submission_dir(path) : size_of(path) >= 0)) {
            m->power_elsewhere = jm_mlperf_printf(m->arena, "%s/%s", shown, marks[i]);
            return;
        }
    DIR *d = deep ? open_dir(m, dir) : NULL;
    for (int i = 0; d && i < ENTRIES_MOST && (e = readdir(d)); i++) {
        char below[600];
        if (e->d_name[0] == '.' || !join(path, dir, e->d_name) || !jm_submission_dir(path))
            continue;
        snprintf(below, sizeof below, "%.300s/%.250s", shown, e->d_name);
        no_power(m, path, below, deep - 1);
    }
    if (d)
        closedir(d);
}

int jm_submission_files(struct jm_mlperf_submission *m)
{
    struct jm_mlperf_round round;
    char root[8192], path[8192];
    struct dirent *e;
    if (!join(root, m->scenario_dir, "performance") || !jm_submission_dir(root))
        snprintf(root, sizeof root, "%s", m->scenario_dir);
    if (!m->round[0] || jm_mlperf_round_named(m->round, &round, NULL)) {
        size_t i = 0;
        while (jm_mlperf_round_at(i, &round))
            i++;
        jm_mlperf_round_at(i - 1, &round);
    }
    folder(m, root, "run_1", round.run_files, true);
    folder(m, root, "ranging", round.run_files, true);
    folder(m, root, "power", round.power_files, false);
    DIR *d = open_dir(m, root);
    for (int i = 0; d && i < ENTRIES_MOST && (e = readdir(d)); i++)
        if (strncmp(e->d_name, "run_", 4) == 0 && join(path, root, e->d_name) && jm_submission_dir(path))
            m->runs++;
    if (d)
        closedir(d);
    if (join(path, m->scenario_dir, "accuracy"))
        no_power(m, path, "accuracy", 1);
    d = open_dir(m, m->scenario_dir); /* compliance tests beside, since v6.0 */
    for (int i = 0; d && i < ENTRIES_MOST && (e = readdir(d)); i++)
        if (strncmp(e->d_name, "TEST", 4) == 0 && join(path, m->scenario_dir, e->d_name))
            no_power(m, path, e->d_name, 2);
    if (d)
        closedir(d);
    if (m->tree && (size_t)snprintf(path, sizeof path, "%s/compliance/%s/%s/%s", m->submitter_dir, m->system,
                                    m->benchmark, m->scenario) < sizeof path)
        no_power(m, path, "compliance", 3);
    return 0;
}

/* ---- measurements
 * ---------------------------------------------------------------------------------------------------- */

struct at { /* a folder with its level */
    char dir[8192];
    const char *shown;
    enum jm_mlperf_level level;
};

/* The document of a name that begins (flat: ends its prefix) with start; the first that is not empty. */
static void find(struct jm_mlperf_submission *m, const struct at *a, const char *start, bool anywhere,
                 struct jm_mlperf_doc *out)
{
    struct dirent *e;
    char path[8192], best[256] = "";
    int64_t bytes = -1;
    if (out->path && (out->bytes > 0 || a->level == JM_MLPERF_AT_ELSEWHERE))
        return;
    DIR *d = open_dir(m, a->dir);
    for (int i = 0; d && i < ENTRIES_MOST && (e = readdir(d)); i++) {
        const char *at = anywhere                                   ? strstr(e->d_name, start)
                         : strncmp(e->d_name, start, strlen(start)) ? NULL
                                                                    : e->d_name;
        if (!at || !join(path, a->dir, e->d_name))
            continue;
        int64_t n = size_of(path);
        /* names in order, so that it is the same file on every disk; the one of this folder before taken-over
         * ones */
        bool better = n >= 0 && (bytes < 0 || (n > 0) > (bytes > 0) ||
                                 ((n > 0) == (bytes > 0) &&
                                  (strlen(e->d_name) < strlen(best) ||
                                   (strlen(e->d_name) == strlen(best) && strcmp(e->d_name, best) < 0))));
        if (better) {
            snprintf(best, sizeof best, "%s", e->d_name);
            bytes = n;
        }
    }
    if (d)
        closedir(d);
    if (bytes < 0 || (out->path && !bytes))
        return;
    out->path = jm_mlperf_printf(m->arena, "%s%s%s", a->shown, a->shown[0] ? "/" : "", best);
    if (out->path)
        jm_text_plain((char *)(uintptr_t)out->path, strlen(out->path), false);
    out->level = a->level;
    out->bytes = bytes;
}

static bool read_doc(struct jm_mlperf_submission *m, const struct jm_mlperf_doc *doc, size_t most,
                     struct jm_str *text)
{
    char path[8192];
    const char *root = m->tree ? m->submitter_dir : m->scenario_dir;
    if (!doc->path || !join(path, root, doc->path))
        return false;
    int rc = jm_file_read_regular(path, most, text, NULL);
    m->no_memory |= rc == JM_ENOMEM;
    return rc == 0;
}

/* A row of a Markdown table as its cells. */
static size_t cells(struct jm_span line, struct jm_span *cell, size_t cap)
{
    size_t n = 0;
    struct jm_span f;
    line = jm_span_trim(line);
    if (line.n && line.p[0] == '|')
        line = jm_span_sub(line, 1, line.n);
    if (line.n && line.p[line.n - 1] == '|')
        line.n--;
    while (n < cap && jm_span_field(&line, '|', &f))
        cell[n++] = jm_span_trim(f);
    return n;
}

static bool holds(struct jm_span text, const char *word)
{
    size_t n = strlen(word);
    for (size_t i = 0; i + n <= text.n; i++)
        if (jm_span_ieq(jm_span_sub(text, i, n), (struct jm_span){word, n}))
            return true;
    return false;
}

#define COLUMNS 24

static void analyzer_row(struct jm_mlperf_analyzer_table *a, const struct jm_span *head,
                         const struct jm_span *cell, size_t n)
{
    const struct {
        const char *word, *not_word;
        char *out;
    } rows[] = {{"vendor", NULL, a->vendor},       {"model", NULL, a->model},
                {"firmware", NULL, a->firmware},   {"interface", NULL, a->interface},
                {"wiring", NULL, a->wiring},       {"number of", NULL, a->channels},
                {"channel", "number of", a->which}};
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++)
            if (!rows[k].out[0] && holds(head[i], rows[k].word) &&
                !(rows[k].not_word && holds(head[i], rows[k].not_word))) {
                snprintf(rows[k].out, 64, "%.*s", (int)(cell[i].n < 63 ? cell[i].n : 63),
                         cell[i].n ? cell[i].p : "");
                jm_text_plain(rows[k].out, strlen(rows[k].out), false);
                break;
            }
}

static bool rule_line(const struct jm_span *cell, size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < cell[i].n; k++)
            if (cell[i].p[k] != '-' && cell[i].p[k] != ':')
                return false;
    return true;
}

/* Markdown tables and CSV; any other text says nothing. */
static void analyzer_table(struct jm_mlperf_submission *m, struct jm_span text)
{
    struct jm_span head[COLUMNS], cell[COLUMNS], line, rest = text;
    size_t n = 0;
    while (jm_span_line(&rest, &line)) {
        if (jm_span_chr(line, '|') < 0)
            continue;
        size_t k = cells(line, cell, COLUMNS);
        if (!n) {
            if (holds(line, "model") && (n = k))
                memcpy(head, cell, sizeof head);
        } else if (!rule_line(cell, k)) {
            analyzer_row(&m->analyzer, head, cell, k < n ? k : n);
            return;
        }
    }
    struct jm_csv csv;
    struct jm_csv_field f[COLUMNS];
    jm_csv_init(&csv, text, 0);
    n = 0;
    size_t k;
    while (jm_csv_row(&csv, f, COLUMNS, &k, NULL) == 1) {
        for (size_t i = 0; i < k; i++)
            cell[i] = jm_span_trim(f[i].raw);
        if (k < 2)
            continue;
        if (!n) {
            bool model = false;
            for (size_t i = 0; i < k; i++)
                model |= holds(cell[i], "model");
            if (!model)
                return;
            n = k;
            memcpy(head, cell, sizeof head);
        } else {
            analyzer_row(&m->analyzer, head, cell, k < n ? k : n);
            return;
        }
    }
}

/* user.conf: "<model or *>.<scenario or *>.min_duration = <ms>"; two lines that differ leave it open. */
static void user_conf(struct jm_mlperf_submission *m, struct jm_span text, const char *scenario)
{
    struct jm_span line;
    m->user_min_duration_ms = NAN;
    while (jm_span_line(&text, &line)) {
        line = jm_span_trim(line);
        ptrdiff_t eq = jm_span_chr(line, '=');
        if (eq < 0 || line.p[0] == '#')
            continue;
        double ms;
        /* models have points of their own ("llama3.1-8b"): the last two parts count */
        struct jm_span all = jm_span_trim(jm_span_sub(line, 0, (size_t)eq));
        if (!jm_span_ends(all, JM_SPAN(".min_duration")))
            continue;
        all.n -= sizeof ".min_duration" - 1;
        size_t at = all.n;
        while (at && all.p[at - 1] != '.')
            at--;
        struct jm_span s = jm_span_sub(all, at, all.n);
        if (!jm_span_is(s, "*") && !jm_span_ieq(s, jm_span_of(scenario)))
            continue;
        if (jm_num_double(jm_span_trim(jm_span_sub(line, (size_t)eq + 1, line.n)), &ms))
            continue;
        m->user_min_duration_ms =
            isnan(m->user_min_duration_ms) || m->user_min_duration_ms == ms ? ms : INFINITY;
    }
    if (isinf(m->user_min_duration_ms))
        m->user_min_duration_ms = NAN;
}

static void from(struct jm_mlperf_submission *m, const struct at *a, bool flat, bool power)
{
    find(m, a, "analyzer_table", flat, &m->analyzer_table);
    find(m, a, "power_settings", flat, &m->power_settings);
    if (power)
        return;
    find(m, a, "user.conf", false, &m->user_conf);
    find(m, a, "README.md", false, &m->readme);
    find(m, a, "mlperf.conf", false, &m->mlperf_conf);
    find(m, a, "measurements.json", false, &m->implementation);
    if (!m->implementation.path) {
        if (m->system[0])
            find(m, a, m->system, false, &m->implementation);
        if (!m->implementation.path)
            find(m, a, ".json", true, &m->implementation);
        size_t n = m->implementation.path ? strlen(m->implementation.path) : 0;
        if (n && (n < 5 || strcmp(m->implementation.path + n - 5, ".json") != 0))
            m->implementation = (struct jm_mlperf_doc){0};
    }
}

static void levels(struct jm_mlperf_submission *m)
{
    const char *below[4][3] = {{m->system, m->benchmark, m->scenario},
                               {m->system, m->benchmark, ""},
                               {m->system, "", ""},
                               {"", "", ""}};
    struct at *a = calloc(1, sizeof *a);
    if (!a) {
        m->no_memory = true;
        return;
    }
    for (int i = 0; i < 4; i++) { /* to v5.1 */
        char rel[700];
        snprintf(rel, sizeof rel, "measurements%s%s%s%s%s%s", below[i][0][0] ? "/" : "", below[i][0],
                 below[i][1][0] ? "/" : "", below[i][1], below[i][2][0] ? "/" : "", below[i][2]);
        a->shown = jm_mlperf_copy(m->arena, jm_span_of(rel));
        a->level = (enum jm_mlperf_level)(JM_MLPERF_AT_SCENARIO + i);
        if (a->shown && join(a->dir, m->submitter_dir, rel) && jm_submission_dir(a->dir)) {
            m->has_measurements |= i == 0;
            from(m, a, false, i > 0);
        }
    }
    for (int i = 0; i < 4; i++) { /* since v6.0: in results/ itself */
        char rel[700];
        snprintf(rel, sizeof rel, "results%s%s%s%s%s%s", below[i][0][0] ? "/" : "", below[i][0],
                 below[i][1][0] ? "/" : "", below[i][1], below[i][2][0] ? "/" : "", below[i][2]);
        a->shown = jm_mlperf_copy(m->arena, jm_span_of(rel));
        a->level = (enum jm_mlperf_level)(JM_MLPERF_AT_SCENARIO + i);
        if (a->shown && join(a->dir, m->submitter_dir, rel))
            from(m, a, false, i > 0 || m->has_measurements);
    }
    m->has_measurements |= m->user_conf.path || m->implementation.path;
    /* where submitters put them otherwise */
    static const char *const elsewhere[] = {"power", "documentation", "systems"};
    for (size_t i = 0; i < 3; i++) {
        a->shown = elsewhere[i];
        a->level = JM_MLPERF_AT_ELSEWHERE;
        if (join(a->dir, m->submitter_dir, elsewhere[i]))
            from(m, a, true, true);
    }
    free(a);
}

int jm_submission_docs(struct jm_mlperf_submission *m)
{
    struct jm_str text;
    m->user_min_duration_ms = NAN;
    if (m->tree) {
        levels(m);
    } else {
        struct at *a = calloc(1, sizeof *a);
        if (!a)
            return JM_ENOMEM;
        a->shown = "measurements";
        a->level = JM_MLPERF_AT_SCENARIO;
        if (join(a->dir, m->scenario_dir, "measurements") && jm_submission_dir(a->dir)) {
            m->has_measurements = true;
            from(m, a, true, false);
        }
        free(a);
    }
    jm_str_init(&text);
    if (read_doc(m, &m->analyzer_table, TABLE_MOST, &text))
        analyzer_table(m, jm_str_span(&text));
    jm_str_reset(&text);
    const char *scenario = m->scenario[0] ? m->scenario : jm_mlperf_claimed(m->scenario_dir);
    if (scenario && read_doc(m, &m->user_conf, CONF_MOST, &text))
        user_conf(m, jm_str_span(&text), scenario);
    jm_str_reset(&text);
    if (read_doc(m, &m->power_settings, TABLE_MOST, &text) && text.len) {
        struct jm_span s = jm_span_sub(jm_span_trim(jm_str_span(&text)), 0, 200);
        if ((m->settings = jm_mlperf_copy(m->arena, s)))
            jm_text_plain((char *)(uintptr_t)m->settings, strlen(m->settings), false);
    }
    int rc = text.failed ? JM_ENOMEM : 0;
    jm_str_release(&text);
    return rc;
}
