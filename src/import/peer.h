/* SPDX-License-Identifier: Apache-2.0 */
/* What the importers of AIPerf, GenAI-Perf, guidellm and inference-perf share. */
#ifndef JM_IMPORT_PEER_H
#define JM_IMPORT_PEER_H

#include "import/build.h"

/* aiperf_claims.c: a document of statistics by tag ({"time_to_first_token": {"unit": "ms", "avg": ...}, ...})
 * as claims about the open window, keys under prefix. What is no statistic is left. plain:
 * tags that are kept without being a metric of the catalogue, ended by NULL (NULL: none). */
void jm_aiperf_claims(struct jm_build *b, const struct jm_ifile *f, const struct jm_jtoken *object,
                      const char *prefix, const char *const *plain);
/* The same of AIPerf's and GenAI-Perf's CSV ("Time to First Token (ms),9.45,..."). Rounded to two digits by
 * the tool. */
void jm_aiperf_csv(struct jm_build *b, const struct jm_ifile *f);

/* guidellm_claims.c: a benchmark's "metrics". old: up to version 0.3, where a name meant something else. */
void jm_guidellm_claims(struct jm_build *b, const struct jm_ifile *f, const struct jm_jtoken *metrics,
                        bool old);
/* inference_perf_claims.c: a report; keys under prefix. */
void jm_inference_perf_claims(struct jm_build *b, const struct jm_ifile *f, const struct jm_jtoken *doc,
                              const char *prefix);

/* aiperf_gpu.c: gpu_telemetry_export.jsonl as channels: energy counters and power gauges, a pair a GPU.
 * *span: first and last stamp. Returns the number of GPUs. */
int jm_aiperf_gpu(struct jm_build *b, const struct jm_ifile *f, int64_t span[2]);

/* A window that is made from requests ends so much after the last one, ns: token events are kept to the
 * microsecond, and the last one must lie inside. */
#define JM_PEER_EDGE 2000

/* How a request ended that has an error: by HTTP status, else by the words of type and message. */
enum jm_end jm_peer_end(int64_t code, struct jm_span type, struct jm_span message);
/* A number with its unit ({"value": 1.5, "unit": "ms"}, or alone in the given one) as ns. */
bool jm_peer_ns(const struct jm_ifile *f, const struct jm_jtoken *v, const char *unit, int64_t *ns);
bool jm_peer_count(const struct jm_ifile *f, const struct jm_jtoken *v, int64_t *n);
/* dir/name opened; false when it is not there. Other failures are the build's (b may be NULL: then they count
 * as not there). path: at least JM_PEER_PATH bytes, stays the file's. */
#define JM_PEER_PATH 4096
bool jm_peer_open(const char *dir, const char *name, char *path, struct jm_ifile *f);
bool jm_peer_exists(const char *dir, const char *name);

#endif
