/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of tools that measure machines: CodeCarbon's emissions.csv and the results of AI Energy Score. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "show/exports.h"
#include "show/fmt.h"
#include "show/formats.h"

#include "base/banned.h"

#define KWH 3.6e6
#define WH  3600.0

static void text(struct jm_str *s, const char *t)
{
    if (s->len && s->buf[s->len - 1] != '\n')
        jm_str_addc(s, ',');
    jm_csv_add_text(s, t);
}

static void cell(struct jm_str *s, double v)
{
    jm_str_addc(s, ',');
    jm_csv_add_number(s, v);
}

/* Sum of the counted rows of these kinds in a window, J; NAN: none, or one without a value. */
static double parts(const struct jm_report *r, int window, enum jm_domain_kind a, enum jm_domain_kind b,
                    bool *estimate)
{
    double sum = NAN;
    for (size_t i = 0; i < r->n_energy; i++) {
        const struct jm_energy_row *e = &r->energy[i];
        if (e->window != window || !e->counted || e->domain < 0 ||
            (r->tree->d[e->domain].kind != a && r->tree->d[e->domain].kind != b))
            continue;
        if (isnan(e->joules))
            return NAN;
        *estimate |= r->channels[e->channel].provenance == JM_P_ESTIMATED;
        sum = isnan(sum) ? e->joules : sum + e->joules;
    }
    return sum;
}

static double add(double a, double b)
{
    return isnan(a) ? b : isnan(b) ? a : a + b;
}

/* CodeCarbon 3: columns in its order. Behind them what it has no column for. */
static const char codecarbon_columns[] =
    "timestamp,project_name,run_id,experiment_id,duration,emissions,emissions_rate,cpu_power,gpu_power,ram_"
    "power,"
    "cpu_energy,gpu_energy,ram_energy,energy_consumed,water_consumed,country_name,country_iso_code,region,"
    "cloud_provider,cloud_region,os,python_version,codecarbon_version,cpu_count,cpu_model,gpu_count,gpu_"
    "model,"
    "longitude,latitude,ram_total_size,tracking_mode,cpu_utilization_percent,gpu_utilization_percent,"
    "ram_utilization_percent,ram_used_gb,on_cloud,pue,wue,joulemark_window,joulemark_boundary,"
    "joulemark_provenance,joulemark_factor\n";

/* The zone's mean factor over the window, g/kWh: by location, else life-cycle, else of no stated kind. */
static const struct jm_impact *carbon(const struct jm_report *r, int window, const char *zone)
{
    static const char *const order[] = {"carbon.location", "carbon.lifecycle", "carbon.unstated"};
    for (size_t k = 0; k < sizeof order / sizeof order[0]; k++)
        for (size_t i = 0; i < r->n_impacts; i++) {
            const struct jm_impact *m = &r->impacts[i];
            if (m->x.window == window && m->zone && strcmp(m->zone, zone) == 0 &&
                strcmp(m->x.metric, order[k]) == 0 && isfinite(m->mean))
                return m;
        }
    return NULL;
}

