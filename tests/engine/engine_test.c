/* SPDX-License-Identifier: Apache-2.0 */
/* Texts in the style of each engine's public documentation, in pairs: what the second says minus what the
 * first says can be read off them. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "engine/telemetry.h"

static void read_text(struct jm_engine_reading *r, const char *dialect, const char *text)
{
    struct jm_err err = {0};
    jm_engine_reading_init(r);
    if (jm_engine_read(r, dialect ? jm_engine_dialect_find(dialect) : NULL, jm_span_of(text), &err))
        fail_msg("%s", err.text);
}

struct pair {
    struct jm_engine_reading a, b;
    struct jm_engine_step step;
};

static struct pair step(const char *dialect, const char *before, const char *after)
{
    struct pair p;
    read_text(&p.a, dialect, before);
    read_text(&p.b, dialect, after);
    jm_engine_step(&p.a, &p.b, &p.step);
    return p;
}

static void end(struct pair *p)
{
    jm_engine_reading_release(&p->a);
    jm_engine_reading_release(&p->b);
}

static void moved(const struct pair *p, enum jm_eq q, double want)
{
    if (isnan(want) ? p->step.have[q] : !p->step.have[q] || fabs(p->step.d[q] - want) > 1e-9)
        fail_msg("%s: %g (%d), wanted %g", jm_eq_name((int)q), p->step.d[q], p->step.have[q], want);
}

static void is_gauge(const struct pair *p, enum jm_eq q, double want, double want_most)
{
    double most, v = jm_engine_gauge(&p->b, q, &most);
    if (isnan(want) ? !isnan(v) : !(fabs(v - want) < 1e-9) || !(fabs(most - want_most) < 1e-9))
        fail_msg("%s: %g, most %g", jm_eq_name((int)q), v, most);
}

/* Two engines of one server (data parallel), names of V1. */
static void vllm(void **state)
{
    (void)state;
    struct pair p =
        step(NULL,
             "# TYPE vllm:num_requests_running "
             "gauge\nvllm:num_requests_running{engine=\"0\",model_name=\"m\"} 8.0\n"
             "# TYPE vllm:prompt_tokens_total counter\n"
             "vllm:prompt_tokens_total{engine=\"0\",model_name=\"m\"} 100.0\n"
             "vllm:prompt_tokens_total{engine=\"1\",model_name=\"m\"} 1000.0\n"
             "# TYPE vllm:prompt_tokens_created gauge\n"
             "vllm:prompt_tokens_created{engine=\"0\",model_name=\"m\"} 1.7e+09\n"
             "# TYPE vllm:generation_tokens_total counter\n"
             "vllm:generation_tokens_total{engine=\"0\",model_name=\"m\"} 27453.0\n"
             "vllm:generation_tokens_total{engine=\"1\",model_name=\"m\"} 10.0\n"
             "# TYPE vllm:request_success_total counter\n"
             "vllm:request_success_total{engine=\"0\",finished_reason=\"length\",model_name=\"m\"} 131.0\n"
             "# TYPE vllm:iteration_tokens_total histogram\n"
             "vllm:iteration_tokens_total_bucket{engine=\"0\",le=\"+Inf\",model_name=\"m\"} 500.0\n"
             "vllm:iteration_tokens_total_count{engine=\"0\",model_name=\"m\"} 500.0\n"
             "vllm:iteration_tokens_total_sum{engine=\"0\",model_name=\"m\"} 900.0\n"
             "# TYPE vllm:request_prefill_time_seconds histogram\n"
             "vllm:request_prefill_time_seconds_sum{engine=\"0\",model_name=\"m\"} 1.5\n",
             /* labels in another order, a label value that is new, one series twice */
             "vllm:num_requests_running{model_name=\"m\",engine=\"0\"} 6\n"
             "vllm:num_requests_running{model_name=\"m\",engine=\"1\"} 2\n"
             "vllm:num_requests_waiting{model_name=\"m\",engine=\"0\"} 3\n"
             "vllm:kv_cache_usage_perc{engine=\"0\",model_name=\"m\"} 0.25\n"
             "vllm:kv_cache_usage_perc{engine=\"1\",model_name=\"m\"} 0.75\n"
             "vllm:gpu_cache_usage_perc{engine=\"1\",model_name=\"m\"} 0.99\n"
             "vllm:prompt_tokens_total{model_name=\"m\",engine=\"0\"} 150\n"
             "vllm:prompt_tokens_total{model_name=\"m\",engine=\"1\"} 1007\n"
             "vllm:prompt_tokens_created{engine=\"0\",model_name=\"m\"} 1.7e+09\n"
             "vllm:generation_tokens_total{model_name=\"m\",engine=\"0\"} 27553\n"
             "vllm:generation_tokens_total{model_name=\"m\",engine=\"0\"} 99999\n"
             "vllm:generation_tokens_total{model_name=\"m\",engine=\"1\"} 40\n"
             "vllm:request_success_total{engine=\"0\",finished_reason=\"length\",model_name=\"m\"} 135.0\n"
             "vllm:request_success_total{engine=\"0\",finished_reason=\"abort\",model_name=\"m\"} 2.0\n"
             "# TYPE vllm:iteration_tokens_total histogram\n"
             "vllm:iteration_tokens_total_count{engine=\"0\",model_name=\"m\"} 520.0\n"
             "vllm:iteration_tokens_total_sum{engine=\"0\",model_name=\"m\"} 1000.0\n"
             "vllm:request_prefill_time_seconds_sum{engine=\"0\",model_name=\"m\"} 1.75\n"
             "vllm:prompt_tokens_by_source_total{engine=\"0\",source=\"local_compute\"} 5\n"
             "vllm:prompt_tokens_by_source_total{engine=\"0\",source=\"local_cache_hit\"} 11\n"
             "vllm:prompt_tokens_by_source_total{engine=\"0\",source=\"external_kv_transfer\"} 2\n");
    assert_string_equal(p.b.dialect->name, "vllm");
    moved(&p, JM_EQ_PROMPT, 57);
    moved(&p, JM_EQ_GEN_STEP, 130); /* 100 + 30: replicas are added up, a duplicate is not */
    assert_int_equal(p.b.duplicates, 1);
    moved(&p, JM_EQ_REQ_LENGTH, 4);
    moved(&p, JM_EQ_REQ_ABORT, 2); /* a label value that is new began at 0 */
    moved(&p, JM_EQ_REQ_ALL, 6);
    moved(&p, JM_EQ_STEPS, 20);
    moved(&p, JM_EQ_PREFILL_S, 0.25);
    moved(&p, JM_EQ_CACHED, 13);
    moved(&p, JM_EQ_PREEMPT, NAN);
    is_gauge(&p, JM_EQ_RUNNING, 8, 6);
    is_gauge(&p, JM_EQ_WAITING, 3, 3);
    is_gauge(&p, JM_EQ_KV_USE, 0.5, 0.75); /* the new name, mean over engines; 0 to 1 */
    assert_int_equal(p.step.resets, 0);
    end(&p);
    /* names of V0, without the label engine */
    p = step(NULL, "vllm:generation_tokens_total{model_name=\"m\"} 5\nvllm:gpu_prefix_cache_hits_total 3\n",
             "vllm:generation_tokens_total{model_name=\"m\"} 9\nvllm:gpu_prefix_cache_hits_total 10\n"
             "vllm:gpu_cache_usage_perc 0.4\nvllm:num_requests_swapped 1\n");
    moved(&p, JM_EQ_GEN_STEP, 4);
    moved(&p, JM_EQ_PREFIX_HIT, 7);
    is_gauge(&p, JM_EQ_KV_USE, 0.4, 0.4);
    is_gauge(&p, JM_EQ_SWAPPED, 1, 1);
    end(&p);
    /* a gauge of each API server is a copy */
    p = step("vllm", "", "vllm:num_requests_running{pid=\"1\"} 7\nvllm:num_requests_running{pid=\"2\"} 8\n");
    is_gauge(&p, JM_EQ_RUNNING, 8, 8);
    assert_int_equal(p.b.copies, 1);
    end(&p);
}

