/* SPDX-License-Identifier: Apache-2.0 */
#include "mlperf/ini.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"

#include "base/banned.h"

enum { ITEMS = 4096, BYTES = 1 << 20 };

void jm_ini_release(struct jm_ini *ini)
{
    for (size_t i = 0; i < ini->n; i++) {
        free(ini->item[i].section);
        free(ini->item[i].key);
        free(ini->item[i].value);
    }
    free(ini->item);
    ini->item = NULL;
    ini->n = ini->cap = 0;
}

static bool same(const char *a, struct jm_span b)
{
    return a && jm_span_ieq(jm_span_of(a), b);
}

bool jm_ini_has(const struct jm_ini *ini, const char *section)
{
    for (size_t i = 0; i < ini->n; i++)
        if (same(ini->item[i].section, jm_span_of(section)))
            return true;
    return false;
}

static struct jm_ini_item *look(struct jm_ini *ini, struct jm_span section, struct jm_span key)
{
    for (size_t i = 0; i < ini->n; i++)
        if (same(ini->item[i].section, section) && same(ini->item[i].key, key))
            return &ini->item[i];
    return NULL;
}

struct jm_ini_item *jm_ini_find(struct jm_ini *ini, const char *section, const char *key)
{
    struct jm_ini_item *it = look(ini, jm_span_of(section), jm_span_of(key));
    if (it)
        it->used = true;
    return it;
}

static char *dup_span(struct jm_span s)
{
    return strndup(s.n ? s.p : "", s.n);
}

static int add(struct jm_ini *ini, struct jm_span section, const struct jm_span *key, struct jm_span value,
               int line, struct jm_err *err)
{
    if (ini->n >= ITEMS)
        return jm_err_set(err, JM_EUSAGE, "%s:%d: more than %d options", ini->file, line, ITEMS);
    if (ini->n == ini->cap) {
        size_t cap = ini->cap ? ini->cap * 2 : 32;
        struct jm_ini_item *p = realloc(ini->item, cap * sizeof *p);
        if (!p)
            return jm_err_set(err, JM_ENOMEM, "no memory for %s", ini->file);
        ini->item = p;
        ini->cap = cap;
    }
    struct jm_ini_item *it = &ini->item[ini->n++];
    *it = (struct jm_ini_item){.line = line};
    it->section = dup_span(section);
    it->key = key ? dup_span(*key) : NULL;
    it->value = dup_span(value);
    if (!it->section || !it->value || (key && !it->key))
        return jm_err_set(err, JM_ENOMEM, "no memory for %s", ini->file);
    return 0;
}

/* An indented line goes on with the value before it. */
static int more(struct jm_ini *ini, struct jm_span text, struct jm_err *err)
{
    struct jm_ini_item *it = &ini->item[ini->n - 1];
    struct jm_str s;
    jm_str_init(&s);
    jm_str_adds(&s, it->value);
    jm_str_addc(&s, '\n');
    jm_str_addspan(&s, text);
    char *p = jm_str_detach(&s);
    if (!p)
        return jm_err_set(err, JM_ENOMEM, "no memory for %s", ini->file);
    free(it->value);
    it->value = p;
    return 0;
}

static int parse_line(struct jm_ini *ini, struct jm_span line, struct jm_span *section, int number,
                      struct jm_err *err)
{
    struct jm_span t = jm_span_trim(line), key, value;
    if (!t.n || t.p[0] == '#' || t.p[0] == ';')
        return 0;
    if (memchr(t.p, '\0', t.n))
        return jm_err_set(err, JM_EUSAGE, "%s:%d: a zero byte; is this a text file?", ini->file, number);
    bool indented = line.p[0] == ' ' || line.p[0] == '\t';
    if (indented && ini->n && ini->item[ini->n - 1].key)
        return more(ini, t, err);
    if (t.p[0] == '[') {
        ptrdiff_t end = jm_span_chr(t, ']');
        if (end < 2)
            return jm_err_set(err, JM_EUSAGE, "%s:%d: a section has the form [name]", ini->file, number);
        *section = jm_span_sub(t, 1, (size_t)end - 1);
        return add(ini, *section, NULL, JM_SPAN(""), number, err);
    }
    size_t at = 0;
    while (at < t.n && t.p[at] != '=' && t.p[at] != ':')
        at++;
    key = jm_span_trim(jm_span_sub(t, 0, at));
    value = jm_span_trim(jm_span_sub(t, at + 1, t.n));
    if (!section->p)
        return jm_err_set(err, JM_EUSAGE, "%s:%d: an option before the first [section]", ini->file, number);
    if (at == t.n || !key.n)
        return jm_err_set(err, JM_EUSAGE, "%s:%d: an option has the form \"name: value\"", ini->file, number);
    if (look(ini, *section, key))
        return jm_err_set(err, JM_EUSAGE, "%s:%d: %.*s is given twice in [%.*s]", ini->file, number,
                          (int)(key.n > 60 ? 60 : key.n), key.p, (int)(section->n > 60 ? 60 : section->n),
                          section->p);
    return add(ini, *section, &key, value, number, err);
}

int jm_ini_parse(struct jm_span text, const char *file, struct jm_ini *out, struct jm_err *err)
{
    struct jm_span rest = text, line, section = {0};
    int number = 0, rc = 0;
    *out = (struct jm_ini){.file = file};
    if (text.n > BYTES)
        return jm_err_set(err, JM_EUSAGE, "%s is larger than a configuration can be (%d bytes)", file, BYTES);
    if (jm_span_starts(rest, JM_SPAN("\xef\xbb\xbf")))
        rest = jm_span_sub(rest, 3, rest.n); /* a byte order mark */
    while (!rc && jm_span_line(&rest, &line))
        rc = parse_line(out, line, &section, ++number, err);
    if (rc)
        jm_ini_release(out);
    return rc;
}
