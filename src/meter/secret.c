/* SPDX-License-Identifier: Apache-2.0 */
/* Secrets of configured instruments: read when needed, from where others cannot. */
#include "meter/instrument.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/str.h"
#include "base/banned.h"

#define SHORTEST 4 /* a shorter one is no secret, and stands in any text */

bool jm_secret_given(const struct jm_secret *s)
{
    return s->text || s->file || s->env;
}

static int from_file(const char *path, const char *what, char out[JM_SECRET_MAX], struct jm_err *err)
{
    struct stat st;
    struct jm_str text;
    struct jm_err why = {0};
    if (stat(path, &st) == 0 && S_ISREG(st.st_mode) && (st.st_mode & (S_IROTH | S_IWOTH)))
        return jm_err_set(err, JM_EDENIED, "%s: the file %.120s can be read by everybody; chmod 600 mends it",
                          what, path);
    jm_str_init(&text);
    int rc = jm_file_read(path, 64 << 10, &text, &why);
    if (rc) {
        jm_str_release(&text);
        return jm_err_set(err, rc, "%s: %s", what, why.text);
    }
    size_t n = strcspn(text.buf, "\r\n");
    if (!n || n >= JM_SECRET_MAX)
        rc = jm_err_set(err, JM_EUSAGE, "%s: the first line of %.120s %s", what, path,
                        n ? "is too long for a secret" : "is empty");
    else {
        memcpy(out, text.buf, n);
        out[n] = '\0';
        rc = (int)n;
    }
    explicit_bzero(text.buf, text.len);
    jm_str_release(&text);
    return rc;
}

int jm_secret_get(const struct jm_secret *s, const char *what, char out[JM_SECRET_MAX], struct jm_err *err)
{
    out[0] = '\0';
    if (!!s->text + !!s->file + !!s->env > 1)
        return jm_err_set(err, JM_EUSAGE, "%s is given in more than one way", what);
    if (s->file)
        return from_file(s->file, what, out, err);
    const char *v = s->env ? getenv(s->env) : s->text;
    if (!s->env && !v)
        return 0;
    if (!v || !*v)
        return jm_err_set(err, JM_EUSAGE, "%s: %s%.60s is %s", what, s->env ? "the variable " : "it ",
                          s->env ? s->env : "", v ? "empty" : "not set");
    size_t n = strlen(v);
    if (n >= JM_SECRET_MAX)
        return jm_err_set(err, JM_EUSAGE, "%s is longer than %d bytes", what, JM_SECRET_MAX - 1);
    memcpy(out, v, n + 1);
    return (int)n;
}

int jm_instrument_password(const struct jm_instrument *in, char out[JM_SECRET_MAX], struct jm_err *err)
{
    return jm_secret_get(&in->password, "the password", out, err);
}

static void redact_one(struct jm_redactor *r, const struct jm_secret *s)
{
    struct jm_err why = {0};
    int n = r->n < sizeof r->len / sizeof *r->len && jm_secret_given(s)
                ? jm_secret_get(s, "a secret", r->secret[r->n], &why)
                : 0;
    if (n >= SHORTEST)
        r->len[r->n++] = (size_t)n;
}

void jm_redactor_init(struct jm_redactor *r, const struct jm_instrument *in)
{
    *r = (struct jm_redactor){.n = 0};
    redact_one(r, &in->password);
    for (const struct jm_opt *o = in->ops->opts; o && o->name; o++)
        if (o->type == JM_OPT_STR && o->arg && strcmp(o->arg, "SECRET") == 0)
            redact_one(r, (const struct jm_secret *)((const char *)in->conf + o->offset));
}

void jm_redactor_apply(const struct jm_redactor *r, char *text, size_t n)
{
    for (size_t i = 0; i < r->n; i++)
        for (char *p = text, *hit; (size_t)(p - text) + r->len[i] <= n &&
                                   (hit = memmem(p, n - (size_t)(p - text), r->secret[i], r->len[i]));
             p = hit + r->len[i])
            memset(hit, '*', r->len[i]);
}

void jm_redactor_wipe(struct jm_redactor *r)
{
    explicit_bzero(r, sizeof *r);
}
