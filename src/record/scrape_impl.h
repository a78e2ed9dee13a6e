/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the scraper share. */
#ifndef JM_RECORD_SCRAPE_IMPL_H
#define JM_RECORD_SCRAPE_IMPL_H

#include <pthread.h>
#include <stdatomic.h>

#include "engine/telemetry.h"
#include "load/client.h"
#include "record/record.h"
#include "record/scrape.h"

#define JM_SCRAPE_TRIES 12

struct jm_scrape_try { /* a place where metrics may be */
    char base[300];    /* "http://host:8000" */
    char path[300];    /* "/metrics" */
};

enum jm_scrape_state { JM_SCRAPE_LOOKING, JM_SCRAPE_OK, JM_SCRAPE_UNKNOWN, JM_SCRAPE_ABSENT };

struct jm_scraper {
    struct jm_recorder *rec; /* not after it was given up */
    int index;
    struct jm_clock clock;
    /* what is asked; the thread's */
    struct jm_scrape_try try_[JM_SCRAPE_TRIES];
    size_t n_try;
    bool given; /* named by the user: goes on asking where there is no answer */
    bool host;  /* the host's CPU, not an engine */
    int64_t host_pid;
    char proc_root[200];
    struct jm_str key, ca_file;
    bool insecure;
    int64_t interval, timeout;
    struct jm_client client;
    bool connected; /* client is set up */
    const struct jm_engine_dialect *dialect;
    bool slots;
    int failed_in_row;
    struct jm_reply reply, more;
    struct jm_str text, before, after; /* before, after: the slots around the metrics */
    pthread_t thread;
    bool started;
    atomic_int refs;

    /* under lock */
    pthread_mutex_t lock;
    pthread_cond_t wake, done;
    bool stop, abandoned, ended, answered; /* answered: the first try is over */
    unsigned wanted, served;               /* edges asked for, edges done */
    enum jm_scrape_state state;
    char url[620], reason[320];
    const char *title, *name; /* of the dialect */
    int64_t last_ns;          /* how long the last good one took; 0: none */
    uint64_t scrapes, failures;
    double sum_ms, max_ms;
    size_t bytes; /* of the last whole text */
};

struct jm_scrapers {
    struct jm_scraper **v;
    size_t n;
    bool found; /* looked for, not only given */
};

/* scrape_find.c: fills s->try_ from a given URL, or from the endpoint. */
int jm_scrape_given(struct jm_scraper *s, const char *url, struct jm_err *err);
int jm_scrape_usual(struct jm_scraper *s, const char *endpoint, const struct jm_engine_dialect *d,
                    struct jm_err *err);
/* One answer into s->text; full: all of it. 0, or an error whose sentence is the reason. */
int jm_scrape_fetch(struct jm_scraper *s, bool full, int64_t *t0, int64_t *t1, struct jm_err *err);
/* Goes through the tries; 0: one answers, with a dialect where s->dialect is set. */
int jm_scrape_find(struct jm_scraper *s, int64_t *t0, int64_t *t1, struct jm_err *err);
void jm_scrape_disconnect(struct jm_scraper *s);
/* hostcpu.c: the same for the host; proc_root, pid. */
int jm_hostcpu_text(const char *proc_root, int64_t pid, struct jm_str *out, struct jm_err *err);

#endif
