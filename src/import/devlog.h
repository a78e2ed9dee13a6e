/* SPDX-License-Identifier: Apache-2.0 */
/* What the importers of device logs share: channels that come to be as the log names them, readings in order
 * of their stamps, one window over the whole log (or the part of it that was asked for). Nobody counted
 * tokens, so no ratio is formed. The first failure sticks in l->b.rc. */
#ifndef JM_IMPORT_DEVLOG_H
#define JM_IMPORT_DEVLOG_H

#include "import/build.h"
#include "wire/devkind.h"

/* What it belongs to. */
struct jm_dev_place {
    const char *host; /* "": not said */
    enum jm_domain_kind domain;
    const char *key;    /* of the device: UUID, index, zone */
    const char *label;  /* "GPU 0, NVIDIA H100"; NULL: the key */
    const char *parent; /* key of the GPU that an HBM is part of; NULL */
};

struct jm_devlog_ch {
    int id;          /* of the channel in the run */
    uint64_t hash;   /* of place and name */
    uint64_t series; /* of the labels that it was seen with last */
    uint64_t owner;  /* of the series that fills it, where several show the same */
    bool of_energy;
    int domain;
    int64_t first, last, n;
    struct jm_channel c;
};

struct jm_devlog {
    struct jm_build b;
    struct jm_domain_tree tree;
    int meter;
    struct jm_devlog_ch *ch;
    size_t n, cap, at;
    int64_t put;
    int64_t back, same, missing, blank, bad; /* lines before the last one, with its stamp, without value,
                                                DCGM's blanks, no number at all */
    struct jm_ifile f;
    size_t mark;
};

/* Opens the file and begins the run. meter: the name of the instrument's tool, "nvidia-smi". */
int jm_devlog_begin(struct jm_devlog *l, const char *tool, const char *path, const char *out,
                    const struct jm_import_opts *o, struct jm_err *err);
/* The window (unless the importer opened one), the domains, what was missing, and the end of the run. Frees
 * everything. */
int jm_devlog_end(struct jm_devlog *l);
/* Index of the channel, made when new; -1 after a failure. */
int jm_devlog_channel(struct jm_devlog *l, const struct jm_dev_place *p, const struct jm_dev_kind *k);
/* A reading at t (ns UTC) from decimal text in the log's unit. Text that is no number is missing. */
void jm_devlog_put(struct jm_devlog *l, int ch, int64_t t, int text10, struct jm_span text);
/* One without a value, and why. */
void jm_devlog_gap(struct jm_devlog *l, int ch, int64_t t, enum jm_status why);

/* Words that stand for no value in logs of devices: "[N/A]", "ERR!", "[GPU is lost]", ... JM_S_OK: it is no
 * such word. */
enum jm_status jm_devlog_word(struct jm_span text);
/* "94 W", "94W", "94.5 (W)" → the number as text and its power of ten against W, J, Hz; deflt10 where there
 * is no unit. False: no number, or a unit that is none of these. */
bool jm_devlog_number(struct jm_span text, int deflt10, struct jm_span *number, int *text10);
/* "2024/05/30 10:15:20.123", "2024-05-30T10:15:20Z", "Thu May 30 10:15:20 2024", Unix seconds or ms. zone:
 * it said one (Unix times do). False: no time. */
bool jm_devlog_time(struct jm_span text, int64_t *ns, bool *zone);
extern const struct jm_dev_kind jm_dev_limit, jm_dev_clock_sm, jm_dev_clock_mem, jm_dev_temp, jm_dev_util;

#endif
