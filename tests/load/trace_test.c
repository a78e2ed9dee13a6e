/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of each public trace format, as their files have them, and files that are wrong in the ways that files
 * are. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/clock.h"
#include "load/plan.h"
#include "load/trace.h"

#define MS JM_NS_PER_MS

static char path[64];

static void put(const char *text)
{
    snprintf(path, sizeof path, "/tmp/jm-trace-%d", (int)getpid());
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    fwrite(text, 1, strlen(text), f);
    fclose(f);
}

static struct jm_trace *open_with(const char *text, const struct jm_trace_opts *o)
{
    struct jm_trace *t = NULL;
    struct jm_err err;
    put(text);
    if (jm_trace_open(path, o, &t, &err) != 0)
        fail_msg("%s", err.text);
    unlink(path);
    return t;
}

static const struct jm_trace_opts plain = {.most_tokens = -1, .default_osl = -1};

static struct jm_trace_row row(struct jm_trace *t, int64_t k)
{
    struct jm_trace_row r;
    struct jm_err err;
    if (jm_trace_at(t, k, &r, &err) != 0)
        fail_msg("%s", err.text);
    return r;
}

#define SINCE(t, k) (row(t, k).t - jm_trace_facts(t)->first)

/* FAST25-release of Mooncake: ms, a block is 512 tokens. */
static void mooncake(void **state)
{
    struct jm_trace *t = open_with("{\"timestamp\": 0, \"input_length\": 6758, \"output_length\": 500, "
                                   "\"hash_ids\": [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, "
                                   "10, 11, 12, 13]}\n"
                                   "{\"timestamp\": 27482, \"input_length\": 6955, \"output_length\": 52, "
                                   "\"hash_ids\": [46, 47, 48, 49, 50, 51, 52, "
                                   "53, 54, 55, 56, 57, 2353, 2354]}\n",
                                   &plain);
    (void)state;
    const struct jm_trace_facts *f = jm_trace_facts(t);
    assert_string_equal(f->format, "mooncake");
    assert_true(f->rows == 2 && f->blocks && !f->texts && f->reordered == 0 && f->span == 27482 * MS);
    struct jm_trace_row r = row(t, 1);
    assert_true(r.isl == 6955 && r.osl == 52 && r.blocks == 14 && r.block_tokens == 512);
    assert_true(r.block[0] == 46 && r.block[13] == 2354);
    r = row(t, 0); /* backwards, and beyond the end from the beginning */
    assert_true(r.isl == 6758 && r.block[13] == 13);
    assert_int_equal(row(t, 3).isl, 6955);
    jm_trace_free(t);
    /* vLLM's timed trace has the same members and blocks of 16 */
    t = open_with("{\"timestamp\":5,\"input_length\":40,\"output_length\":9,\"hash_ids\":[1,2,3]}\n", &plain);
    assert_int_equal(row(t, 0).block_tokens, 16);
    jm_trace_free(t);
}

/* Azure LLM inference traces: 2023 with CRLF, seven digits and no end of the last line; 2024 with an offset
 * and no fraction at whole seconds; 2025 with images and ISO 8601. */
static void azure(void **state)
{
    struct jm_trace *t = open_with("TIMESTAMP,ContextTokens,GeneratedTokens\r\n"
                                   "2023-11-16 18:17:03.9799600,4808,10\r\n"
                                   "2023-11-16 18:17:04.0319600,110,27",
                                   &plain);
    (void)state;
    assert_string_equal(jm_trace_facts(t)->format, "azure");
    assert_int_equal(jm_trace_facts(t)->rows, 2);
    assert_true(SINCE(t, 0) == 0 && SINCE(t, 1) == 52 * MS);
    assert_true(row(t, 0).isl == 4808 && row(t, 1).osl == 27);
    jm_trace_free(t);
    t = open_with("TIMESTAMP,ContextTokens,GeneratedTokens\n"
                  "2024-05-10 23:59:59.009930+00:00,2162,5\n"
                  "2024-05-11 00:00:00+00:00,2399,6\n"
                  "2024-05-11 02:00:01.5+02:00,76,15\n",
                  &plain);
    assert_int_equal(SINCE(t, 1), JM_NS_PER_S - 9930000);
    assert_int_equal(SINCE(t, 2), JM_NS_PER_S - 9930000 + 1500 * MS);
    jm_trace_free(t);
    t = open_with("TIMESTAMP,NumImages,ContextTokens,GeneratedTokens\n"
                  "2024-10-15T12:00:00.269Z,1,1204,213\n2024-10-15T12:00:00.270Z,0,34,9\n",
                  &plain);
    assert_true(jm_trace_facts(t)->images == 1 && row(t, 0).images == 1 && row(t, 0).isl == 1204);
    assert_int_equal(SINCE(t, 1), MS);
    jm_trace_free(t);
}