static void sglang(void **state)
{
    (void)state;
    /* two pipeline ranks show the same; two data-parallel ranks are two replicas */
    static const char before[] =
        "# TYPE sglang:realtime_tokens_total counter\n"
        "sglang:realtime_tokens_total{dp_rank=\"0\",mode=\"decode\",pp_rank=\"0\",tp_rank=\"0\"} 1.0e+02\n"
        "sglang:realtime_tokens_total{dp_rank=\"0\",mode=\"decode\",pp_rank=\"1\",tp_rank=\"0\"} 1.0e+02\n"
        "sglang:realtime_tokens_total{dp_rank=\"1\",mode=\"decode\",pp_rank=\"0\",tp_rank=\"0\"} 5\n"
        "sglang:realtime_tokens_total{dp_rank=\"0\",mode=\"prefill_cache\",pp_rank=\"0\",tp_rank=\"0\"} 7\n"
        "sglang:time_to_first_token_seconds_count{model_name=\"m\"} 11008.0\n"
        "sglang:generation_tokens_total{model_name=\"meta-llama/Llama-3.1-8B-Instruct\"} 7.557572e+06\n";
    static const char after[] =
        "sglang:realtime_tokens_total{dp_rank=\"0\",mode=\"decode\",pp_rank=\"0\",tp_rank=\"0\"} 1.5e+02\n"
        "sglang:realtime_tokens_total{dp_rank=\"0\",mode=\"decode\",pp_rank=\"1\",tp_rank=\"0\"} 1.5e+02\n"
        "sglang:realtime_tokens_total{dp_rank=\"1\",mode=\"decode\",pp_rank=\"0\",tp_rank=\"0\"} 25\n"
        "sglang:realtime_tokens_total{dp_rank=\"0\",mode=\"prefill_cache\",pp_rank=\"0\",tp_rank=\"0\"} 9\n"
        "sglang:realtime_tokens_total{dp_rank=\"0\",mode=\"prefill_compute\",pp_rank=\"0\",tp_rank=\"0\"} "
        "99\n"
        "sglang:time_to_first_token_seconds_count{model_name=\"m\"} 11012.0\n"
        "sglang:generation_tokens_total{model_name=\"meta-llama/Llama-3.1-8B-Instruct\"} 7.557602e+06\n"
        "sglang:num_running_reqs{model_name=\"m\",tp_rank=\"0\"} 162.0\n"
        "sglang:num_running_reqs{model_name=\"m\",tp_rank=\"1\"} 162.0\n"
        "sglang:num_queue_reqs{model_name=\"m\"} 2826.0\nsglang:token_usage{model_name=\"m\"} 0.28\n"
        "sglang:num_retracted_requests_total 3\nsglang:num_retracted_reqs 1\n";
    struct pair p = step(NULL, before, after);
    assert_string_equal(p.b.dialect->name, "sglang");
    moved(&p, JM_EQ_GEN_STEP, 50 + 20 + 4); /* decode of both replicas, and four first tokens */
    moved(&p, JM_EQ_GEN_END, 30);
    moved(&p, JM_EQ_CACHED, 2);
    moved(&p, JM_EQ_PREEMPT, 3);
    is_gauge(&p, JM_EQ_RUNNING, 162, 162);
    is_gauge(&p, JM_EQ_WAITING, 2826, 2826);
    is_gauge(&p, JM_EQ_KV_USE, 0.28, 0.28);
    end(&p);
    /* a gateway that writes _ for : */
    p = step(NULL, "sglang_generation_tokens_total 1\n", "sglang_generation_tokens_total 4\n");
    assert_string_equal(p.b.dialect->name, "sglang");
    moved(&p, JM_EQ_GEN_END, 3);
    moved(&p, JM_EQ_GEN_STEP, NAN);
    end(&p);
}