static void codecarbon_row(const struct jm_run *run, const struct jm_report *r, int w, const char *zone,
                           const char *name, struct jm_str *s)
{
    const struct jm_window *win = &r->windows[w];
    double seconds = jm_fmt_seconds(win->t1, win->t0);
    bool estimate = false;
    const struct jm_result *of_gpus = jm_export_find(r, "energy", JM_B_GPU, w);
    double gpu = jm_export_value(of_gpus), cpu = parts(r, w, JM_D_PACKAGE, JM_D_CPU, &estimate),
           ram = parts(r, w, JM_D_DRAM, JM_D_DRAM, &estimate), all = add(add(gpu, cpu), ram);
    const struct jm_impact *m = zone ? carbon(r, w, zone) : NULL;
    double kg = m ? all / KWH * m->mean / 1000 : NAN;
    char stamp[JM_FMT], what[160] = "";
    int gpus;
    const char *model = jm_export_gpu(r, &gpus);
    static const char *const os[] = {"host.os", "sut.operating_system", NULL},
                             *const cpus[] = {"host.cpus", NULL},
                             *const chip[] = {"host.cpu", "sut.host_processor_model_name", NULL};
    jm_fmt_time(r, win->t1, stamp);
    stamp[strcspn(stamp, ".Z")] = '\0'; /* CodeCarbon writes no zone */
    text(s, stamp);
    text(s, r->label);
    text(s, r->id);
    text(s, "");
    cell(s, seconds);
    cell(s, kg);
    cell(s, kg / seconds);
    /* CodeCarbon's powers are means of polls: those of the gauges, no energy divided by its time */
    cell(s, NAN);
    cell(s, jm_export_value(jm_export_find(r, "energy.by_gauge", JM_B_GPU, w)) / seconds);
    cell(s, NAN);
    cell(s, cpu / KWH);
    cell(s, gpu / KWH);
    cell(s, ram / KWH);
    cell(s, all / KWH);
    cell(s, r->wue.value > 0 ? all / KWH * r->wue.value : NAN); /* L */
    text(s, name);
    text(s, zone ? zone : "");
    for (int i = 0; i < 3; i++)
        text(s, "");
    text(s, jm_export_fact(run, r, NULL, os));
    text(s, "");
    text(s, "");
    text(s, jm_export_fact(run, r, NULL, cpus));
    text(s, jm_export_fact(run, r, NULL, chip));
    cell(s, gpus >= 0 ? gpus : NAN);
    text(s, model);
    for (int i = 0; i < 3; i++)
        text(s, "");
    for (int i = 0; i < 6;
         i++) /* tracking_mode: neither the machine nor a process, but the boundary behind */
        text(s, "");
    cell(s, 1); /* no PUE is in these energies */
    cell(s, r->wue.value > 0 ? r->wue.value : NAN);
    text(s, win->name);
    snprintf(what, sizeof what, "%s%s%s%s%s", isnan(gpu) ? "" : "gpu",
             isnan(cpu)   ? ""
             : isnan(gpu) ? "cpu"
                          : "+cpu",
             isnan(ram) ? "" : "+dram", "", isnan(all) ? "none" : "");
    text(s, what);
    text(s, isnan(all) ? ""
            : estimate ? jm_provenance_name(JM_P_ESTIMATED)
                       : jm_provenance_name(r->simulated ? JM_P_SIMULATED
                                            : of_gpus    ? (int)of_gpus->q.provenance
                                                         : JM_P_MEASURED));
    if (m && m->factor >= 0 && (size_t)m->factor < r->n_factors) {
        const struct jm_factor *f = &r->factors[m->factor];
        snprintf(what, sizeof what, "%.5g g/kWh %s %s", m->mean, jm_factor_kind_name((int)f->kind),
                 f->vintage);
        text(s, what);
    } else
        text(s, "");
    jm_str_addc(s, '\n');
}

int jm_export_codecarbon(const struct jm_run *run, struct jm_report *r, struct jm_str *out,
                         struct jm_err *err)
{
    jm_str_adds(out, codecarbon_columns);
    for (int w = jm_export_window(r, -1); w >= 0; w = jm_export_window(r, w)) {
        size_t rows = 0;
        for (size_t i = 0; i < r->n_factors; i++) {
            const struct jm_factor *f = &r->factors[i];
            bool again = f->what != JM_FACTOR_CARBON;
            for (size_t k = 0; k < i; k++)
                again |= r->factors[k].what == JM_FACTOR_CARBON && strcmp(r->factors[k].zone, f->zone) == 0;
            if (again)
                continue;
            codecarbon_row(run, r, w, f->zone, f->name, out);
            rows++;
        }
        if (!rows)
            codecarbon_row(run, r, w, NULL, "", out);
    }
    return jm_str_ok(out, "the emissions", err);
}

/* The classes of AI Energy Score by parameters: up to 20 and 66 billion, and beyond. */
static const char *class_of(double n)
{
    return isnan(n) ? "" : n <= 20e9 ? "A" : n <= 66e9 ? "B" : "C";
}

/* Columns of the batch runner's master_results.csv in its order. Behind them what it has no column for. */
static const char energy_score_columns[] =
    "model_name,model_class,task,reasoning_state,total_prompts,successful_prompts,failed_prompts,"
    "total_duration_seconds,avg_total_time,avg_time_to_first_token,total_tokens,total_prompt_tokens,"
    "total_completion_tokens,throughput_tokens_per_second,gpu_energy_wh,wh_per_1000_queries,"
    "energy_per_prompt_min_wh,energy_per_prompt_max_wh,energy_per_prompt_std_wh,co2_emissions_g,tokens_per_"
    "joule,"
    "avg_energy_per_prompt_wh,timestamp,error_message,joulemark_gpu_model,joulemark_gpu_count,joulemark_"
    "window,"
    "joulemark_provenance,joulemark_output_tokens_per_joule,joulemark_factor,joulemark_note\n";

