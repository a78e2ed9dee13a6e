/* SPDX-License-Identifier: Apache-2.0 */
/* Several run files computed at once, and pictures of them as files. */
#ifndef JM_CLI_PICTURES_H
#define JM_CLI_PICTURES_H

#include "cli/present.h"
#include "show/pictures.h"

struct jm_run;
struct jm_report;

#define JM_CLI_RUNS 32

/* Runs that are looked at together, the first before all. */
struct jm_cli_runs {
    struct jm_run *run[JM_CLI_RUNS];
    struct jm_report *report[JM_CLI_RUNS];
    const struct jm_report *seen[JM_CLI_RUNS]; /* the same, for show */
    char name[JM_CLI_RUNS][96];                /* of each for people: the file without folder and .jmr */
    const char *names[JM_CLI_RUNS];
    size_t n;
    struct jm_picture_of of;
};
/* Computed and audited. Release it in any case. JM_ELIMIT beyond JM_CLI_RUNS. */
int jm_cli_runs_open(const char *const *path, size_t n, const struct jm_present *p, struct jm_cli_runs *out,
                     struct jm_err *err);
void jm_cli_runs_release(struct jm_cli_runs *r);

/* Writes the picture to path; PNG where its name ends so, else SVG. JM_EABSENT: the runs have not what it
 * shows; JM_EUNSUPPORTED: nothing here makes a PNG. */
int jm_cli_picture_file(const struct jm_picture *k, const struct jm_picture_of *of, enum jm_theme theme,
                        const char *path, struct jm_err *err);
/* Every picture that there is data for, NAME.svg and NAME.png in the folder, which is made. Their paths go to
 * done, one a line, sentences about the others to left. */
int jm_cli_pictures(const struct jm_picture_of *of, enum jm_theme theme, const char *folder,
                    struct jm_str *done, struct jm_str *left, struct jm_err *err);

#define JM_THEME_CHOICES "auto|light|dark" /* enum jm_theme */

#endif
