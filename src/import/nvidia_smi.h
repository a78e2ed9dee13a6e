/* SPDX-License-Identifier: Apache-2.0 */
/* What the forms of nvidia-smi's output share. */
#ifndef JM_IMPORT_NVIDIA_SMI_H
#define JM_IMPORT_NVIDIA_SMI_H

#include "import/devlog.h"

enum jm_smi_what {
    JM_SMI_NONE,
    JM_SMI_USAGE, /* power.draw: what it means hangs on architecture and driver */
    JM_SMI_AVERAGE,
    JM_SMI_INSTANT,
    JM_SMI_MEMORY, /* of the GPU's memory */
    JM_SMI_MODULE,
    JM_SMI_LIMIT,
    JM_SMI_CLOCK_SM,
    JM_SMI_CLOCK_MEM,
    JM_SMI_TEMP,
    JM_SMI_UTIL
};

struct jm_smi_gpu {
    char key[96], name[96], arch[48];
    int driver;
    int ch[JM_SMI_UTIL + 1]; /* 1 + channel; 0: none yet */
};
/* The GPUs of a log; a log goes round, so the search begins behind the last one. */
struct jm_smi {
    struct jm_devlog l;
    struct jm_smi_gpu *gpu;
    size_t n, cap, at;
};
/* The GPU with that key, made when new; NULL after a failure. */
struct jm_smi_gpu *jm_smi_gpu(struct jm_smi *s, struct jm_span key);
/* A value as written ("631.95 W", "[N/A]"). A quantity that never has a value gets no channel, and is named
 * as missing at the end. */
void jm_smi_value(struct jm_smi *s, struct jm_smi_gpu *g, enum jm_smi_what what, int64_t t,
                  struct jm_span text);
int jm_smi_end(struct jm_smi *s);
int jm_smi_driver(struct jm_span version); /* "590.48.01" → 590; 0: none */
/* "2024/05/30 10:15:20.123" and ctime's form have no zone: said once. */
void jm_smi_local_times(struct jm_devlog *l);

int jm_smi_import_q(const char *path, const char *out, const struct jm_import_opts *o, struct jm_err *err);
int jm_smi_import_xml(const char *path, const char *out, const struct jm_import_opts *o, struct jm_err *err);
int jm_smi_import_table(const char *path, const char *out, const struct jm_import_opts *o,
                        struct jm_err *err);
int jm_smi_import_mon(const char *path, const char *out, const struct jm_import_opts *o, struct jm_err *err);

#endif
