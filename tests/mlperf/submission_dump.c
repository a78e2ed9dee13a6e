/* SPDX-License-Identifier: Apache-2.0 */
/* What the rules over a submission say of the sessions at the given paths, one JSON line each; with --audit A
 * B: of two runs of one result; with --nameplate FILE: of a declaration. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "mlperf/submission.h"

static struct jm_err err;

static void must(int rc)
{
    if (rc) {
        fprintf(stderr, "%s\n", err.text);
        exit(1);
    }
}

static void outcomes(struct jm_jsonw *w, const struct jm_mlperf_checked *c)
{
    jm_jsonw_key(w, "outcomes");
    jm_jsonw_object(w);
    for (size_t i = 0; i < c->n_outcomes; i++) {
        jm_jsonw_key(w, c->outcomes[i].rule->id);
        jm_jsonw_array(w);
        jm_jsonw_str(w, jm_mlperf_verdict_name(c->outcomes[i].verdict));
        jm_jsonw_str(w, c->outcomes[i].text);
        jm_jsonw_str(w, c->outcomes[i].evidence);
        jm_jsonw_end(w);
    }
    jm_jsonw_end(w);
    jm_jsonw_kstr(w, "verdict", jm_mlperf_verdict_name(c->verdict));
}

static void plate(struct jm_jsonw *w, const struct jm_mlperf_nameplate *n)
{
    jm_jsonw_key(w, "nameplate");
    jm_jsonw_object(w);
    jm_jsonw_kbool(w, "present", n->present);
    jm_jsonw_knum(w, "watts", n->watts);
    jm_jsonw_knum(w, "published", n->published_watts);
    jm_jsonw_ki64(w, "components", n->components);
    jm_jsonw_ki64(w, "redundant", n->redundant);
    jm_jsonw_kstr(w, "error", n->error);
    jm_jsonw_end(w);
}

static struct jm_mlperf_session *session(const char *path, struct jm_mlperf_result *r)
{
    struct jm_mlperf_session *s;
    must(jm_mlperf_session_read(path, JM_MLPERF_READ_ALL, &s, &err));
    must(jm_mlperf_compute(s, r, &err));
    return s;
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        struct jm_mlperf_checked c = {0};
        struct jm_mlperf_result *r = calloc(2, sizeof *r);
        struct jm_str out;
        struct jm_jsonw w;
        jm_str_init(&out);
        jm_jsonw_init(&w, &out, 0);
        jm_jsonw_object(&w);
        if (strcmp(argv[i], "--nameplate") == 0) {
            struct jm_str text;
            struct jm_mlperf_nameplate n;
            char why[256];
            jm_str_init(&text);
            must(jm_file_read(argv[++i], 1 << 20, &text, &err));
            jm_mlperf_nameplate_read(jm_str_span(&text), &n, why);
            n.error = why[0] ? why : NULL;
            plate(&w, &n);
            jm_str_release(&text);
        } else if (strcmp(argv[i], "--audit") == 0) {
            struct jm_mlperf_session *a = session(argv[i + 1], &r[0]), *b = session(argv[i + 2], &r[1]);
            must(jm_mlperf_submission_audit(a, &r[0], b, &r[1], &c, &err));
            outcomes(&w, &c);
            jm_mlperf_session_free(a);
            jm_mlperf_session_free(b);
            i += 2;
        } else {
            struct jm_mlperf_session *s = session(argv[i], &r[0]);
            struct jm_mlperf_submission *m;
            must(jm_mlperf_submission_read(argv[i], s->round.name, &m, &err));
            must(jm_mlperf_submission_check(m, s, &r[0], NULL, &c, &err));
            jm_jsonw_kstr(&w, "round", s->round.name);
            jm_jsonw_kbool(&w, "tree", m->tree);
            jm_jsonw_kstr(&w, "system", m->system);
            jm_jsonw_kstr(&w, "system_name", m->system_name);
            jm_jsonw_kstr(&w, "availability", m->availability);
            plate(&w, &m->nameplate);
            outcomes(&w, &c);
            jm_mlperf_submission_free(m);
            jm_mlperf_session_free(s);
        }
        jm_jsonw_end(&w);
        puts(out.buf);
        jm_str_release(&out);
        jm_mlperf_checked_release(&c);
        free(r);
    }
    return 0;
}
