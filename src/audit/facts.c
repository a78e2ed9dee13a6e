/* SPDX-License-Identifier: Apache-2.0 */
/* Facts that a person declares, because no instrument tells them. */
#include <stdio.h>
#include <string.h>

#include "audit/audit.h"
#include "base/near.h"
#include "base/str.h"

#include "base/banned.h"

const struct jm_fact jm_fact_table[] = {
    {"model", "model, with its revision", "meta-llama/Llama-3.1-70B-Instruct@1605565"},
    {"precision", "number formats of weights, activations and KV cache", "FP8 weights, FP8 KV cache"},
    {"tokenizer", "tokenizer that tokens are counted by", "that of the model"},
    {"decoding", "sampling and stopping rules", "temperature 0, stop at EOS"},
    {"engine", "serving engine and version", "vLLM 0.11.1"},
    {"parallelism", "how the model is spread over devices", "tensor 8"},
    {"workload", "what the prompts are", "ShareGPT, 2,000 conversations"},
    {"load", "load level", "20 requests/s, Poisson"},
    {"accelerators", "number and model of the accelerators", "8 x H100 SXM5 80GB"},
    {"driver", "version of the device driver", "580.95.05"},
    {"power-limit", "power limit that is enforced", "600 W of 700 W"},
    {"clocks", "clocks that are locked", "SM 1,410 MHz locked"},
    {"idle", "how idle power is treated", "not subtracted"},
    {"calibration", "what the instruments were checked against",
     "WT333E, certificate 2026-03, 1 point a load"},
    {"meter-accuracy", "accuracy of the outermost meter, percent of reading", "1"},
    {"interconnect", "power of the network, measured or from maker data", "2 x 600 W, maximum specified"},
    {"machine", "share of the machine that was measured: nodes measured of nodes in all",
     "16 of 128 nodes, chosen at random"},
    {"psu-loss", "loss between wall and where was measured, and whose figure",
     "6 %, 80 PLUS Titanium report"},
    {"battery", "energy storage between meter and machine", "none"},
    {"quality", "quality of the answers, by which test", "MMLU-Pro 0.62"},
    {"cotenants", "other work on the machine", "none"},
    {"pue", "PUE of the site and its period", "1.2, 2025"},
    {"grid", "grid that the power comes from", "FR, EDF contract"},
    {"site", "where the machine stands", "Marseille"},
    {"ambient", "inlet air temperature", "24 °C"},
    {"parameters", "parameters of the model", "70.6e9"},
    {"active-parameters", "parameters that a token passes through", "70.6e9"},
    {"purchase", "own, or bought: whose energy it is", "own"},
    {"task", "task, for the exports that name one", "text-generation"},
    {"note", "anything else a reader should know", "second run after a reboot"},
    {NULL, NULL, NULL}};

int jm_fact_parse(const char *text, const struct jm_fact **fact, const char **value, struct jm_err *err)
{
    struct jm_span s = jm_span_of(text);
    ptrdiff_t eq = jm_span_chr(s, '=');
    if (eq <= 0 || (size_t)eq + 1 >= s.n)
        return jm_err_set(err, JM_EUSAGE, "--fact: \"%.60s\" is not KEY=VALUE, such as precision=FP8", text);
    struct jm_span key = {s.p, (size_t)eq};
    const struct jm_fact *near = NULL;
    unsigned least = 99;
    for (const struct jm_fact *f = jm_fact_table; f->key; f++) {
        unsigned d = jm_near_distance(key, jm_span_of(f->key));
        if (jm_span_is(key, f->key)) {
            if (s.n - key.n - 1 > JM_FACT_MAX)
                return jm_err_set(err, JM_EUSAGE, "--fact %s: the text is longer than %d bytes", f->key,
                                  JM_FACT_MAX);
            *fact = f;
            *value = text + eq + 1;
            return 0;
        }
        if (d < least) {
            least = d;
            near = f;
        }
    }
    struct jm_str all;
    jm_str_init(&all);
    for (const struct jm_fact *f = jm_fact_table; f->key; f++)
        jm_str_addf(&all, "%s%s", all.len ? ", " : "", f->key);
    int rc = near && jm_near_plausible(least, key.n)
                 ? jm_err_set(err, JM_EUSAGE, "--fact: \"%.*s\" is not known; %s is (%s)",
                              (int)(key.n < 60 ? key.n : 60), key.p, near->key, near->what)
                 : jm_err_set(err, JM_EUSAGE, "--fact: \"%.*s\" is not one of %s",
                              (int)(key.n < 60 ? key.n : 60), key.p, all.buf);
    jm_str_release(&all);
    return rc;
}

const char *jm_fact_of(const struct jm_run *run, const struct jm_report *r, const char *key)
{
    char name[64];
    for (size_t i = r->n_declared; i-- > 0;)
        if (strcmp(r->declared[i].key, key) == 0)
            return r->declared[i].value;
    snprintf(name, sizeof name, "fact.%s", key);
    const char *v = jm_run_env(run, name);
    return v && v[0] ? v : NULL;
}

int jm_fact_declare(struct jm_report *r, const char *text, struct jm_err *err)
{
    const struct jm_fact *f;
    const char *value;
    int rc = jm_fact_parse(text, &f, &value, err);
    if (rc)
        return rc;
    struct jm_kv *kv = jm_report_alloc(r, (r->n_declared + 1) * sizeof *kv);
    if (!kv || !(value = jm_report_text(r, "%s", value)))
        return jm_err_set(err, JM_ENOMEM, "out of memory for the facts");
    if (r->n_declared)
        memcpy(kv, r->declared, r->n_declared * sizeof *kv);
    kv[r->n_declared++] = (struct jm_kv){f->key, value};
    r->declared = kv;
    return 0;
}
