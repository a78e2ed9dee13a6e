/* SPDX-License-Identifier: Apache-2.0 */
/* AIPerf's files while they are read; aiperf.c takes folder and records, aiperf_summary.c the summary. */
#ifndef JM_IMPORT_AIPERF_H
#define JM_IMPORT_AIPERF_H

#include "import/peer.h"

enum { SUMMARY, RECORDS, CSV, GPU, FILES };
enum { PHASES = 32 };
struct jm_aiperf_phase {
    char name[40];
    int64_t index;
    bool warmup;
    int window;
    int64_t t0, t1, n, ok, failed;
};

struct jm_aiperf {
    struct jm_build b;
    char path[FILES][JM_PEER_PATH];
    struct jm_ifile f[FILES];
    bool have[FILES];
    struct jm_aiperf_phase phase[PHASES];
    int phases;
    int64_t records, broken, cancelled, client_tokens, server_tokens, with_server, with_client, chunks,
        no_clock;
    bool reasoning;
};

/* Statistics as claims, settings as environment; a window by the summary where no other file has given one.
 */
void jm_aiperf_summary(struct jm_aiperf *a);

#endif
