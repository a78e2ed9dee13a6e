/* SPDX-License-Identifier: Apache-2.0 */
/* Prints what jm_mlperf_session_read makes of each directory named, one JSON document a line, for tests that
 * read the same files with other programs. -q: only the bytes read. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "base/json.h"
#include "mlperf/session.h"

static void hashes(struct jm_jsonw *w, const char *key, const struct jm_mlperf_hash *h, size_t n)
{
    jm_jsonw_key(w, key);
    jm_jsonw_object(w);
    for (size_t i = 0; i < n; i++)
        jm_jsonw_kstr(w, h[i].path, h[i].sha1);
    jm_jsonw_end(w);
}

static void messages(struct jm_jsonw *w, const char *key, const struct jm_mlperf_message *m, size_t n)
{
    jm_jsonw_key(w, key);
    jm_jsonw_array(w);
    for (size_t i = 0; i < n; i++) {
        jm_jsonw_object(w);
        jm_jsonw_kstr(w, "cmd", m[i].cmd);
        jm_jsonw_kstr(w, "reply", m[i].reply);
        jm_jsonw_knum(w, "cmd_time", m[i].cmd_time);
        jm_jsonw_knum(w, "reply_time", m[i].reply_time);
        jm_jsonw_end(w);
    }
    jm_jsonw_end(w);
}

static void side(struct jm_jsonw *w, const char *key, const struct jm_mlperf_side *s)
{
    static const char *const mode[] = {"ranging", "testing"};
    jm_jsonw_key(w, key);
    jm_jsonw_object(w);
    jm_jsonw_kbool(w, "present", s->present);
    jm_jsonw_kstr(w, "broken", s->broken);
    jm_jsonw_kstr(w, "missing", s->missing);
    jm_jsonw_kstr(w, "odd", s->odd);
    jm_jsonw_kstr(w, "version", s->version);
    jm_jsonw_kstr(w, "session_name", s->session_name);
    jm_jsonw_kstr(w, "uuid_client", s->uuid_client);
    jm_jsonw_kstr(w, "uuid_server", s->uuid_server);
    jm_jsonw_kbool(w, "has_timezone", s->has_timezone);
    jm_jsonw_ki64(w, "timezone", s->timezone_s);
    jm_jsonw_kbool(w, "debug", s->debug);
    hashes(w, "sources", s->sources, s->n_sources);
    hashes(w, "results", s->results, s->n_results);
    messages(w, "messages", s->messages, s->n_messages);
    messages(w, "ptd_messages", s->ptd, s->n_ptd);
    for (int m = 0; m < JM_MLPERF_MODES; m++) {
        jm_jsonw_key(w, mode[m]);
        jm_jsonw_array(w);
        for (int i = 0; i < s->n_phase[m]; i++) {
            jm_jsonw_array(w);
            jm_jsonw_num(w, s->phase[m][i].unix_s);
            jm_jsonw_num(w, s->phase[m][i].mono_s);
            jm_jsonw_end(w);
        }
        jm_jsonw_end(w);
    }
    jm_jsonw_kbool(w, "has_config", s->has_config);
    jm_jsonw_kbool(w, "config_is_list", s->config_is_list);
    jm_jsonw_key(w, "config");
    jm_jsonw_array(w);
    for (size_t i = 0; i < s->n_config; i++) {
        jm_jsonw_object(w);
        jm_jsonw_ki64(w, "device_type", s->config[i].device_type);
        jm_jsonw_kstr(w, "command", s->config[i].command);
        jm_jsonw_kstr(w, "interface_flag", s->config[i].interface_flag);
        jm_jsonw_kstr(w, "dc_flag", s->config[i].dc_flag);
        jm_jsonw_kstr(w, "device_port", s->config[i].device_port);
        jm_jsonw_kstr(w, "channel", s->config[i].channel);
        jm_jsonw_end(w);
    }
    jm_jsonw_end(w);
    jm_jsonw_end(w);
}

static void samples(struct jm_jsonw *w, const char *key, const struct jm_mlperf_samples *s)
{
    jm_jsonw_key(w, key);
    jm_jsonw_object(w);
    jm_jsonw_ki64(w, "rows", s->rows);
    jm_jsonw_ki64(w, "good", s->good);
    jm_jsonw_ki64(w, "bad", s->bad);
    jm_jsonw_ki64(w, "missed", s->missed);
    jm_jsonw_ki64(w, "over", s->over);
    jm_jsonw_ki64(w, "nonpositive", s->nonpositive);
    jm_jsonw_ki64(w, "sum_all_uw", s->sum_all_uw);
    jm_jsonw_ki64(w, "sum_positive_uw", s->sum_positive_uw);
    jm_jsonw_ki64(w, "n_positive", s->n_positive);
    jm_jsonw_ki64(w, "sum_pf_micro", s->sum_pf_micro);
    jm_jsonw_ki64(w, "n_pf", s->n_pf);
    jm_jsonw_ki64(w, "min_uw", s->min_uw);
    jm_jsonw_ki64(w, "max_uw", s->max_uw);
    jm_jsonw_kbool(w, "overflow", s->overflow);
    jm_jsonw_end(w);
}

static void mode(struct jm_jsonw *w, const char *key, const struct jm_mlperf_session *s,
                 enum jm_mlperf_mode m)
{
    const struct jm_mlperf_power *p = &s->power[m];
    const struct jm_mlperf_loadgen *l = &s->loadgen[m];
    int64_t begin, end;
    bool known = jm_mlperf_window(s, m, &begin, &end);
    jm_jsonw_key(w, key);
    jm_jsonw_object(w);
    jm_jsonw_kbool(w, "window_known", known);
    jm_jsonw_ki64(w, "begin", begin);
    jm_jsonw_ki64(w, "end", end);
    jm_jsonw_kbool(w, "present", p->present);
    samples(w, "file", &p->file);
    samples(w, "window", &p->window);
    jm_jsonw_ki64(w, "broken", p->broken);
    jm_jsonw_kstr(w, "first_broken", p->first_broken);
    jm_jsonw_ki64(w, "out_of_order", p->out_of_order);
    jm_jsonw_ki64(w, "duplicate_stamps", p->duplicate_stamps);
    jm_jsonw_ki64(w, "marks_other", p->marks_other);
    jm_jsonw_ki64(w, "other_lines", p->other_lines);
    jm_jsonw_ki64(w, "first_ns", p->first_ns);
    jm_jsonw_ki64(w, "last_ns", p->last_ns);
    jm_jsonw_ki64(w, "max_gap_ns", p->max_gap_ns);
    jm_jsonw_ki64(w, "channels", p->channels);
    jm_jsonw_ki64(w, "analyzers", p->analyzers);
    jm_jsonw_kbool(w, "crlf", p->crlf);
    jm_jsonw_kbool(w, "blank_last", p->blank_last);
    jm_jsonw_knum(w, "joules", p->joules);
    jm_jsonw_knum(w, "seconds", p->seconds);
    jm_jsonw_knum(w, "bridged_s", p->bridged_s);
    jm_jsonw_knum(w, "over_s", p->over_s);
    jm_jsonw_knum(w, "max_volts", p->max_volts);
    jm_jsonw_knum(w, "max_amps", p->max_amps);
    jm_jsonw_key(w, "loadgen");
    jm_jsonw_object(w);
    jm_jsonw_ki64(w, "begin", l->begin);
    jm_jsonw_ki64(w, "end", l->end);
    jm_jsonw_ki64(w, "checker_begin", l->checker_begin);
    jm_jsonw_ki64(w, "checker_end", l->checker_end);
    jm_jsonw_ki64(w, "lines", l->lines);
    jm_jsonw_ki64(w, "errors", l->errors);
    jm_jsonw_ki64(w, "warnings", l->warnings);
    jm_jsonw_ki64(w, "broken", l->broken);
    jm_jsonw_key(w, "facts");
    jm_jsonw_object(w);
    for (size_t i = 0; i < l->n_facts; i++)
        jm_jsonw_kstr(w, l->facts[i].key, l->facts[i].text);
    jm_jsonw_end(w);
    jm_jsonw_end(w);
    jm_jsonw_end(w);
}

static void events(struct jm_jsonw *w, const struct jm_mlperf_ptd_log *p)
{
    jm_jsonw_key(w, "ptd_log");
    jm_jsonw_object(w);
    jm_jsonw_ki64(w, "lines", p->lines);
    jm_jsonw_ki64(w, "not_line_safe", p->not_line_safe);
    jm_jsonw_ki64(w, "analyzers", p->analyzers);
    jm_jsonw_ki64(w, "dropped", p->dropped);
    jm_jsonw_key(w, "events");
    jm_jsonw_array(w);
    for (size_t i = 0; i < p->n_events; i++) {
        const struct jm_mlperf_event *e = &p->events[i];
        jm_jsonw_array(w);
        jm_jsonw_i64(w, e->t_ns);
        jm_jsonw_i64(w, e->line_t_ns);
        jm_jsonw_i64(w, e->line);
        jm_jsonw_i64(w, e->kind);
        jm_jsonw_i64(w, e->analyzer);
        jm_jsonw_bool(w, e->upper);
        jm_jsonw_bool(w, e->inner);
        jm_jsonw_str(w, e->text);
        jm_jsonw_end(w);
    }
    jm_jsonw_end(w);
    jm_jsonw_end(w);
}

static void dump(const struct jm_mlperf_session *s, struct jm_str *out)
{
    struct jm_jsonw w;
    jm_jsonw_init(&w, out, 0);
    jm_jsonw_object(&w);
    jm_jsonw_kstr(&w, "root", s->root);
    jm_jsonw_kstr(&w, "round", s->round.name);
    jm_jsonw_kstr(&w, "claimed_scenario", s->claimed_scenario);
    jm_jsonw_ki64(&w, "bytes", s->bytes);
    jm_jsonw_key(&w, "files");
    jm_jsonw_object(&w);
    for (int i = 0; i < JM_MLPERF_FILES; i++) {
        const struct jm_mlperf_file *f = &s->file[i];
        jm_jsonw_key(&w, f->rel);
        jm_jsonw_object(&w);
        jm_jsonw_kbool(&w, "present", f->present);
        jm_jsonw_kstr(&w, "error", f->error);
        jm_jsonw_ki64(&w, "bytes", f->bytes);
        jm_jsonw_kbool(&w, "has_crlf", f->has_crlf);
        jm_jsonw_kstr(&w, "sha1", f->sha1);
        jm_jsonw_kstr(&w, "sha1_crlf", f->sha1_crlf);
        jm_jsonw_kstr(&w, "sha1_lf", f->sha1_lf);
        jm_jsonw_end(&w);
    }
    jm_jsonw_end(&w);
    jm_jsonw_key(&w, "others");
    jm_jsonw_array(&w);
    for (size_t i = 0; i < s->n_others; i++)
        jm_jsonw_str(&w, s->others[i]);
    jm_jsonw_end(&w);
    side(&w, "client", &s->client);
    side(&w, "server", &s->server);
    mode(&w, "ranging", s, JM_MLPERF_RANGING);
    mode(&w, "run_1", s, JM_MLPERF_TESTING);
    events(&w, &s->ptd_log);
    struct rusage use;
    getrusage(RUSAGE_SELF, &use);
    jm_jsonw_ki64(&w, "max_rss_kib", use.ru_maxrss);
    jm_jsonw_end(&w);
    jm_str_addc(out, '\n');
}

int main(int argc, char **argv)
{
    struct jm_str out;
    struct jm_err err;
    bool quiet = argc > 1 && strcmp(argv[1], "-q") == 0;
    int64_t bytes = 0;
    int bad = 0;
    jm_str_init(&out);
    for (int i = 1 + quiet; i < argc; i++) {
        struct jm_mlperf_session *s;
        if (jm_mlperf_session_read(argv[i], 0, &s, &err)) {
            fprintf(stderr, "%s\n", err.text);
            bad = 1;
            continue;
        }
        bytes += s->bytes;
        jm_str_reset(&out);
        if (!quiet)
            dump(s, &out);
        bad |= out.failed;
        fwrite(out.buf, 1, out.len, stdout);
        jm_mlperf_session_free(s);
    }
    if (quiet) {
        struct rusage use;
        getrusage(RUSAGE_SELF, &use);
        printf("{\"bytes\": %lld, \"max_rss_kib\": %ld}\n", (long long)bytes, use.ru_maxrss);
    }
    jm_str_release(&out);
    return bad;
}
