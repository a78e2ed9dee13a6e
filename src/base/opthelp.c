/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/option.h"

#include "base/banned.h"

enum { HELP_AT = 26 };

const char *jm_opt_argname(const struct jm_opt *row)
{
    if (row->arg || row->type == JM_OPT_FLAG)
        return row->arg;
    switch (row->type) {
    case JM_OPT_INT: return "N";
    case JM_OPT_NUM: return "X";
    case JM_OPT_DURATION: return "TIME";
    case JM_OPT_RATE: return "RATE";
    case JM_OPT_POWER: return "POWER";
    case JM_OPT_ENUM: return row->choices;
    default: return "TEXT";
    }
}

void jm_opt_help(const struct jm_opt *table, int width, struct jm_str *out)
{
    struct jm_str text;
    jm_str_init(&text);
    for (; table->name; table++) {
        const char *arg = jm_opt_argname(table);
        if (!table->help)
            continue; /* hidden */
        if (table->group)
            jm_str_addf(out, "%s%s:\n", out->len ? "\n" : "", table->group);
        if (table->shortname)
            jm_str_addf(out, "  -%c, --%s", table->shortname, table->name);
        else
            jm_str_addf(out, "      --%s", table->name);
        if (arg)
            jm_str_addf(out, " %s", arg);
        jm_str_reset(&text);
        jm_str_adds(&text, table->help);
        if (table->deflt)
            jm_str_addf(&text, " [%s]", table->deflt);
        jm_str_addc(out, ' '); /* at least one blank between name and text */
        jm_str_wrap(out, jm_str_span(&text), HELP_AT, (size_t)width);
        if (text.failed)
            out->failed = true;
    }
    jm_str_release(&text);
}
