/* SPDX-License-Identifier: Apache-2.0 */
/* The command line: one const table of commands (main.c), one cmd_*.c a command. A command is a row: from it
 * come parsing, --help, the man page and docs/commands.md.
 *
 * The options struct of a command begins with a struct jm_common, so that the rows of JM_OPTS_COMMON and
 * JM_OPTS_METER fit every table. */
#ifndef JM_CLI_CLI_H
#define JM_CLI_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/err.h"
#include "base/log.h"
#include "base/option.h"
#include "base/str.h"
#include "cli/term.h"
#include "meter/instrument.h"

/* Exit statuses, DESIGN: results are told from failures by these alone. */
enum jm_exit {
    JM_EXIT_OK = 0,
    JM_EXIT_CHECK = 1,   /* a check or contract failed */
    JM_EXIT_USAGE = 2,   /* the command line or configuration is wrong */
    JM_EXIT_INVALID = 3, /* the measurement is invalid */
    JM_EXIT_SYSTEM = 4,  /* the system failed */
    JM_EXIT_RUN = 125,   /* run -- CMD: own failure, as env(1) and timeout(1) */
    JM_EXIT_NOEXEC = 126,
    JM_EXIT_NOTFOUND = 127
};

enum jm_color { JM_COLOR_AUTO, JM_COLOR_ALWAYS, JM_COLOR_NEVER };

struct jm_common {
    bool json, verbose, quiet;
    int color; /* enum jm_color */
    const char *config;
    const char *sysfs_root, *proc_root, *dev_root, *nvml_lib, *dcgm_lib, *dcgm, *amdsmi_lib, *hlml_lib,
        *level_zero_lib, *devices, *meters, *replay, *yokogawa, *ptd;
    double tdp_w;                      /* 0: no estimate */
    struct jm_instruments instruments; /* `meters:` of the configuration */
};

#define JM_OPT_AT(s, f) offsetof(struct s, f)
#define JM_OPTS_COMMON                                                                                       \
    {"config",      0,                                                                                       \
     JM_OPT_STR,    JM_OPT_AT(jm_common, config),                                                            \
     .arg = "FILE", .help = "Read options from a YAML file; the command line comes after it."},              \
        {"color",                                                                                            \
         0,                                                                                                  \
         JM_OPT_ENUM,                                                                                        \
         JM_OPT_AT(jm_common, color),                                                                        \
         .arg = "WHEN",                                                                                      \
         .choices = "auto|always|never",                                                                     \
         .help = "Colour the output: auto, always or never.",                                                \
         .deflt = "auto"},                                                                                   \
        {"verbose", 'v', JM_OPT_FLAG, JM_OPT_AT(jm_common, verbose), .help = "Say more on standard error."}, \
    {                                                                                                        \
        "quiet", 'q', JM_OPT_FLAG, JM_OPT_AT(jm_common, quiet),                                              \
            .help = "Say nothing but errors on standard error; no progress."                                 \
    }
#define JM_OPT_JSON                                                                                          \
    {                                                                                                        \
        "json", 0, JM_OPT_FLAG, JM_OPT_AT(jm_common, json),                                                  \
            .help = "Write JSON with stable keys to standard output."                                        \
    }