static void others(void **state)
{
    (void)state;
    struct pair p =
        step(NULL, "# TYPE tgi_request_generated_tokens histogram\ntgi_request_generated_tokens_sum 10\n",
             "# TYPE tgi_request_generated_tokens histogram\ntgi_request_generated_tokens_sum 60\n"
             "# TYPE tgi_request_failure counter\ntgi_request_failure{err=\"overloaded\"} 2\n"
             "tgi_request_failure{err=\"validation\"} 1\ntgi_queue_size 4\ntgi_batch_current_size 9\n"
             "# TYPE tgi_batch_inference_duration histogram\n"
             "tgi_batch_inference_duration_sum{method=\"prefill\"} 0.5\n"
             "tgi_batch_inference_duration_sum{method=\"decode\"} 2.5\n");
    assert_string_equal(p.b.dialect->name, "tgi");
    moved(&p, JM_EQ_GEN_END, 50);
    moved(&p, JM_EQ_GEN_STEP, NAN);
    moved(&p, JM_EQ_REQ_ERROR, 3);
    moved(&p, JM_EQ_PREFILL_S, 0.5);
    moved(&p, JM_EQ_DECODE_S, 2.5);
    is_gauge(&p, JM_EQ_WAITING, 4, 4);
    is_gauge(&p, JM_EQ_RUNNING, 9, 9);
    end(&p);

    p = step(NULL, "trtllm_generation_tokens_total{model_name=\"m\"} 5\n",
             "trtllm_generation_tokens_total{model_name=\"m\"} 12\ntrtllm_kv_cache_utilization 0.31\n"
             "trtllm_num_requests_running 4\ntrtllm_request_success_total{finished_reason=\"length\"} 1\n");
    assert_string_equal(p.b.dialect->name, "trtllm");
    moved(&p, JM_EQ_GEN_END, 7);
    moved(&p, JM_EQ_REQ_LENGTH, 1);
    is_gauge(&p, JM_EQ_KV_USE, 0.31, 0.31);
    end(&p);
    /* the JSON of its /metrics: the last entry is now */
    p = step(NULL, "[]",
             "[{\"iter\":153,\"numActiveRequests\":9},{\"gpuMemUsage\":76665782272,\"iter\":154,"
             "\"kvCacheStats\":{\"usedNumBlocks\":3,\"maxNumBlocks\":12},\"numActiveRequests\":1,"
             "\"numQueuedRequests\":2}]");
    assert_string_equal(p.b.dialect->name, "trtllm");
    is_gauge(&p, JM_EQ_RUNNING, 1, 1);
    is_gauge(&p, JM_EQ_WAITING, 2, 2);
    is_gauge(&p, JM_EQ_KV_USE, 0.25, 0.25);
    end(&p);
    p = step("trtllm", "{\"total_energy_joules\": 100.5, \"gpus\": 2}", "{\"total_energy_joules\": 101.75}");
    moved(&p, JM_EQ_ENERGY, 1.25);
    end(&p);
    /* names without prefix of TensorRT-LLM before 1.3, which NIM has too */
    p = step(NULL, "",
             "e2e_request_latency_seconds_sum{engine_type=\"undefined\",model_name=\"m\"} 3.4\n"
             "request_success_total{engine_type=\"undefined\",finished_reason=\"length\"} 2\n");
    assert_string_equal(p.b.dialect->name, "trtllm");
    end(&p);

    p = step(NULL,
             "num_request_max 256\nprompt_tokens_total{model_name=\"m\"} 4\ngeneration_tokens_total 1\n",
             "num_request_max 256\nprompt_tokens_total{model_name=\"m\"} 9\ngeneration_tokens_total 3\n"
             "num_requests_running 2\nnum_requests_waiting 1\ngpu_cache_usage_perc 0.02\n"
             "request_finish_total{finished_reason=\"stop\"} 4\n");
    assert_string_equal(p.b.dialect->name, "nim");
    moved(&p, JM_EQ_PROMPT, 5);
    moved(&p, JM_EQ_GEN_STEP, 2);
    moved(&p, JM_EQ_REQ_STOP, 4);
    is_gauge(&p, JM_EQ_RUNNING, 2, 2);
    end(&p);

    p = step(
        NULL, "dynamo_frontend_output_tokens_total{model=\"m\"} 500000\n",
        "dynamo_frontend_output_tokens_total{model=\"m\"} 500100\n"
        "dynamo_frontend_requests_total{endpoint=\"completions\",model=\"m\",request_type=\"stream\","
        "status=\"success\"} 6\n"
        "dynamo_frontend_requests_total{endpoint=\"chat_completions\",model=\"m\",request_type=\"unary\","
        "status=\"error\"} 1\n"
        "dynamo_frontend_inflight_requests{model=\"m\"} 12\ndynamo_frontend_queued_requests 3\n");
    assert_string_equal(p.b.dialect->name, "dynamo");
    moved(&p, JM_EQ_GEN_STEP, 100);
    moved(&p, JM_EQ_REQ_OK, 6);
    moved(&p, JM_EQ_REQ_ERROR, 1);
    moved(&p, JM_EQ_REQ_ALL, 7);
    is_gauge(&p, JM_EQ_RUNNING, 12, 12);
    end(&p);
}

