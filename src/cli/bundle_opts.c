/* SPDX-License-Identifier: Apache-2.0 */
/* The options that the figures of a bundle were made with, written down and read again. */
#include <stdio.h>
#include <string.h>

#include "cli/bundle.h"
#include "wire/tar.h"

#include "base/banned.h"

static const struct jm_opt table[] = {
    {"fact", 0, JM_OPT_LIST, offsetof(struct jm_figure_opts, facts), .help = ""},
    JM_OPTS_CALIBRATION(jm_figure_opts, present),
    JM_OPTS_PRESENT(jm_figure_opts, present),
    JM_OPTS_SLO(jm_figure_opts, present),
    JM_OPTS_FACTORS(jm_figure_opts, present),
    {NULL}};

const char *jm_bundle_basename(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static void list(struct jm_jsonw *w, const char *key, const struct jm_opt_list *l, bool files)
{
    if (!l->n)
        return;
    jm_jsonw_key(w, key);
    jm_jsonw_array(w);
    for (size_t i = 0; i < l->n; i++) {
        char name[160];
        snprintf(name, sizeof name, "given/%s", jm_bundle_basename(l->item[i]));
        jm_jsonw_str(w, files ? name : l->item[i]);
    }
    jm_jsonw_end(w);
}

static void number(struct jm_jsonw *w, const char *key, double v, const char *unit)
{
    char num[32], text[64];
    if (!(v > 0))
        return;
    jm_json_fmt_double(num, v);
    snprintf(text, sizeof text, "%s%s", num, unit);
    jm_jsonw_kstr(w, key, text);
}

static void more(struct jm_str *s, const char *key, const char *v)
{
    if (v[0])
        jm_str_addf(s, ",%s=%s", key, v);
}

void jm_figure_opts_put(struct jm_jsonw *w, const struct jm_figure_opts *o)
{
    const struct jm_present *p = &o->present;
    char num[32];
    struct jm_str s;
    jm_str_init(&s);
    if (p->profile >= 0)
        jm_jsonw_kstr(w, "profile", jm_profile_name(p->profile));
    number(w, "level", p->level, "");
    if (p->pue.value > 0) {
        jm_json_fmt_double(num, p->pue.value);
        jm_str_adds(&s, num);
        more(&s, "period", p->pue.period);
        more(&s, "category", p->pue.category);
        more(&s, "source", p->pue.source);
        jm_jsonw_kstr(w, "pue", s.buf);
    }
    number(w, "idle-power", p->idle_w, " W");
    number(w, "slo-ttft", (double)p->slo_ttft, " ns");
    number(w, "slo-tpot", (double)p->slo_tpot, " ns");
    number(w, "slo-e2e", (double)p->slo_e2e, " ns");
    if (p->wue.value > 0) {
        jm_str_reset(&s);
        jm_wue_text(&p->wue, &s);
        jm_jsonw_kstr(w, "wue", s.buf);
    }
    if (p->embodied.grams > 0) {
        jm_str_reset(&s);
        jm_json_fmt_double(num, p->embodied.grams);
        jm_str_addf(&s, "%sg,", num);
        jm_json_fmt_double(num, p->embodied.life_s);
        jm_str_addf(&s, "life=%ss,", num);
        jm_json_fmt_double(num, p->embodied.share);
        jm_str_addf(&s, "share=%s", num);
        more(&s, "source", p->embodied.source);
        jm_jsonw_kstr(w, "embodied", s.buf);
    }
    list(w, "carbon", &p->carbon, false);
    list(w, "price", &p->price, false);
    list(w, "factors", &p->factors, true);
    list(w, "passport", &p->passports, true);
    if (p->calibration) {
        struct jm_opt_list one = {.item = {p->calibration}, .n = 1};
        list(w, "calibration", &one, true);
    }
    if (p->allow_machine)
        jm_jsonw_kstr(w, "allow-machine", "yes");
    if (p->allow_driver)
        jm_jsonw_kstr(w, "allow-driver", "yes");
    list(w, "fact", &o->facts, false);
    jm_str_release(&s);
}

static bool is_file(const char *key)
{
    return strcmp(key, "factors") == 0 || strcmp(key, "passport") == 0 || strcmp(key, "calibration") == 0;
}

/* The text stays where it is: arena has room for all of them from the beginning. */
static int one(const char *key, const struct jm_json *v, const char *dir, struct jm_figure_opts *out,
               struct jm_str *arena, struct jm_err *err)
{
    const struct jm_opt *row = jm_opt_find(table, jm_span_of(key));
    struct jm_span text;
    if (!row || !jm_json_str(v, &text) || strcmp(key, "zoneinfo") == 0 || memchr(text.p, 0, text.n))
        return jm_err_set(err, JM_EPARSE, "the option \"%.40s\" is none that figures are made with", key);
    if (is_file(key) && (!jm_span_starts(text, JM_SPAN("given/")) || !jm_tar_name_ok(text)))
        return jm_err_set(err, JM_EPARSE, "the option %s names a file that is not in the bundle", key);
    size_t at = arena->len;
    if (is_file(key)) {
        jm_str_adds(arena, dir);
        jm_str_addc(arena, '/');
    }
    jm_str_addspan(arena, text);
    jm_str_addc(arena, '\0');
    int rc = jm_str_ok(arena, "the options of the bundle", err);
    return rc ? rc : jm_opt_set(row, out, arena->buf + at, err);
}

int jm_figure_opts_get(const struct jm_json *o, const char *dir, struct jm_figure_opts *out,
                       struct jm_str *arena, struct jm_err *err)
{
    void *it = NULL;
    const char *key;
    const struct jm_json *v;
    struct jm_span text;
    size_t room = 0;
    int rc = 0;
    *out = (struct jm_figure_opts){0};
    jm_present_init(&out->present);
    if (!jm_json_is_object(o))
        return jm_err_set(err, JM_EPARSE, "the options are no object");
    while (jm_json_next(o, &it, &key, &v)) {
        room += jm_json_str(v, &text) ? text.n + strlen(dir) + 2 : 0;
        for (size_t i = 0; i < jm_json_len(v); i++)
            room += jm_json_str(jm_json_at(v, i), &text) ? text.n + strlen(dir) + 2 : 0;
    }
    jm_str_pad(arena, arena->len + room + 1, '\0');
    if ((rc = jm_str_ok(arena, "the options of the bundle", err)))
        return rc;
    arena->len = 0;
    it = NULL;
    while (!rc && jm_json_next(o, &it, &key, &v)) {
        if (!jm_json_is_array(v)) {
            rc = one(key, v, dir, out, arena, err);
            continue;
        }
        for (size_t i = 0; !rc && i < jm_json_len(v); i++)
            rc = one(key, jm_json_at(v, i), dir, out, arena, err);
    }
    return rc;
}
