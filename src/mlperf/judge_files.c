/* SPDX-License-Identifier: Apache-2.0 */
/* Files, the sources that ran, hashes. */
#include "mlperf/judge.h"

#include <stdio.h>
#include <string.h>

#include "base/banned.h"

static void present(struct jm_judge *j)
{
    struct jm_str list, bad;
    size_t n = 0, n_bad = 0;
    char one[600];
    jm_str_init(&list);
    jm_str_init(&bad);
    for (int i = 0; i < JM_MLPERF_FILES; i++) {
        const struct jm_mlperf_file *f = &j->s->file[i];
        if (!f->present && f->rel)
            jm_judge_list(&list, &n, f->rel);
        if (!f->present)
            continue;
        const char *why = f->error ? f->error : f->bytes == 0 ? "is empty" : NULL;
        if (why) {
            snprintf(one, sizeof one, "%s (%s)", f->rel, why);
            jm_judge_list(&bad, &n_bad, one);
        }
    }
    const struct jm_mlperf_side *side[2] = {&j->s->client, &j->s->server};
    for (int i = 0; i < 2; i++) {
        const char *why = side[i]->broken    ? side[i]->broken
                          : side[i]->missing ? side[i]->missing
                          : side[i]->odd     ? side[i]->odd
                                             : NULL;
        if (!side[i]->present || !why)
            continue;
        snprintf(one, sizeof one, "power/%s.json (%s%s)", i ? "server" : "client",
                 why == side[i]->missing ? "without " : "", why);
        jm_judge_list(&bad, &n_bad, one);
    }
    for (int m = 0; m < JM_MLPERF_MODES; m++)
        if (j->s->loadgen[m].present && j->s->loadgen[m].broken) {
            snprintf(one, sizeof one, "%s/mlperf_log_detail.txt (%lld broken lines)", m ? "run_1" : "ranging",
                     (long long)j->s->loadgen[m].broken);
            jm_judge_list(&bad, &n_bad, one);
        }
    jm_judge_list_end(&list, n);
    jm_judge_list_end(&bad, n_bad);
    if (n)
        jm_judge_breach(j, "files.present", NULL, "%zu of %d files of the workflow are missing: %s", n,
                        JM_MLPERF_FILES, list.buf);
    else
        jm_judge_pass(j, "files.present", "All %d files of the workflow are there", JM_MLPERF_FILES);
    if (n_bad)
        jm_judge_breach(j, "files.readable", NULL, "Not whole: %s", bad.buf);
    else
        jm_judge_pass(j, "files.readable", "Every file could be read whole (%.1f MB)",
                      (double)j->s->bytes / 1e6);
    jm_str_release(&list);
    jm_str_release(&bad);
}

static void extra(struct jm_judge *j)
{
    struct jm_str list;
    size_t n = 0;
    jm_str_init(&list);
    for (size_t i = 0; i < j->s->n_others; i++)
        if (!strstr(j->s->others[i], "mlperf_log_accuracy.json") &&
            !strstr(j->s->others[i], "mlperf_log_trace.json") && !strstr(j->s->others[i], "results.json"))
            jm_judge_list(&list, &n, j->s->others[i]);
    jm_judge_list_end(&list, n);
    if (n)
        jm_judge_breach(j, "files.extra", NULL, "To be removed before a submission: %s", list.buf);
    else
        jm_judge_pass(j, "files.extra", "No other file is there");
    jm_str_release(&list);
}

static void sources(struct jm_judge *j, const char *id, const struct jm_mlperf_side *side, const char *who)
{
    if (!side->present || side->broken) {
        jm_judge_absent(j, id, "%s.json does not say what ran", who);
        return;
    }
    char set = jm_mlperf_sources_set(side->sources, side->n_sources);
    if (set && (strchr(j->rev->sources, set) || (j->rev->sources_too && strchr(j->rev->sources_too, set))))
        jm_judge_pass(j, id, "The %s is release %c of the workflow, as %s asks", who, set,
                      *j->s->round.name ? j->s->round.name : "its round");
    else if (set)
        jm_judge_breach(j, id, NULL,
                        "The %s is release %c of the workflow, which the checker of %s does not accept (%s)",
                        who, set, *j->s->round.name ? j->s->round.name : "the round", j->rev->sources);
    else if (!side->n_sources)
        jm_judge_breach(j, id, NULL, "%s.json lists no sources", who);
    else if (side->n_sources == 1 && strcmp(side->sources[0].path, "joulemark") == 0)
        /* it says itself what it is: no changed copy of the workflow, but no release of it either */
        jm_judge_say(
            j, id, JM_MLPERF_WARN, NULL,
            "The %s was joulemark, not a release of the workflow: the official checker does not accept it",
            who);
    else
        jm_judge_breach(j, id, NULL, "The %zu sources of the %s are of no release of the workflow",
                        side->n_sources, who);
}

static const char *recorded(const struct jm_mlperf_side *side, const char *rel, int *times)
{
    const char *sha1 = NULL;
    for (size_t i = 0; i < side->n_results; i++)
        if (strcmp(side->results[i].path, rel) == 0) {
            sha1 = side->results[i].sha1;
            ++*times;
        }
    return sha1;
}