/* Counters that begin again: by a decrease, by _created, by the process's start. */
static void resets(void **state)
{
    (void)state;
    /* one of two replicas restarts: the sum grows all the same */
    struct pair p = step("vllm",
                         "vllm:generation_tokens_total{engine=\"0\"} 100\n"
                         "vllm:generation_tokens_total{engine=\"1\"} 50\n",
                         "vllm:generation_tokens_total{engine=\"0\"} 300\n"
                         "vllm:generation_tokens_total{engine=\"1\"} 7\n");
    assert_int_equal(p.step.resets, 1);
    moved(&p, JM_EQ_GEN_STEP, 207); /* at least */
    end(&p);
    /* it made more than before: only _created tells */
    p = step("vllm", "vllm:generation_tokens_total 100\nvllm:generation_tokens_created 1.7e9\n",
             "vllm:generation_tokens_total 150\nvllm:generation_tokens_created 1700000100\n");
    assert_int_equal(p.step.resets, 1);
    moved(&p, JM_EQ_GEN_STEP, 150);
    end(&p);
    p = step("vllm", "process_start_time_seconds 1.7e9\nvllm:generation_tokens_total 100\n",
             "process_start_time_seconds 1700000100\nvllm:generation_tokens_total 150\n");
    assert_int_equal(p.step.resets, 1);
    assert_true(p.step.restart);
    moved(&p, JM_EQ_GEN_STEP, 150);
    end(&p);
    /* a running mean that is typed counter is none (llama.cpp) */
    p = step("llamacpp",
             "# TYPE llamacpp:n_busy_slots_per_decode counter\n"
             "llamacpp:n_busy_slots_per_decode 3\nllamacpp:n_decode_total 5\n",
             "# TYPE llamacpp:n_busy_slots_per_decode counter\n"
             "llamacpp:n_busy_slots_per_decode 1.5\nllamacpp:n_decode_total 6\n");
    assert_int_equal(p.step.resets, 0);
    moved(&p, JM_EQ_STEPS, 1);
    end(&p);
    /* a replica that is gone */
    p = step("vllm",
             "vllm:generation_tokens_total{engine=\"0\"} 1\nvllm:generation_tokens_total{engine=\"1\"} 2\n",
             "vllm:generation_tokens_total{engine=\"0\"} 5\n");
    assert_int_equal(p.step.vanished, 1);
    assert_int_equal(p.step.resets, 0);
    moved(&p, JM_EQ_GEN_STEP, 4);
    end(&p);
}

