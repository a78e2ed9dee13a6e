/* SPDX-License-Identifier: Apache-2.0 */
#include "show/formats.h"

#include <string.h>

#include "base/banned.h"

const struct jm_show_format jm_show_formats[] = {
    {"text", "for the terminal, 80 columns", jm_show_text},
    {"json", "the contract joulemark.show/1", jm_show_json},
    {"csv", "one row a result", jm_show_csv},
    {"markdown", "for issues and wikis", jm_show_markdown},
    {"html", "one self-contained page with charts", jm_show_html},
    {NULL, NULL, NULL},
};

const struct jm_show_format *jm_show_find(const char *name)
{
    for (const struct jm_show_format *f = jm_show_formats; f->name; f++)
        if (strcmp(f->name, name) == 0)
            return f;
    return NULL;
}
