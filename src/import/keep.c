/* SPDX-License-Identifier: Apache-2.0 */
#include "import/keep.h"

#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/file.h"

#include "base/banned.h"

#define WHOLE ((int64_t)16 << 20)

int jm_keep_begin(struct jm_run_writer **w, const char *source, const char *out_path,
                  const struct jm_import_opts *o, int64_t created_ns, struct jm_err *err)
{
    struct jm_run_create c = {.label = o->label,
                              .kind = "imported",
                              .source = source,
                              .overwrite = o->overwrite,
                              .seed = 1,
                              .created_real = created_ns};
    return jm_run_create(out_path, &c, w, err);
}

int jm_keep_end(struct jm_run_writer *w, const char *out_path, int rc, struct jm_err *err)
{
    if (!rc)
        return jm_run_seal(w, err);
    jm_run_abandon(w);
    remove(out_path);
    return rc;
}

int jm_keep_env(struct jm_run_writer *w, struct jm_err *err, const char *key, const char *fmt, ...)
{
    char text[600];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    return text[0] ? jm_run_put_env(w, key, text, err) : 0;
}

int jm_keep_file(struct jm_run_writer *w, struct jm_err *err, const char *path, const char *as)
{
    struct stat st;
    struct jm_str text;
    char hash[JM_SHA256_HEX];
    if (stat(path, &st) || !S_ISREG(st.st_mode) || st.st_size == 0)
        return 0;
    if (st.st_size > WHOLE) {
        if (jm_file_sha256(path, hash, NULL))
            return 0;
        return jm_run_put_raw_hash(w, as, path, hash, st.st_size, err);
    }
    jm_str_init(&text);
    int rc = jm_file_read(path, (size_t)WHOLE, &text, NULL);
    if (rc == JM_ENOMEM)
        rc = jm_err_set(err, rc, "Out of memory while keeping %s.", path);
    else
        rc = rc ? 0 : jm_run_put_raw(w, as, path, jm_str_span(&text), err);
    jm_str_release(&text);
    return rc;
}