#define SLOT(id, task, n) "joulemark_slot_n_decoded{id=\"" #id "\",task=\"" #task "\"} " #n "\n"
#define LC(predicted, running)                                                                               \
    "llamacpp:tokens_predicted_total " #predicted "\nllamacpp:requests_processing " #running                 \
    "\njoulemark_slots 4\n"

/* llama.cpp counts at the end of a request; with /slots a window sees what was made in it. */
static void llama_slots(void **state)
{
    (void)state;
    /* 26 counted; a request of 1,500 tokens runs: 900 of them in this step, none counted */
    struct pair p = step("llamacpp", LC(26, 1) SLOT(0, 7, 100), LC(26, 1) SLOT(0, 7, 1000));
    moved(&p, JM_EQ_GEN_END, 0);
    moved(&p, JM_EQ_GEN_STEP, 900);
    end(&p);
    /* it ended: 1,500 are counted, 500 of them were made in this step; another began */
    p = step("llamacpp", LC(26, 1) SLOT(0, 7, 1000), LC(1526, 1) SLOT(0, 9, 20));
    moved(&p, JM_EQ_GEN_END, 1500);
    moved(&p, JM_EQ_GEN_STEP, 520);
    assert_true(p.step.lost == 0);
    end(&p);
    /* it was aborted at 231 or later: no counter has it */
    p = step("llamacpp", LC(26, 1) SLOT(0, 7, 231), LC(26, 0));
    moved(&p, JM_EQ_GEN_END, 0);
    moved(&p, JM_EQ_GEN_STEP, 0);
    assert_true(p.step.lost == 231);
    end(&p);
    /* without /slots there is no count per step */
    p = step("llamacpp", "llamacpp:tokens_predicted_total 3\n", "llamacpp:tokens_predicted_total 5\n");
    moved(&p, JM_EQ_GEN_STEP, NAN);
    end(&p);
    /* what is kept of /slots holds no prompt, and any form of next_token */
    struct jm_str out;
    struct jm_err err;
    jm_str_init(&out);
    assert_int_equal(
        jm_engine_slots(
            JM_SPAN("[{\"id\":0,\"id_task\":14,\"is_processing\":true,\"prompt\":\"a secret\","
                    "\"next_token\":{\"n_decoded\":6}},{\"id\":1,\"id_task\":3,\"is_processing\":false,"
                    "\"next_token\":{\"n_decoded\":9}},{\"id\":2,\"id_task\":15,\"is_processing\":true,"
                    "\"params\":{\"prompt\":\"secret\"},\"next_token\":[{\"n_decoded\":4}]}]"),
            &out, &err),
        0);
    assert_null(strstr(out.buf, "secret"));
    assert_non_null(strstr(out.buf, "joulemark_slots 3\n"));
    assert_non_null(strstr(out.buf, "joulemark_slot_n_decoded{id=\"0\",task=\"14\"} 6\n"));
    assert_non_null(strstr(out.buf, "joulemark_slot_n_decoded{id=\"2\",task=\"15\"} 4\n"));
    assert_null(strstr(out.buf, "id=\"1\""));
    assert_int_equal(jm_engine_slots(JM_SPAN("{\"error\":1}"), &out, &err), JM_EPARSE);
    jm_str_release(&out);
}