/* BurstGPT by the names of its columns: version 1.2 put two more before the model, which is where a reader by
 * position goes wrong. Requests without an answer failed. */
static void burstgpt(void **state)
{
    struct jm_trace *t = open_with("Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
                                   "5,ChatGPT,472,18,490,Conversation log\n"
                                   "45,ChatGPT,1087,0,1087,Conversation log\n"
                                   "118,GPT-4,417,276,693,API log\n",
                                   &plain);
    (void)state;
    assert_string_equal(jm_trace_facts(t)->format, "burstgpt");
    assert_true(jm_trace_facts(t)->rows == 2 && jm_trace_facts(t)->failed == 1);
    assert_true(row(t, 1).isl == 417 && row(t, 1).osl == 276 && SINCE(t, 1) == 113 * JM_NS_PER_S);
    jm_trace_free(t);
    t = open_with(
        "Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
        "5.5,77,1.25,ChatGPT,472,18,490,Conversation log\n",
        &plain);
    assert_true(row(t, 0).isl == 472 && row(t, 0).osl == 18 && row(t, 0).session == 77);
    jm_trace_free(t);
}

static void sharegpt(void **state)
{
    struct jm_trace *t = open_with("[{\"id\": \"QWJhYvA_0\", \"conversations\": [{\"from\": \"human\", "
                                   "\"value\": \"Summarize \\u00e9 {\\\"a\\\": "
                                   "[1]}\"}, {\"from\": \"gpt\", \"value\": \"0123456789abcdef\"},\n "
                                   "{\"from\": \"human\", \"value\": \"More\"}, "
                                   "{\"from\": \"gpt\", \"value\": \"yes\"}]},\n"
                                   " {\"id\": \"x\", \"conversations\": []},\n"
                                   " {\"id\": \"i6IyJda_0\", \"conversations\": [{\"from\": \"gpt\", "
                                   "\"value\": \"hi\"}, {\"from\": \"human\", "
                                   "\"value\": \"q\"}, {\"from\": \"gpt\", \"value\": \"12345678\"}, "
                                   "{\"from\": \"human\", \"value\": \"last\"}]}]",
                                   &plain);
    (void)state;
    const struct jm_trace_facts *f = jm_trace_facts(t);
    assert_string_equal(f->format, "sharegpt");
    assert_true(f->rows == 2 && f->failed == 1 && f->texts && f->span == -1 && f->most_turns == 2);
    struct jm_trace_row r = row(t, 0);
    assert_int_equal(r.turns, 2);
    assert_true(jm_span_is(r.turn[0].text, "Summarize \xc3\xa9 {\"a\": [1]}"));
    assert_int_equal(r.osl, 4); /* 16 bytes, 4 a token */
    assert_true(jm_span_is(r.turn[1].text, "More") && r.turn[1].answer_bytes == 3);
    r = row(t, 1); /* begins with the user; the last words have no answer */
    assert_true(r.turns == 1 && jm_span_is(r.turn[0].text, "q") && r.osl == 2);
    jm_trace_free(t);
}

static void bailian_weka_timed_and_plain(void **state)
{
    struct jm_trace *t =
        open_with("{\"chat_id\": 159, \"parent_chat_id\": -1, \"timestamp\": 61.114, \"input_length\": 521, "
                  "\"output_length\": 132, \"type\": \"text\", \"turn\": 1, \"hash_ids\": [1089, 1090]}\n",
                  &plain);
    (void)state;
    assert_string_equal(jm_trace_facts(t)->format, "bailian");
    assert_true(row(t, 0).session == 159 && row(t, 0).block_tokens == 16 && row(t, 0).t == 61114 * MS);
    jm_trace_free(t);
    t = open_with("{\"id\": \"r1\", \"t\": 0.5, \"in\": 130, \"out\": 7, \"hash_ids\": [1, 2, \"ab\"]}\n",
                  &plain);
    assert_string_equal(jm_trace_facts(t)->format, "weka");
    assert_true(row(t, 0).isl == 130 && row(t, 0).block_tokens == 64 && row(t, 0).blocks == 3);
    jm_trace_free(t);
    t = open_with("timestamp,input_length,output_length\n250,12,3\n750,13,4\n", &plain);
    assert_string_equal(jm_trace_facts(t)->format, "timed");
    assert_int_equal(SINCE(t, 1), 500 * MS);
    jm_trace_free(t);
    t = open_with("\xef\xbb\xbft_s,isl,osl,session\n0.25,10,2,9\n1.5,11,3,9\n", &plain);
    assert_string_equal(jm_trace_facts(t)->format, "csv");
    assert_true(SINCE(t, 1) == 1250 * MS && row(t, 1).session == 9);
    jm_trace_free(t);
    t = open_with("\"t_s\";\"isl\";\"osl\"\n\"0\";\"10\";\"2.0\"\n", &plain);
    assert_int_equal(row(t, 0).osl, 2);
    jm_trace_free(t);
}

