/* SPDX-License-Identifier: Apache-2.0 */
/* A small run with something in every table, for tests. */
#ifndef TESTS_RUN_SAMPLE_H
#define TESTS_RUN_SAMPLE_H

#include "run/run.h"

#define SAMPLE_T0       (INT64_C(1000) * JM_NS_PER_S)
#define SAMPLE_READINGS 250 /* a channel: 25 s at 10 Hz */
#define SAMPLE_REQUESTS 40

/* A fresh path below the test's own folder; the file of that name is removed. */
const char *sample_path(const char *name);
struct jm_run_create sample_create(void);
/* What a reading, request or event of the sample is: written and expected by the same functions. */
struct jm_reading sample_reading(int channel, int i);
struct jm_request sample_request(int id);
size_t sample_events(int id, struct jm_token_event *ev); /* at most 300 */
/* Fills w with everything (3 channels of 1 meter, a second meter that is denied). Asserts on failure. */
void sample_fill(struct jm_run_writer *w);
/* Creates, fills and seals. */
void sample_write(const char *path);
/* Asserts that the run has all of it. */
void sample_check(const struct jm_run *r);

#endif