/* A counter that said no number and says one again: what came meanwhile is lost, and that has to be told. */
static void counter_without_number(void **state)
{
    (void)state;
    static const char nan[] = "# TYPE vllm:generation_tokens_total counter\n"
                              "vllm:generation_tokens_total{engine=\"0\"} NaN\n",
                      inf[] = "# TYPE vllm:generation_tokens_total counter\n"
                              "vllm:generation_tokens_total{engine=\"0\"} 1e309\n",
                      hundred[] = "# TYPE vllm:generation_tokens_total counter\n"
                                  "vllm:generation_tokens_total{engine=\"0\"} 100\n";
    struct pair p = step("vllm", nan, hundred);
    assert_true(p.step.resets == 1 && p.step.d[JM_EQ_GEN_STEP] == 0);
    end(&p);
    p = step("vllm", inf, hundred);
    assert_true(p.step.resets == 1 && p.step.d[JM_EQ_GEN_STEP] == 0);
    end(&p);
    p = step("vllm", inf, inf);
    assert_true(p.step.resets == 0 && p.step.d[JM_EQ_GEN_STEP] == 0);
    end(&p);
}

/* 10 answers under 20 ms, 30 under 40 ms and 60 more under 60 ms came in the window. */
static const char hist_before[] = "# TYPE vllm:time_to_first_token_seconds histogram\n"
                                  "vllm:time_to_first_token_seconds_bucket{engine=\"0\",le=\"0.02\"} 5\n"
                                  "vllm:time_to_first_token_seconds_bucket{engine=\"0\",le=\"0.04\"} 5\n"
                                  "vllm:time_to_first_token_seconds_bucket{engine=\"0\",le=\"0.06\"} 6\n"
                                  "vllm:time_to_first_token_seconds_bucket{engine=\"0\",le=\"+Inf\"} 6\n"
                                  "vllm:time_to_first_token_seconds_sum{engine=\"0\"} 1\n",
                  hist_after[] = "# TYPE vllm:time_to_first_token_seconds histogram\n"
                                 "vllm:time_to_first_token_seconds_bucket{engine=\"0\",le=\"0.02\"} 15\n"
                                 "vllm:time_to_first_token_seconds_bucket{engine=\"0\",le=\"0.04\"} 25\n"
                                 "vllm:time_to_first_token_seconds_bucket{engine=\"0\",le=\"0.06\"} 86\n"
                                 "vllm:time_to_first_token_seconds_bucket{engine=\"0\",le=\"+Inf\"} 86\n"
                                 "vllm:time_to_first_token_seconds_sum{engine=\"0\"} 4\n"
                                 "vllm:time_to_first_token_seconds_bucket{engine=\"1\",le=\"0.02\"} 0\n"
                                 "vllm:time_to_first_token_seconds_bucket{engine=\"1\",le=\"0.04\"} 20\n"
                                 "vllm:time_to_first_token_seconds_bucket{engine=\"1\",le=\"0.06\"} 20\n"
                                 "vllm:time_to_first_token_seconds_bucket{engine=\"1\",le=\"+Inf\"} 20\n"
                                 "vllm:time_to_first_token_seconds_sum{engine=\"1\"} 0.5\n";