/* Times out of order are put in order, in every reader. */
static void disorder(void **state)
{
    struct jm_trace *t = open_with("t_s,isl,osl\n3,30,1\n1,10,1\n2,20,1\n2,21,1\n0,5,0\n", &plain), *d = NULL;
    (void)state;
    assert_true(jm_trace_facts(t)->reordered == 2 && jm_trace_facts(t)->rows == 4);
    put("t_s,isl,osl\n3,30,1\n1,10,1\n2,20,1\n2,21,1\n0,5,0\n");
    assert_int_equal(jm_trace_dup(t, &d, NULL), 0);
    static const int64_t want[] = {10, 20, 21, 30};
    for (int k = 0; k < 4; k++) {
        assert_int_equal(row(t, k).isl, want[k]);
        assert_int_equal(row(d, 3 - k).isl, want[3 - k]);
    }
    assert_int_equal(SINCE(t, 3),
                     3 * JM_NS_PER_S); /* the schedule begins with the earliest row, failed or not */
    jm_trace_free(d);
    jm_trace_free(t);
    unlink(path);
}

static void the_beginning_can_be_left_out(void **state)
{
    struct jm_trace_opts o = plain;
    (void)state;
    o.from = 2 * JM_NS_PER_S;
    struct jm_trace *t = open_with("t_s,isl,osl\n10,1,1\n11,2,1\n12.5,3,1\n14,4,1\n", &o);
    assert_true(jm_trace_facts(t)->rows == 2 && jm_trace_facts(t)->before == 2);
    assert_true(row(t, 0).isl == 3 && SINCE(t, 0) == 500 * MS && row(t, 1).isl == 4);
    jm_trace_free(t);
}

static void what_the_model_cannot_hold(void **state)
{
    static const char text[] = "t_s,isl,osl\n0,900,100\n1,1000,200\n2,50,2000\n";
    struct jm_trace_opts o = plain;
    struct jm_trace *t = NULL;
    struct jm_err err;
    (void)state;
    o.most_tokens = 1000;
    put(text);
    assert_int_equal(jm_trace_open(path, &o, &t, &err), JM_ERANGE);
    assert_non_null(strstr(err.text, "2 of 3 requests do not fit"));
    unlink(path);
    o.oversize = JM_OVERSIZE_CLIP;
    t = open_with(text, &o);
    assert_true(jm_trace_facts(t)->rows == 3 && jm_trace_facts(t)->oversize == 2);
    assert_true(row(t, 1).isl == 800 && row(t, 1).osl == 200);
    assert_true(row(t, 2).isl == 50 && row(t, 2).osl == 500);
    jm_trace_free(t);
    o.oversize = JM_OVERSIZE_SKIP;
    t = open_with(text, &o);
    assert_true(jm_trace_facts(t)->rows == 1 && row(t, 0).isl == 900);
    jm_trace_free(t);
}

