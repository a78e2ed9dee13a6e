/* SPDX-License-Identifier: Apache-2.0 */
/* The evidence bundle: runs, what was concluded from them, and what it takes to check both, in one archive
 * (docs/disclosure.md). */
#ifndef JM_CLI_BUNDLE_H
#define JM_CLI_BUNDLE_H

#include "base/json.h"
#include "base/option.h"
#include "cli/cli.h"
#include "cli/present.h"

/* How the figures are made: what stands on the command line of audit, and is done again when they are
 * checked. */
struct jm_figure_opts {
    struct jm_present present;
    struct jm_opt_list facts;
};

#define JM_BUNDLE_ROOT     "evidence/"
#define JM_BUNDLE_MANIFEST "MANIFEST.sha256"
#define JM_BUNDLE_SIG      "MANIFEST.sha256.sig"
#define JM_BUNDLE_PEM      "signer.pem"
#define JM_BUNDLE_FILES    4096
#define JM_BUNDLE_TEXT     ((size_t)256 << 20) /* of a file that is kept in memory */
#define JM_BUNDLE_LEVEL    6

struct jm_bundle_write_opts {
    const struct jm_figure_opts *figures;
    const char *const *run; /* paths */
    size_t n_run;
    const char *const *include; /* contract and the like */
    size_t n_include;
    const char *key; /* file of the private key; NULL: not signed */
    bool force;
};
/* Writes the archive at path, whose folder is made. JM_ECONFLICT: it is there already, or a run is not
 * sealed. */
int jm_bundle_write(struct jm_cli *cli, const char *path, const struct jm_bundle_write_opts *o,
                    struct jm_err *err);
/* Checks one; what was found is put on standard output. 0, JM_EXIT_CHECK when anything is not what it says,
 * or an error where it cannot be read. key: file of the public key; NULL: the one inside. */
int jm_bundle_verify(struct jm_cli *cli, const char *path, const char *key, struct jm_err *err);

/* bundle_opts.c: members of an object; given: files become given/NAME. */
void jm_figure_opts_put(struct jm_jsonw *w, const struct jm_figure_opts *o);
/* Strings belong to arena. dir: where given/ lies. JM_EPARSE: an option that is none of these, or a file
 * outside. */
int jm_figure_opts_get(const struct jm_json *o, const char *dir, struct jm_figure_opts *out,
                       struct jm_str *arena, struct jm_err *err);
const char *jm_bundle_basename(const char *path);

/* What is written of one run. name: as in the bundle, "runs/NAME.jmr". */
struct jm_bundle_figures {
    struct jm_str show, audit, page, disclosure, report;
    char id[40], sha256[65];
    bool cut, simulated;
};
void jm_bundle_figures_init(struct jm_bundle_figures *f);
void jm_bundle_figures_release(struct jm_bundle_figures *f);
/* Holds the figures of a show.json against those of another version: 0 when every value that both know agrees
 * to 0.2 %, 1 when one does not (note says which), JM_ENOMEM. */
int jm_bundle_values(struct jm_span stated, struct jm_span again, char *note, size_t cap, struct jm_err *err);
/* pages: those for people too. */
int jm_bundle_figures(const char *path, const char *name, const struct jm_figure_opts *o, bool pages,
                      struct jm_bundle_figures *f, struct jm_err *err);

#endif