static void histograms(void **state)
{
    (void)state;
    struct pair p = step("vllm", hist_before, hist_after);
    struct jm_engine_hist h;
    double lo, hi;
    assert_true(jm_engine_hist(&p.a, &p.b, JM_EQ_H_TTFT, &h));
    assert_int_equal(h.n, 4);
    assert_true(h.count[0] == 10 && h.count[1] == 30 && h.count[2] == 60 - 0 && h.count[3] == 0);
    assert_true(h.total == 100 && fabs(h.sum - 3.5) < 1e-12);
    /* rank 50 is the 10th of the 60 in (0.04, 0.06] */
    assert_true(fabs(jm_engine_hist_quantile(&h, 0.5, &lo, &hi) - (0.04 + 0.02 * 10 / 60)) < 1e-12);
    assert_true(lo == 0.04 && hi == 0.06);
    assert_true(fabs(jm_engine_hist_quantile(&h, 0.1, &lo, &hi) - 0.02) < 1e-12);
    end(&p);
    /* above the last finite edge nothing is known but that */
    p = step("vllm", "",
             "vllm:time_to_first_token_seconds_bucket{le=\"1\"} 1\n"
             "vllm:time_to_first_token_seconds_bucket{le=\"+Inf\"} 10\n");
    assert_true(jm_engine_hist(&p.a, &p.b, JM_EQ_H_TTFT, &h));
    assert_true(isnan(jm_engine_hist_quantile(&h, 0.99, &lo, &hi)) && lo == 1 && hi == INFINITY);
    end(&p);
    /* a reset in between, no +Inf, nothing */
    p = step("vllm", hist_after, hist_before);
    assert_false(jm_engine_hist(&p.a, &p.b, JM_EQ_H_TTFT, &h));
    assert_false(jm_engine_hist(&p.a, &p.b, JM_EQ_H_E2E, &h));
    end(&p);
}