/* The only zone that a carbon factor is given of, NULL: none or several. */
static const char *only_zone(const struct jm_report *r)
{
    const char *zone = NULL;
    for (size_t i = 0; i < r->n_factors; i++) {
        if (r->factors[i].what != JM_FACTOR_CARBON)
            continue;
        if (zone && strcmp(zone, r->factors[i].zone) != 0)
            return NULL;
        zone = r->factors[i].zone;
    }
    return zone;
}

int jm_export_ai_energy_score(const struct jm_run *run, struct jm_report *r, struct jm_str *out,
                              struct jm_err *err)
{
    double n = jm_export_parameters(jm_export_fact(run, r, "parameters", NULL));
    double users = NAN;
    const char *in_flight = jm_run_env(run, "plan.concurrency");
    int gpus;
    const char *gpu = jm_export_gpu(r, &gpus);
    const char *zone = only_zone(r);
    jm_str_adds(out, energy_score_columns);
    if (in_flight)
        users = jm_export_parameters(in_flight);
    for (int w = jm_export_window(r, -1); w >= 0; w = jm_export_window(r, w)) {
        const struct jm_window *win = &r->windows[w];
        const struct jm_result *e = jm_export_find(r, "energy", JM_B_GPU, w),
                               *ok = jm_export_find(r, "j_per.request_ok", JM_B_GPU, w),
                               *per = jm_export_find(r, "j_per.output_token", JM_B_GPU, w),
                               *both = jm_export_find(r, "j_per.total_token", JM_B_GPU, w);
        double seconds = jm_fmt_seconds(win->t1, win->t0),
               done = jm_export_count(r, "j_per.request_ok", JM_B_GPU, w),
               all = jm_export_count(r, "j_per.request_any", JM_B_GPU, w),
               tokens = jm_export_count(r, "j_per.output_token", JM_B_GPU, w);
        double input = jm_export_count(r, "j_per.input_token", JM_B_GPU, w), gpu_j = jm_export_value(e);
        const struct jm_impact *m = zone ? carbon(r, w, zone) : NULL;
        char stamp[JM_FMT], what[160] = "";
        struct jm_str note;
        jm_fmt_time(r, win->t1, stamp);
        text(out, jm_export_model(run, r));
        text(out, class_of(n));
        text(out, jm_export_fact(run, r, "task", NULL));
        text(out, "");
        cell(out, all);
        cell(out, done);
        cell(out, all - done);
        cell(out, seconds);
        cell(out, jm_export_latency(r, "e2e", NAN, w));
        cell(out, jm_export_latency(r, "ttft", NAN, w));
        cell(out, tokens + input);
        cell(out, input);
        cell(out, tokens);
        cell(out, tokens / seconds);
        cell(out, gpu_j / WH);
        cell(out, 1000 * jm_export_value(ok) / WH);
        for (int i = 0; i < 3; i++) /* a request has no energy of its own that was measured */
            text(out, "");
        cell(out, m ? gpu_j / KWH * m->mean : NAN);
        cell(out, 1 / jm_export_value(both)); /* AI Energy Score divides prompt and output tokens together */
        cell(out, jm_export_value(ok) / WH);
        text(out, stamp);
        text(out, "");
        text(out, gpu);
        cell(out, gpus >= 0 ? gpus : NAN);
        text(out, win->name);
        text(out, e ? jm_provenance_name((int)e->q.provenance) : "");
        cell(out, 1 / jm_export_value(per));
        if (m && m->factor >= 0 && (size_t)m->factor < r->n_factors)
            snprintf(what, sizeof what, "%.5g g/kWh %s %s", m->mean,
                     jm_factor_kind_name((int)r->factors[m->factor].kind), r->factors[m->factor].vintage);
        text(out, what);
        jm_str_init(&note);
        if (users > 1)
            jm_str_addf(&note, "%.0f requests in flight, the method takes one; ", users);
        if (done < 1000)
            jm_str_adds(&note, "fewer than the method's 1000 queries; ");
        if (gpu[0] && !strstr(gpu, "H100"))
            jm_str_adds(&note, "not the method's H100; ");
        jm_str_adds(&note, "no stars: they are relative to the models of the task's leaderboard");
        text(out, note.buf);
        jm_str_release(&note);
        jm_str_addc(out, '\n');
    }
    return jm_str_ok(out, "the figures", err);
}