static void what_is_wrong_is_said_where(void **state)
{
    static const struct {
        const char *text, *words;
    } bad[] = {
        {"", "is empty"},
        {"\n\n", "is empty"},
        {"hello\n", ":1: this is no trace that is known"},
        {"a,b,c\n1,2,3\n", ":1: this is no trace that is known"},
        {"t_s,isl,osl\n", "holds no request"},
        {"t_s,isl,osl\n0,5,0\n", "all of them failed in the original"},
        {"t_s,isl,osl\n0,5,1\n1,-5,1\n", ":3: a length is negative"},
        {"t_s,isl,osl\n0,5,1\n1,99999999999,1\n", ":3: a length is larger than any model"},
        {"t_s,isl,osl\n0,5,1\n1,1e300,1\n", ":3: the prompt's length"},
        {"t_s,isl,osl\n0,0,1\n", ":2: a prompt of 0 tokens"},
        {"t_s,isl,osl\nx,5,1\n", ":2: the time \"x\" cannot be read"},
        {"t_s,isl,osl\nnan,5,1\n", ":2: the time"},
        {"t_s,isl,osl\n-1,5,1\n", ":2: the time"},
        {"t_s,isl,osl\n5\n", ":2: the line has fewer columns"},
        {"TIMESTAMP,ContextTokens,GeneratedTokens\n2023-13-16 18:17:03,1,1\n", ":2: the time"},
        {"TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16,1,1\n", ":2: the time"},
        {"{\"timestamp\": 0, \"input_length\": 10, \"output_length\": 1}\n{\"timestamp\": 1, "
         "\"input_length\": 5\n",
         ":2: "},
        {"{\"timestamp\": 0, \"input_length\": 10, \"output_length\": 1}\n[1]\n",
         ":2: a line must be one JSON object"},
        {"{\"timestamp\": 0, \"input_length\": 10, \"output_length\": 1}\n{\"timestamp\": 0, "
         "\"input_length\": 10}\n",
         ":2: the object has no \"output_length\""},
        {"{\"timestamp\": 0, \"input_length\": -1, \"output_length\": 1}\n", ":1: input_length"},
        {"{\"timestamp\": 0, \"input_length\": 9, \"output_length\": 1, \"hash_ids\": 7}\n",
         ":1: hash_ids must be"},
        {"{\"timestamp\": 0, \"input_length\": 9, \"output_length\": 1, \"hash_ids\": [true]}\n",
         ":1: an item of hash_ids"},
        {"[{\"id\":1,\"conversations\":[{\"from\":\"human\",\"value\":\"a\"},{\"from\":\"gpt\",\"value\":"
         "\"b\"}]},\n{\"id\":2",
         ":2: the file ends inside its array"},
        {"[{\"conversations\":[{\"from\":\"human\",\"value\":\"a\"},{\"from\":\"gpt\",\"value\":\"b\"}]},"
         "\n7]",
         ":2: an array of objects was expected"},
    };
    struct jm_err err;
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct jm_trace *t = NULL;
        put(bad[i].text);
        int rc = jm_trace_open(path, &plain, &t, &err);
        if (rc == 0 || !strstr(err.text, bad[i].words) || !strstr(err.text, path))
            fail_msg("%s: %d %s", bad[i].text, rc, rc ? err.text : "");
        unlink(path);
    }
    struct jm_trace *t = NULL;
    assert_int_not_equal(jm_trace_open("/nonexistent/trace", &plain, &t, &err), 0);
    assert_int_not_equal(jm_trace_open("/dev/zero", &plain, &t, &err), 0);
    assert_non_null(strstr(err.text, "no regular file"));
    struct jm_trace_opts o = plain;
    o.format = "excel";
    put("t_s,isl,osl\n0,1,1\n");
    assert_int_not_equal(jm_trace_open(path, &o, &t, &err), 0);
    assert_non_null(strstr(err.text, "is not known"));
    unlink(path);
}

/* A line that never ends is refused at the limit, and costs no more than it. */
static void a_line_without_end_is_refused(void **state)
{
    struct jm_trace_opts o = plain;
    struct jm_trace *t = NULL;
    struct jm_err err;
    (void)state;
    o.line_most = 1 << 20;
    put("t_s,isl,osl\n");
    int fd = open(path, O_WRONLY | O_APPEND);
    assert_int_equal(ftruncate(fd, (off_t)1 << 30),
                     0); /* a gigabyte of zero bytes, which a file need not hold */
    close(fd);
    assert_int_equal(jm_trace_open(path, &o, &t, &err), JM_ELIMIT);
    assert_non_null(strstr(err.text, ":2: a line is longer than 1 MiB"));
    unlink(path);
}

/* Reading costs no memory that grows with the file: 200,000 rows in order, and as many out of order with an
 * index of 16 bytes each. */
static void memory_does_not_grow_with_the_trace(void **state)
{
    struct rusage before, after;
    (void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    skip(); /* their own memory is measured too */
#endif
    for (int disorder = 0; disorder < 2; disorder++) {
        struct jm_trace *t = NULL;
        struct jm_err err;
        put("");
        FILE *f = fopen(path, "wb");
        fputs("t_s,isl,osl\n", f);
        for (int i = 0; i < 200000; i++)
            fprintf(f, "%d.5,%d,7\n", disorder ? 200000 - i : i, 100 + i % 900);
        fclose(f);
        getrusage(RUSAGE_SELF, &before);
        assert_int_equal(jm_trace_open(path, &plain, &t, &err), 0);
        assert_int_equal(jm_trace_facts(t)->rows, 200000);
        for (int k = 0; k < 200000; k += disorder ? 997 : 1)
            assert_int_equal(row(t, k).isl, 100 + (disorder ? 199999 - k : k) % 900);
        getrusage(RUSAGE_SELF, &after);
        jm_trace_free(t);
        unlink(path);
        /* KiB; half as much again while the index grows */
        assert_true(after.ru_maxrss - before.ru_maxrss <
                    (disorder ? 200000 * 16 * 5 / 2 / 1024 + 2048 : 2048));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_does_not_grow_with_the_trace),
        cmocka_unit_test(mooncake),
        cmocka_unit_test(azure),
        cmocka_unit_test(burstgpt),
        cmocka_unit_test(sharegpt),
        cmocka_unit_test(bailian_weka_timed_and_plain),
        cmocka_unit_test(disorder),
        cmocka_unit_test(the_beginning_can_be_left_out),
        cmocka_unit_test(what_the_model_cannot_hold),
        cmocka_unit_test(what_is_wrong_is_said_where),
        cmocka_unit_test(a_line_without_end_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