#define JM_OPTS_METER                                                                                          \
    {"meters",                                                                                                 \
     'm',                                                                                                      \
     JM_OPT_STR,                                                                                               \
     JM_OPT_AT(jm_common, meters),                                                                             \
     .arg = "LIST",                                                                                            \
     .help = "Use only these meters, by kind or configured name, e.g. nvml,rapl,bmc1.",                        \
     .deflt = "all that can be read"},                                                                         \
        {"meters", 0, JM_OPT_MAPS, JM_OPT_AT(jm_common, instruments), .maps = &jm_instrument_maps},            \
                                                                                                               \
        {"devices",                                                                                            \
         'd',                                                                                                  \
         JM_OPT_STR,                                                                                           \
         JM_OPT_AT(jm_common, devices),                                                                        \
         .arg = "LIST",                                                                                        \
         .help = "GPUs by CUDA's rules: indices, UUIDs or their beginnings, MIG ids.",                         \
         .deflt = "all; run: CUDA_VISIBLE_DEVICES"},                                                           \
        {"tdp",                                                                                                \
         0,                                                                                                    \
         JM_OPT_POWER,                                                                                         \
         JM_OPT_AT(jm_common, tdp_w),                                                                          \
         1,                                                                                                    \
         1e5,                                                                                                  \
         .help =                                                                                               \
             "Also estimate the CPU's power from its load and this TDP; the result is labelled estimated."},   \
        {"replay",     0,                                                                                      \
         JM_OPT_STR,   JM_OPT_AT(jm_common, replay),                                                           \
         .arg = "RUN", .help = "Play the meters of a stored run."},                                            \
        {"yokogawa",                                                                                           \
         0,                                                                                                    \
         JM_OPT_STR,                                                                                           \
         JM_OPT_AT(jm_common, yokogawa),                                                                       \
         .arg = "URL",                                                                                         \
         .help = "Read a Yokogawa WT power analyzer: vxi11://HOST, tcp://HOST:PORT, /dev/usbtmc0 or a "        \
                 "serial port, then "                                                                          \
                 "volts=300,amps=5 for fixed ranges."},                                                        \
        {"dcgm",       0,                                                                                      \
         JM_OPT_STR,   JM_OPT_AT(jm_common, dcgm),                                                             \
         .arg = "URL", .help = "Also read a DCGM host engine: HOST:PORT, unix:PATH or embedded."},             \
        {"dcgm-lib",                                                                                           \
         0,                                                                                                    \
         JM_OPT_STR,                                                                                           \
         JM_OPT_AT(jm_common, dcgm_lib),                                                                       \
         .arg = "FILE",                                                                                        \
         .help = "DCGM library to load.",                                                                      \
         .deflt = "JM_DCGM_LIB, else libdcgm.so.4 or .3"},                                                     \
        {"ptd",        0,                                                                                      \
         JM_OPT_STR,   JM_OPT_AT(jm_common, ptd),                                                              \
         .arg = "URL", .help = "Read a running PTDaemon: HOST:PORT, then volts=240,amps=5 for fixed ranges."}, \
        {"sysfs-root",   0,                                                                                    \
         JM_OPT_STR,     JM_OPT_AT(jm_common, sysfs_root),                                                     \
         .arg = "DIR",   .help = "Read sysfs below this folder.",                                              \
         .deflt = "/sys"},                                                                                     \
        {"proc-root",     0,                                                                                   \
         JM_OPT_STR,      JM_OPT_AT(jm_common, proc_root),                                                     \
         .arg = "DIR",    .help = "Read procfs below this folder.",                                            \
         .deflt = "/proc"},                                                                                    \
        {"dev-root",     0,                                                                                    \
         JM_OPT_STR,     JM_OPT_AT(jm_common, dev_root),                                                       \
         .arg = "DIR",   .help = "Look for devices below this folder.",                                        \
         .deflt = "/dev"},                                                                                     \
        {"nvml-lib",                                                                                           \
         0,                                                                                                    \
         JM_OPT_STR,                                                                                           \
         JM_OPT_AT(jm_common, nvml_lib),                                                                       \
         .arg = "FILE",                                                                                        \
         .help = "NVML library to load.",                                                                      \
         .deflt = "JM_NVML_LIB, else libnvidia-ml.so.1"},                                                      \
        {"amdsmi-lib",                                                                                         \
         0,                                                                                                    \
         JM_OPT_STR,                                                                                           \
         JM_OPT_AT(jm_common, amdsmi_lib),                                                                     \
         .arg = "FILE",                                                                                        \
         .help = "AMD SMI or ROCm SMI library to load.",                                                       \
         .deflt = "JM_AMDSMI_LIB, else libamd_smi.so, else librocm_smi64.so"},                                 \
        {"level-zero-lib",                                                                                     \
         0,                                                                                                    \
         JM_OPT_STR,                                                                                           \
         JM_OPT_AT(jm_common, level_zero_lib),                                                                 \
         .arg = "FILE",                                                                                        \
         .help = "Level Zero loader of Intel GPUs to load.",                                                   \
         .deflt = "JM_LEVEL_ZERO_LIB, else libze_loader.so.1"},                                                \
    {                                                                                                          \
        "hlml-lib", 0, JM_OPT_STR, JM_OPT_AT(jm_common, hlml_lib),                                             \
            .arg = "FILE", .help = "Library of Gaudi accelerators to load.",                                   \
            .deflt = "JM_HLML_LIB, else libhlml.so"                                                            \
    }

