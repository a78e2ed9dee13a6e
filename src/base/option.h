/* SPDX-License-Identifier: Apache-2.0 */
/* One row describes an option for the command line, the configuration file, --help and the man page. */
#ifndef JM_BASE_OPTION_H
#define JM_BASE_OPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/span.h"
#include "base/str.h"

enum jm_opt_type {
    JM_OPT_FLAG,     /* bool */
    JM_OPT_STR,      /* const char *, borrowed from argv or the configuration */
    JM_OPT_INT,      /* int64_t within [min, max] */
    JM_OPT_NUM,      /* double within [min, max] */
    JM_OPT_DURATION, /* int64_t ns: "30s", "100 ms", "1h30m"; a bare number is refused */
    JM_OPT_RATE,     /* double Hz: "10 Hz", "10/s" */
    JM_OPT_POWER,    /* double W: "700 W", "5.6 kW" */
    JM_OPT_ENUM,     /* int: index into choices */
    JM_OPT_LIST,     /* struct jm_opt_list: repeatable string */
    JM_OPT_PARSE,    /* what the row's own parser makes of the text */
    JM_OPT_MAPS      /* in a file only: a list of mappings, each with the options of another table. A row of
                        the same name before it takes the key where it is no list or mapping */
};

struct jm_opt_list {
    const char *item[64];
    size_t n;
};

struct jm_opt;
/* Of JM_OPT_MAPS: the options of each mapping, and where one is put. line: where it begins in the file. */
struct jm_opt_maps {
    const struct jm_opt *table;
    int (*add)(void *base, size_t line, void **item, struct jm_err *err);
    bool single; /* the value is one mapping, not a list of them */
    /* Optional: the value of this key, wherever in the mapping it stands, chooses a second table and the
     * struct that it fills. It must be there. */
    const char *selector;
    int (*select)(void *item, const char *value, const struct jm_opt **table, void **base,
                  struct jm_err *err);
    /* Optional: after the last key; an error is said at the beginning of the mapping. */
    int (*done)(void *item, struct jm_err *err);
};

struct jm_opt {
    const char *name; /* "rate": --rate, key rate: */
    char shortname;   /* 'o' or 0 */
    enum jm_opt_type type;
    size_t offset;       /* into the options struct of the command */
    double min, max;     /* of INT, NUM, DURATION (ns), RATE, POWER; both 0: no bound */
    const char *arg;     /* name of the argument in --help, "FILE" */
    const char *choices; /* ENUM: "chat|completions" */
    const char *help;    /* one sentence; NULL: understood, but not listed */
    const char *deflt;   /* text of the default for --help, NULL where there is none */
    const char *group;   /* heading above this row in --help; NULL: none */
    int (*parse)(void *at, const char *text, struct jm_err *err); /* PARSE; at: base + offset */
    const struct jm_opt_maps *maps;                               /* MAPS */
};

/* A table ends with a row whose name is NULL. */

/* Sets one option in *base from text. err names the option, what was given, what is allowed. */
int jm_opt_set(const struct jm_opt *row, void *base, const char *text, struct jm_err *err);
const struct jm_opt *jm_opt_find(const struct jm_opt *table, struct jm_span name);
/* Name of the option that a mistyped name was probably meant to be, or NULL. */
const char *jm_opt_nearest(const struct jm_opt *table, struct jm_span name);
/* What the argument is called in --help; NULL for a flag. */
const char *jm_opt_argname(const struct jm_opt *row);

/* Parses argv[1..argc): options anywhere before "--", everything else is an operand. Accepts --name=value,
 * --name value, --no-flag, -o value, -ovalue, -qv. operands has room for argc. rest_at: index in argv of the
 * first word after
 * "--", or argc. An unknown option names the nearest known one. --help is JM_OPT_HELP. */
#define JM_OPT_HELP 1
int jm_opt_parse(const struct jm_opt *table, void *base, int argc, char **argv, const char **operands,
                 size_t *n_operands, int *rest_at, struct jm_err *err);
/* The options part of --help at width columns (80). */
void jm_opt_help(const struct jm_opt *table, int width, struct jm_str *out);

/* The strict quantity parser: number, optional blanks, unit. Units of the wanted dimension only. */
int jm_quantity_duration(struct jm_span s, int64_t *ns,
                         struct jm_err *err); /* ns us ms s min m h d; sums "1h30m" */
int jm_quantity_rate(struct jm_span s, double *hz, struct jm_err *err);  /* Hz kHz mHz /s /min */
int jm_quantity_power(struct jm_span s, double *w, struct jm_err *err);  /* uW mW W kW MW */
int jm_quantity_energy(struct jm_span s, double *j, struct jm_err *err); /* uJ mJ J kJ MJ Wh kWh MWh */

/* YAML (libyaml events through the same table): top-level keys are option names; unknown keys and wrong units
 * are refused with line and column. Strings set from YAML are kept in *arena (free it after use).
 * JM_EUNSUPPORTED when built without libyaml. */
struct jm_opt_arena;
int jm_opt_yaml(const struct jm_opt *table, void *base, struct jm_span text, const char *file,
                struct jm_opt_arena **arena, struct jm_err *err);
void jm_opt_arena_free(struct jm_opt_arena *arena);
/* Where in the file stands what went to `at`: an option's field, an item of a list, what `add` of a mapping
 * gave (while no field at the same address was set); NULL: the whole. JM_EABSENT: it does not stand there. */
int jm_opt_place(const struct jm_opt_arena *arena, const void *at, size_t *line, size_t *column);

#endif