static void excerpts(void **state)
{
    struct jm_str out;
    struct jm_err err;
    struct jm_engine_reading r;
    (void)state;
    jm_str_init(&out);
    assert_int_equal(jm_engine_excerpt(jm_engine_dialect_find("vllm"), jm_span_of(hist_after), &out, &err),
                     0);
    assert_null(strstr(out.buf, "bucket"));
    jm_str_reset(&out);
    assert_int_equal(jm_engine_excerpt(jm_engine_dialect_find("vllm"),
                                       JM_SPAN("# HELP vllm:generation_tokens_total x\n"
                                               "# TYPE vllm:generation_tokens_total counter\n"
                                               "vllm:generation_tokens_total{engine=\"0\"} 12\n"
                                               "python_gc_objects_collected_total{generation=\"0\"} 3\n"
                                               "process_start_time_seconds 1.7e9\n"),
                                       &out, &err),
                     0);
    assert_string_equal(out.buf,
                        "# joulemark: excerpt of 211 bytes\nvllm:generation_tokens_total{engine=\"0\"} 12\n"
                        "process_start_time_seconds 1.7e9\n");
    read_text(&r, NULL, out.buf);
    assert_true(r.excerpt);
    assert_string_equal(r.dialect->name, "vllm");
    assert_true(r.start_time == 1.7e9);
    jm_engine_reading_release(&r);
    jm_str_reset(&out);
    jm_engine_note_absent(&out, "connection refused");
    read_text(&r, NULL, out.buf);
    assert_string_equal(r.absent, "connection refused");
    jm_engine_reading_release(&r);
    jm_str_release(&out);
    /* nothing of an engine: a web page, another exporter, an empty answer */
    static const char *const none[] = {"",
                                       "<!doctype html><html><body>404</body></html>\n",
                                       "{\"detail\":\"Not Found\"}",
                                       "# TYPE up gauge\nup 1\ngo_goroutines 12\n",
                                       "\x1f\x8b\x08",
                                       "[1,2"};
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
        read_text(&r, NULL, none[i]);
        if (i != 2)
            assert_null(r.dialect);
        assert_int_equal(jm_engine_row(&r, JM_EQ_GEN_STEP), -1);
        jm_engine_reading_release(&r);
    }
}

static void table(void **state)
{
    (void)state;
    for (size_t d = 0; jm_engine_dialects[d]; d++) {
        const struct jm_engine_dialect *e = jm_engine_dialects[d];
        size_t n = 0;
        assert_true(e->name && e->title && e->paths && e->traps && e->traps[0] && e->source);
        assert_ptr_equal(jm_engine_dialect_find(e->name), e);
        for (const struct jm_engine_map *m = e->map; m->name; m++, n++) {
            bool hist = m->q >= JM_EQ_GAUGES;
            assert_true(m->q >= 0 && m->q < JM_EQ_COUNT);
            assert_int_equal(hist, m->part == JM_EM_BUCKETS);
            assert_true(!m->label || strchr(m->label, '='));
        }
        assert_true(n >= 3 && n < 128);
    }
    assert_string_equal(jm_engine_dialect_of("llama.cpp b4748")->name, "llamacpp");
    assert_string_equal(jm_engine_dialect_of("vllm 0.26.0")->name, "vllm");
    assert_null(jm_engine_dialect_of("ollama 0.5"));
    assert_null(jm_engine_dialect_of(""));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(vllm),       cmocka_unit_test(sglang),      cmocka_unit_test(others),
        cmocka_unit_test(resets),     cmocka_unit_test(llama_slots), cmocka_unit_test(counter_without_number),
        cmocka_unit_test(histograms), cmocka_unit_test(excerpts),    cmocka_unit_test(table)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
