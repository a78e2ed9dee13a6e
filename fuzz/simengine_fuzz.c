/* SPDX-License-Identifier: Apache-2.0 */
/* What a client sends to the simulated engine. The first byte says which parser gets the rest: the head of a
 * request, a chunked body (in one piece and in two, which must agree), a list of faults, a prompt, messages.
 */
#include "sim/engine/http_parse.h"
#include "sim/engine/prompt.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

#define CHECK(x)                                                                                             \
    do {                                                                                                     \
        if (!(x))                                                                                            \
            abort();                                                                                         \
    } while (0)

static void head(const char *p, size_t n)
{
    struct sim_head h;
    char why[128] = "";
    size_t end = sim_http_head_end(p, n);
    CHECK(end <= n);
    int status = sim_http_head_parse(&h, p, end ? end : n, why, sizeof why);
    CHECK(status == 0 || (status >= 400 && status < 600 && why[0]));
    CHECK(status != 0 || (h.path[0] == '/' && memchr(h.path, 0, sizeof h.path) && h.length >= -1));
}

struct dechunked {
    struct sim_buf body;
    size_t took;
    int status;
    bool done;
};

static struct dechunked dechunk(const char *p, size_t n, size_t cut)
{
    struct dechunked d = {0};
    int state = 0;
    uint64_t left = 0;
    d.took = sim_http_dechunk(&state, &left, p, cut, &d.body, 4096, &d.done, &d.status);
    if (!d.done && !d.status) {
        CHECK(d.took == cut);
        d.took += sim_http_dechunk(&state, &left, p + cut, n - cut, &d.body, 4096, &d.done, &d.status);
    }
    CHECK(d.took <= n && d.body.n <= 4096);
    return d;
}

static void chunks(const char *p, size_t n)
{
    struct dechunked whole = dechunk(p, n, n);
    for (size_t cut = 0; cut < n && cut < 64; cut++) {
        struct dechunked two = dechunk(p, n, cut);
        CHECK(two.took == whole.took && two.done == whole.done && two.status == whole.status);
        CHECK(two.body.n == whole.body.n &&
              (two.body.n == 0 || memcmp(two.body.p, whole.body.p, two.body.n) == 0));
        sim_buf_free(&two.body);
    }
    sim_buf_free(&whole.body);
}

static void prompt(const char *p, size_t n, bool chat)
{
    char why[256] = "";
    json_t *j = json_loadb(p, n, JSON_DECODE_ANY, NULL);
    struct sim_prompt q = {.max = 256, .vocab = 1000, .want_ids = true};
    int rc =
        chat ? sim_prompt_chat(&q, j, why, sizeof why) : sim_prompt_completion(&q, j, true, why, sizeof why);
    CHECK(rc == 0 || why[0]);
    CHECK(rc != 0 || q.count > 0);
    CHECK(q.nblock <= 16);
    for (uint64_t i = 0; i < q.count && i < q.max; i++)
        CHECK(q.id && q.id[i] >= 0 && q.id[i] < 1000);
    sim_prompt_release(&q);
    json_decref(j);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    if (n == 0)
        return 0;
    const char *text = (const char *)p + 1;
    struct sim_faults f = {0};
    char why[128] = "";
    switch (p[0]) {
    case 'h': head(text, n - 1); break;
    case 'c': chunks(text, n - 1); break;
    case 'f': CHECK(sim_fault_parse(&f, text, n - 1, why, sizeof why) == 0 || why[0]); break;
    case 'p': prompt(text, n - 1, false); break;
    case 'm': prompt(text, n - 1, true); break;
    default: break;
    }
    return 0;
}
