/* SPDX-License-Identifier: Apache-2.0 */
/* A session laid out as a submission wants it, with templates for what a person has to write:
 *
 *   <root>/<division>/<submitter>/results/<system>/<benchmark>/<scenario>/performance/{power,ranging,run_1}/...
 *   <root>/<division>/<submitter>/systems/<system>.json
 *   README.md, user.conf, <system>.json, analyzer_table.md, power_settings.md in the folder of the scenario
 * (since v6.0), or in measurements/<system>/<benchmark>/<scenario>/ (before)
 *
 * Nothing that is there is overwritten: a second session of the same result is refused, documents that were
 * filled in stay. What is not known is left empty and named; nothing is guessed. Layout: mlcommons/inference
 * tools/submission, submission_structure.md. */
#ifndef JM_MLPERF_TREE_H
#define JM_MLPERF_TREE_H

#include "base/err.h"
#include "base/json.h"
#include "base/str.h"
#include "mlperf/session.h"

struct jm_mlperf_tree_conf {
    const char *root, *division, *submitter, *system, *benchmark, *scenario;
    const char *user_conf;              /* LoadGen's, to be copied; NULL: an empty one is named as missing */
    const char *proc_root, *sysfs_root; /* NULL: /proc, /sys */
    const char *os_release;             /* NULL: /etc/os-release */
};

/* One name of the path: letters, digits, and . _ - + (not at the beginning a dot), at most 200. */
bool jm_mlperf_tree_name_ok(const char *name);
/* JM_EUSAGE: a name, the division or the scenario is none. Nothing is touched. */
int jm_mlperf_tree_check(const struct jm_mlperf_tree_conf *conf, struct jm_err *err);
/* out: the folder of the scenario. todo: one line for each thing that a person has to fill in. */
int jm_mlperf_tree_make(const struct jm_mlperf_tree_conf *conf, const struct jm_mlperf_session *s,
                        char out[4096], struct jm_str *todo, struct jm_err *err);

/* What this machine says of itself, as members of a system description: fills value (appended) and returns
 * true, or false where it is not known. */
struct jm_mlperf_host {
    struct jm_str cpu, caches, memory, storage, storage_type, os, kernel, bios, product, gpu, network,
        filesystem;
    int sockets, cores, gpus; /* 0: not known; cores of one socket */
    int nics, nics_up;        /* -1: not known */
};
void jm_mlperf_host_read(const char *proc_root, const char *sysfs_root, const char *os_release,
                         struct jm_mlperf_host *out);
void jm_mlperf_host_release(struct jm_mlperf_host *h);

#endif