struct jm_cli;

enum jm_cmd_flags {
    JM_CMD_HIDDEN = 1, /* not in lists */
    JM_CMD_RAW = 2,    /* no option is parsed: every word is the command's */
    JM_CMD_REST = 4,   /* takes words after "--" */
    JM_CMD_PARENT = 8  /* no command itself: those of the table whose name is this one, a blank and a word */
};

struct jm_cmd {
    const char *name;        /* "show"; of a sub-command both words, "mlperf show" */
    const char *group;       /* heading in the list of commands */
    const char *summary;     /* one line, no full stop */
    const char *usage;       /* what follows the name */
    const char *description; /* paragraphs separated by a blank line */
    const char *examples;    /* lines "command # what it does", may be NULL */
    const struct jm_opt *opts;
    size_t opts_size; /* of the options struct, which begins with struct jm_common */
    void (*init)(void *opts);
    size_t min_operands, max_operands;
    unsigned flags;
    /* Returns an enum jm_exit, or a negative JM_E* with err set. */
    int (*fn)(struct jm_cli *cli, void *opts, struct jm_err *err);
};

/* Sorted by name; ends with NULL. */
extern const struct jm_cmd *const jm_cmd_table[];
/* The last word of a command below parent (NULL: of one that has no parent); NULL: it is not below it. */
const char *jm_cmd_below(const struct jm_cmd *cmd, const struct jm_cmd *parent);
/* The command that word names below parent (NULL: of those that have none); NULL: there is none. */
const struct jm_cmd *jm_cmd_child(const struct jm_cmd *parent, const char *word);

struct jm_cli {
    const char *argv0;
    const struct jm_cmd *cmd;
    struct jm_common *common; /* of the command's options, NULL for raw ones */
    const char **operand;
    size_t n_operands;
    char **rest; /* words after "--" (raw: all words), ends with NULL */
    int n_rest;
    struct jm_term term;
    struct jm_log log;
    int out_errno; /* of the first failed write to standard output */
};

/* Appends to standard output; a failure is remembered and reported by main(). */
void jm_cli_out(struct jm_cli *cli, struct jm_span text);
/* "joulemark: text" on standard error, the progress line out of the way. */
void jm_cli_say(struct jm_cli *cli, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The one place where error codes become exit statuses. */
int jm_cli_exit_of(int rc);

/* Help of a command, or of all when cmd is NULL, at width columns. */
void jm_help_text(const struct jm_cmd *cmd, int width, bool color, struct jm_str *out);
void jm_help_man(struct jm_str *out);
void jm_help_markdown(struct jm_str *out);

/* The environment variables that are read: name and what it does; ends with a NULL name. */
struct jm_env_row {
    const char *name, *help;
};
extern const struct jm_env_row jm_env_table[];
struct jm_exit_row {
    int status;
    const char *help;
};
extern const struct jm_exit_row jm_exit_table[]; /* ends with status -1 */

#endif