static void results(struct jm_judge *j)
{
    const struct jm_mlperf_side *c = &j->s->client, *s = &j->s->server;
    if (!c->present || !s->present || c->broken || s->broken) {
        static const char *const ids[] = {"results.checksums", "results.line_ends", "results.agree",
                                          "results.listed", "results.others"};
        for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
            jm_judge_absent(j, ids[i], "client.json and server.json are not both there");
        return;
    }
    struct jm_str wrong, ends, differ, unlisted;
    size_t n_wrong = 0, n_ends = 0, n_differ = 0, n_unlisted = 0, n_ok = 0, hashed = 0;
    char one[200];
    jm_str_init(&wrong);
    jm_str_init(&ends);
    jm_str_init(&differ);
    jm_str_init(&unlisted);
    for (int i = 0; i < JM_MLPERF_FILES; i++) {
        const struct jm_mlperf_file *f = &j->s->file[i];
        if (i == JM_MLPERF_SERVER_JSON || (i == JM_MLPERF_CLIENT_JSON && !j->rev->client_json) || !f->rel)
            continue;
        int times_c = 0, times_s = 0;
        const char *hc = recorded(c, f->rel, &times_c), *hs = recorded(s, f->rel, &times_s);
        const char *h = hs ? hs : hc;
        hashed += *f->sha1 != 0;
        if (hc && hs && strcmp(hc, hs) != 0)
            jm_judge_list(&differ, &n_differ, f->rel);
        if (!h) {
            jm_judge_list(&unlisted, &n_unlisted, f->rel);
        } else if (times_c > 1 || times_s > 1) {
            snprintf(one, sizeof one, "%s (%d times)", f->rel, times_c > times_s ? times_c : times_s);
            jm_judge_list(&unlisted, &n_unlisted, one);
        }
        if (!h || !f->present || !*f->sha1)
            continue;
        if (strcmp(h, f->sha1) == 0) {
            n_ok++;
        } else if (strcmp(h, f->sha1_crlf) == 0 || strcmp(h, f->sha1_lf) == 0) {
            snprintf(one, sizeof one, "%s (hashed with %s)", f->rel,
                     strcmp(h, f->sha1_crlf) == 0 ? "CRLF" : "LF");
            jm_judge_list(&ends, &n_ends, one);
        } else {
            jm_judge_list(&wrong, &n_wrong, f->rel);
        }
    }
    jm_judge_list_end(&wrong, n_wrong);
    jm_judge_list_end(&ends, n_ends);
    jm_judge_list_end(&differ, n_differ);
    jm_judge_list_end(&unlisted, n_unlisted);
    if (n_wrong)
        jm_judge_breach(j, "results.checksums", NULL, "Changed since they were hashed: %s", wrong.buf);
    else if (!hashed)
        jm_judge_absent(j, "results.checksums", "No file was hashed here");
    else
        jm_judge_pass(j, "results.checksums", "%zu files have the SHA-1 that was recorded%s", n_ok,
                      n_ends ? ", others but for their line ends" : "");
    if (n_ends)
        jm_judge_breach(j, "results.line_ends", NULL, "Equal but for their line ends: %s", ends.buf);
    else
        jm_judge_pass(j, "results.line_ends", "No file had its line ends changed");
    if (n_differ)
        jm_judge_breach(j, "results.agree", NULL, "Client and server recorded different hashes: %s",
                        differ.buf);
    else
        jm_judge_pass(j, "results.agree", "No file has two hashes");
    if (n_unlisted)
        jm_judge_breach(j, "results.listed", NULL, "Not hashed, or more than once: %s", unlisted.buf);
    else
        jm_judge_pass(j, "results.listed", "Every required file was hashed once");
    jm_str_release(&wrong);
    jm_str_release(&ends);
    jm_str_release(&differ);
    jm_str_release(&unlisted);
}

/* Hashed files beyond the required ones that are not there any more. */
static void gone(struct jm_judge *j)
{
    const struct jm_mlperf_side *side[2] = {&j->s->client, &j->s->server};
    struct jm_str list;
    size_t n = 0;
    if (side[0]->broken || side[1]->broken || !side[0]->present || !side[1]->present)
        return;
    jm_str_init(&list);
    for (int k = 0; k < 2; k++)
        for (size_t i = 0; i < side[k]->n_results; i++) {
            const char *path = side[k]->results[i].path;
            bool there = false;
            for (int f = 0; f < JM_MLPERF_FILES; f++)
                there |= j->s->file[f].rel && strcmp(path, j->s->file[f].rel) == 0;
            for (size_t f = 0; f < j->s->n_others; f++)
                there |= strcmp(path, j->s->others[f]) == 0;
            if (!there)
                jm_judge_list(&list, &n, path);
        }
    jm_judge_list_end(&list, n);
    if (n)
        jm_judge_breach(j, "results.others", NULL, "Hashed, but not there: %s", list.buf);
    else
        jm_judge_pass(j, "results.others", "Every file that was hashed is there");
    jm_str_release(&list);
}

void jm_judge_files(struct jm_judge *j)
{
    present(j);
    extra(j);
    sources(j, "sources.client", &j->s->client, "client");
    sources(j, "sources.server", &j->s->server, "server");
    results(j);
    gone(j);
}
