/* SPDX-License-Identifier: Apache-2.0 */
/* A run file with damage: the input is a list of edits [offset, 3 bytes] [byte] of a good file, or a whole
 * file when it begins like one. Everything is read; nothing may crash, hang or eat memory. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "run/run.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

static char path[64];
static struct jm_str good;

static void must(int rc)
{
    if (rc < 0)
        abort();
}

static void make_good(void)
{
    struct jm_run_writer *w = NULL;
    struct jm_run_create c = {.label = "fuzz", .kind = "recorded", .source = "fuzz", .overwrite = true};
    struct jm_domain_tree t;
    int id = 0;
    snprintf(path, sizeof path, "/tmp/jm-fuzz-%d.jmr", (int)getpid());
    must(jm_run_create(path, &c, &w, NULL));
    must(jm_run_put_meter(w, &(struct jm_run_meter){.name = "nvml", .state = "ok"}, NULL));
    jm_domain_tree_init(&t);
    int node = jm_domain_host(&t, "host", NULL);
    must(jm_domain_add(&t, node, JM_D_GPU, "GPU-1", NULL, NULL));
    must(jm_run_put_domains(w, &t, NULL));
    jm_domain_tree_release(&t);
    for (int k = 0; k < 2; k++)
        must(jm_run_put_channel(
            w, &(struct jm_channel){.kind = k, .unit = JM_U_J, .domain = 2, .flags = k ? JM_CHF_DOUBLE : 0},
            &id, NULL));
    for (int i = 0; i < 300; i++)
        for (unsigned k = 0; k < 2; k++)
            must(jm_run_put_readings(
                w,
                &(struct jm_reading){
                    .t0 = i * 100000000L, .t1 = i * 100000000L + 5, .value = i * i, .channel = k},
                1, NULL));
    for (int i = 1; i < 40; i++) {
        struct jm_request q;
        struct jm_token_event ev[20];
        jm_request_init(&q);
        q.id = i;
        q.t[JM_T_SCHEDULED] = i * 1000;
        q.t[JM_T_FIRST_TOKEN] = i * 2000;
        for (int k = 0; k < 20; k++)
            ev[k] = (struct jm_token_event){
                .t = i * 1000000 + k * 20000000, .tokens = 1, .flags = JM_TE_COUNT_KNOWN};
        must(jm_run_put_request(w, &q, ev, 20, NULL));
    }
    must(jm_run_put_env(w, "host.name", "x", NULL));
    must(jm_run_put_raw(w, "raw", "", JM_SPAN("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"),
                        NULL));
    must(jm_run_put_text(w, 1, JM_SPAN("p"), JM_SPAN("o"), NULL));
    must(jm_run_put_scrape(w, "u", 1, 2, JM_SPAN("x 1"), NULL));
    must(jm_run_put_factor(w, "pue", "k", 1.2, "", "s", NULL));
    must(jm_run_put_claim(w, &(struct jm_run_claim){.key = "k", .value = 1, .window = -1}, NULL));
    must(jm_run_put_clock_pair(w, &(struct jm_clock_pair){1, 2, 3, 4}, NULL));
    must(jm_run_put_mark(w, &(struct jm_mark){1, "m"}, NULL));
    must(jm_run_open_window(w, &(struct jm_window){0, 0, JM_R_MEASURE, "m", 1, 2}, NULL));
    must(jm_run_seal(w, NULL));
    jm_str_init(&good);
    must(jm_file_read(path, 1 << 24, &good, NULL));
}

static int on_events(void *self, int64_t request, const struct jm_token_event *ev, size_t n)
{
    *(int64_t *)self ^= request ^ ev[n - 1].t;
    return 0;
}

static int on_scrape(void *self, const char *url, int64_t t0, int64_t t1, struct jm_span text)
{
    *(size_t *)self += strlen(url) + text.n + (size_t)(t0 ^ t1);
    return 0;
}

static int on_factor(void *self, const struct jm_run_factor *f)
{
    *(size_t *)self += strlen(f->kind) + strlen(f->source);
    return 0;
}

static void read_all(void)
{
    struct jm_run *r = NULL;
    struct jm_err err = {0};
    if (jm_run_open(path, &r, &err))
        return;
    size_t n, k = 0;
    int64_t x = 0;
    jm_run_channels(r, &n);
    for (size_t i = 0; i < n; i++) {
        struct jm_readings a = {0};
        jm_run_readings(r, (int)i, INT64_MIN, INT64_MAX, &a, &err);
        jm_readings_release(&a);
    }
    jm_run_requests(r, &n);
    jm_run_events(r, on_events, &x, &err);
    jm_run_scrapes(r, on_scrape, &k, &err);
    jm_run_factors(r, on_factor, &k, &err);
    jm_run_to_real(r, 5, &x);
    struct jm_str s;
    jm_str_init(&s);
    jm_run_raw_data(r, "raw", &s, &err);
    jm_run_text(r, 1, &s, &s, &err);
    jm_str_release(&s);
    jm_run_close(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    if (!path[0])
        make_good();
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (fd < 0)
        abort();
    bool whole = n >= 16 && memcmp(p, "SQLite format 3", 16) == 0;
    if (write(fd, whole ? (const void *)p : good.buf, whole ? n : good.len) < 0)
        abort();
    for (size_t i = 0; !whole && i + 4 <= n; i += 4) {
        size_t at = ((size_t)p[i] << 16 | (size_t)p[i + 1] << 8 | p[i + 2]) % good.len;
        if (pwrite(fd, p + i + 3, 1, (off_t)at) != 1)
            abort();
    }
    close(fd);
    read_all();
    unlink(path);
    return 0;
}
