/* SPDX-License-Identifier: Apache-2.0 */
#include "import/import.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/span.h"
#include "base/str.h"
#include "run/run.h"

#include "base/banned.h"

extern const struct jm_importer jm_import_mlperf;

const struct jm_importer *const jm_importers[] = {&jm_import_mlperf, NULL};

static void list_names(struct jm_str *s)
{
    for (size_t i = 0; jm_importers[i]; i++)
        jm_str_addf(s, "%s%s", i ? ", " : "", jm_importers[i]->name);
}

const struct jm_importer *jm_importer_find(const char *name, const char *path, struct jm_err *err)
{
    const struct jm_importer *best = NULL;
    int best_score = 0;
    struct jm_str names;
    if (!name && access(path, R_OK)) {
        jm_err_sys(err, errno, "cannot open %s", path);
        return NULL;
    }
    for (size_t i = 0; jm_importers[i]; i++) {
        if (name) {
            if (strcmp(jm_importers[i]->name, name) == 0)
                return jm_importers[i];
            continue;
        }
        int score = jm_importers[i]->sniff(path);
        if (score > best_score) {
            best_score = score;
            best = jm_importers[i];
        }
    }
    if (best)
        return best;
    struct jm_run *run = NULL;
    if (!name && jm_run_open(path, &run, NULL) == 0) {
        jm_run_close(run);
        jm_err_set(err, JM_EPARSE, "%s is a run file already; joulemark show %s shows it", path, path);
        return NULL;
    }
    jm_str_init(&names);
    list_names(&names);
    if (name)
        jm_err_set(err, JM_EUSAGE, "there is no importer \"%s\"; there are: %s", name, names.buf);
    else
        jm_err_set(err, JM_EPARSE,
                   "%s is nothing that can be imported (tried: %s); name the kind with --from if it should "
                   "be one of these",
                   path, names.buf);
    jm_str_release(&names);
    return NULL;
}
