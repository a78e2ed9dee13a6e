/* SPDX-License-Identifier: Apache-2.0 */
/* CodeCarbon's record of a run as a JSON object, or several (optimum-benchmark keeps one a phase:
 * prefill_codecarbon.json): the columns of emissions.csv as members. Written out as that table, a head and a
 * row an object, so that one reader takes both. */
#include "import/codecarbon_json.h"

#include "import/json_walk.h"

#include "base/banned.h"

static void cell(struct jm_str *s, const char *text, bool first)
{
    jm_str_adds(s, first ? "\"" : ",\"");
    for (; *text; text++) {
        if (*text == '"')
            jm_str_addc(s, '"');
        jm_str_addc(s, *text);
    }
    jm_str_addc(s, '"');
}

static int line(const struct jm_ifile *f, const struct jm_jtoken *object, bool names, struct jm_str *s,
                struct jm_err *err)
{
    struct jm_jtoken key, v;
    struct jm_jiter it;
    char text[512];
    bool first = true;
    int rc;
    jm_jiter_init(&it, f, object);
    while ((rc = jm_jiter_next(&it, &key, &v, err)) > 0) {
        if (v.type == JM_J_OBJECT || v.type == JM_J_ARRAY || !jm_jtext(names ? &key : &v, text, sizeof text))
            text[0] = '\0';
        cell(s, text, first);
        first = false;
    }
    jm_str_addc(s, '\n');
    return rc;
}

static int one(const struct jm_ifile *f, const struct jm_jtoken *object, struct jm_str *s, struct jm_err *err)
{
    struct jm_jtoken v;
    if (!jm_jmember(f, object, "energy_consumed", &v))
        return 0;
    int rc = line(f, object, true, s, err);
    return rc ? rc : line(f, object, false, s, err);
}

int jm_codecarbon_table(const struct jm_ifile *f, struct jm_str *s, struct jm_err *err)
{
    struct jm_jdocs d;
    struct jm_jtoken doc, item;
    struct jm_jiter it;
    int rc;
    jm_jdocs_init(&d, f);
    while ((rc = jm_jdocs_next(&d, &doc, err)) > 0) {
        if (doc.type != JM_J_ARRAY) {
            rc = one(f, &doc, s, err);
        } else {
            jm_jiter_init(&it, f, &doc);
            while ((rc = jm_jiter_next(&it, NULL, &item, err)) > 0)
                if ((rc = one(f, &item, s, err)) < 0)
                    break;
        }
        if (rc < 0)
            break;
    }
    if (rc < 0)
        return rc;
    rc = jm_str_ok(s, "the table of CodeCarbon's records", err);
    return rc ? rc : s->len ? 0 : jm_err_set(err, JM_EPARSE, "%s holds no record of CodeCarbon", f->path);
}
