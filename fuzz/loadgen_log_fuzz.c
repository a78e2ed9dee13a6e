/* SPDX-License-Identifier: Apache-2.0 */
/* A line that is read in one pass must say what the JSON library reads in it. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/json.h"
#include "wire/loadgen_log.h"

static int ignore(void *self, const struct jm_loadgen_entry *e)
{
    (void)self;
    return e->text.n > 1000000;
}

static bool flag(const struct jm_json *doc, const char *path)
{
    bool v = false;
    jm_json_bool(jm_json_path(doc, path), &v);
    return v;
}

static void same(struct jm_span line, const struct jm_loadgen_entry *e)
{
    ptrdiff_t brace = jm_span_chr(line, '{');
    struct jm_json *doc;
    struct jm_span s;
    struct jm_str text;
    if (brace < 0 || jm_json_parse(jm_span_sub(line, (size_t)brace, line.n), &doc, NULL))
        return;
    jm_str_init(&text);
    jm_loadgen_text(e, &text);
    if (!jm_json_str(jm_json_get(doc, "key"), &s) || !jm_span_eq(s, e->key))
        abort();
    if (jm_json_str(jm_json_get(doc, "value"), &s) && (!e->is_string || !jm_span_eq(s, jm_str_span(&text))))
        abort();
    if (flag(doc, "metadata.is_error") != e->is_error || flag(doc, "metadata.is_warning") != e->is_warning)
        abort();
    jm_str_release(&text);
    jm_json_free(doc);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    int64_t broken;
    struct jm_span v, text = {(const char *)p, n}, rest = text, line;
    struct jm_loadgen_window w;
    struct jm_str scratch;
    jm_loadgen_detail(text, ignore, NULL, &broken, NULL);
    jm_loadgen_summary(text, "Result is", &v);
    jm_loadgen_window_init(&w);
    jm_str_init(&scratch);
    while (jm_span_line(&rest, &line)) {
        struct jm_loadgen_entry e;
        jm_loadgen_window_line(&w, line);
        if (jm_loadgen_line(line, &scratch, &e) == 0 && e.json)
            same(line, &e);
    }
    jm_str_release(&scratch);
    return 0;
}
