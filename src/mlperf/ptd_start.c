/* SPDX-License-Identifier: Apache-2.0 */
/* A PTDaemon's start: its process, its port, the first words. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/json.h"
#include "mlperf/ptd_impl.h"
#include "mlperf/textlog.h"

#include "base/banned.h"

size_t jm_ptd_argv(const struct jm_ptd *p, const struct jm_ptd_daemon *d, const char *argv[JM_PTD_ARGV],
                   char text[4][96])
{
    const struct jm_mlperf_analyzer *a = d->a;
    size_t n = 0, at = 0;
    argv[n++] = p->config->ptd ? p->config->ptd : "";
    argv[n++] = "-l";
    argv[n++] = d->log_file;
    argv[n++] = "-p";
    snprintf(text[0], 96, "%d", a->port);
    argv[n++] = text[0];
    if (a->board >= 0) {
        snprintf(text[1], 96, "%lld", (long long)a->board);
        argv[n++] = "-b";
        argv[n++] = text[1];
    }
    if (a->n_channels) {
        for (int i = 0; i < a->n_channels; i++)
            at += (size_t)snprintf(text[2] + at, 96 - at, "%s%lld", i ? "," : "", (long long)a->channel[i]);
        argv[n++] = "-c";
        argv[n++] = text[2];
    }
    if (a->dc_flag)
        argv[n++] = a->dc_flag;
    if (a->interface_flag && a->interface_flag[0])
        argv[n++] = a->interface_flag;
    snprintf(text[3], 96, "%lld", (long long)a->device_type);
    argv[n++] = text[3];
    argv[n++] = a->device_port ? a->device_port : "";
    argv[n] = NULL;
    return n;
}

/* Somebody else on its port would be taken for our PTDaemon. */
static int port_is_free(struct jm_ptd *p, struct jm_ptd_daemon *d, struct jm_err *err)
{
    struct jm_err why = {0};
    if (jm_mlperf_connect(&d->conn, "127.0.0.1", d->a->port, &p->clock, p->wake, d->peer,
                          jm_clock_mono(&p->clock) + JM_PTD_POLL, &why))
        return 0;
    jm_mlperf_conn_close(&d->conn);
    return jm_err_set(err, JM_ECONFLICT,
                      "port %d of %s is taken already; end the program that listens there, or set "
                      "\"launch: no\" in [joulemark] to use it",
                      d->a->port, d->peer);
}

static int launch(struct jm_ptd *p, struct jm_ptd_daemon *d, struct jm_err *err)
{
    static const char *const env[] = {"TZ=UTC", NULL};
    const char *argv[JM_PTD_ARGV];
    char text[4][96];
    struct jm_str path, shown;
    int rc = port_is_free(p, d, err);
    if (rc)
        return rc;
    size_t n = jm_ptd_argv(p, d, argv, text);
    jm_str_init(&path);
    jm_str_init(&shown);
    for (size_t i = 0; i < n; i++) {
        jm_str_adds(&shown, i ? ", " : "[");
        jm_mlperf_quote(&shown, jm_span_of(argv[i]));
    }
    jm_ptd_note(p, JM_LOG_INFO, "Analyzer [%d] is running PTDaemon: %s]", d->number, shown.buf);
    jm_str_addf(&path, "%s/ptd_logs_analyzer_%d.txt", p->io->power_dir, d->number);
    rc = jm_str_ok(&path, "a path", err);
    unlink(d->log_file); /* of an earlier session; it would only grow */
    if (!rc && (d->out_fd = open(path.buf, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644)) < 0)
        rc = jm_err_sys(err, errno, "cannot create %s", path.buf);
    if (!rc)
        rc = p->child->start(p->child->self, argv, env, d->out_fd, &d->pid, err);
    d->launched = rc == 0;
    jm_str_release(&path);
    jm_str_release(&shown);
    return rc;
}

static int join(struct jm_ptd *p, struct jm_ptd_daemon *d, struct jm_err *err)
{
    int64_t until = jm_clock_mono(&p->clock) + p->config->ptd_start_ns;
    const char *host = p->config->launch ? "127.0.0.1" : p->config->ptd_host;
    for (;;) {
        int64_t now = jm_clock_mono(&p->clock), limit = now + 5 * JM_NS_PER_S;
        int rc = jm_ptd_living(p, d, err);
        if (rc)
            return rc;
        if (p->io->over(p->io->self))
            return jm_err_set(err, JM_ESTATE, "ended while %s was starting", d->peer);
        rc = jm_mlperf_connect(&d->conn, host, d->a->port, &p->clock, p->wake, d->peer,
                               limit < until ? limit : until, err);
        if (!rc || rc == JM_ESTATE)
            return rc;
        if (jm_clock_mono(&p->clock) + JM_PTD_POLL >= until)
            return jm_err_prefix(err, "PTDaemon did not become ready in %.0f s",
                                 (double)p->config->ptd_start_ns / 1e9);
        jm_clock_sleep_until(&p->clock, now + JM_PTD_POLL, p->wake.cancel);
    }
}

static int greet(struct jm_ptd *p, struct jm_ptd_daemon *d, struct jm_err *err)
{
    struct jm_span reply;
    char text[160];
    int rc = jm_ptd_ask(p, d, "Hello", &reply, err);
    if (!rc && !jm_span_is(reply, "Hello, PTDaemon here!"))
        rc = jm_err_set(err, JM_ECONFLICT,
                        "what listens on port %d is no PTDaemon: it answered \"%s\" to Hello", d->a->port,
                        jm_ptd_plain(reply, text));
    if (!rc)
        rc = jm_ptd_ask(p, d, "Identify", &reply, err);
    if (rc)
        return rc;
    /* the stand-in names itself where a real one names maker and system */
    p->simulated |= jm_span_find(reply, JM_SPAN("simulated")) >= 0;
    jm_ptd_note(p, JM_LOG_INFO, "Analyzer [%d] connected to PTDaemon", d->number);
    rc = jm_ptd_ask(p, d, "RR", &reply, err);
    if (rc)
        return rc;
    jm_mlperf_ptd_ranges(reply, &d->initial);
    jm_ptd_note(p, JM_LOG_INFO, "Analyzer [%d] says the initial range for Amps is %s for Volts is %s",
                d->number, d->initial.amps, d->initial.volts);
    return 0;
}

int jm_ptd_start(struct jm_ptd *p, struct jm_ptd_daemon *d, struct jm_err *err)
{
    int rc = p->config->launch ? launch(p, d, err) : 0;
    if (!rc)
        rc = join(p, d, err);
    return rc ? rc : greet(p, d, err);
}

int jm_ptd_describe(void *self, struct jm_str *json, struct jm_err *err)
{
    struct jm_ptd *p = self;
    struct jm_jsonw w;
    jm_jsonw_init(&w, json, 0);
    jm_jsonw_array(&w);
    for (int i = 0; i < p->n; i++) {
        const struct jm_mlperf_analyzer *a = p->d[i].a;
        const char *argv[JM_PTD_ARGV];
        char text[4][96];
        size_t n = p->config->launch ? jm_ptd_argv(p, &p->d[i], argv, text) : 0;
        jm_jsonw_object(&w);
        jm_jsonw_key(&w, "command");
        jm_jsonw_array(&w);
        for (size_t k = 0; k < n; k++)
            jm_jsonw_str(&w, argv[k]);
        jm_jsonw_end(&w);
        jm_jsonw_key(&w, "device_type");
        if (a->device_type >= 0)
            jm_jsonw_i64(&w, a->device_type);
        else
            jm_jsonw_null(&w);
        jm_jsonw_kstr(&w, "interface_flag", a->interface_flag ? a->interface_flag : "");
        jm_jsonw_kstr(&w, "dc_flag", a->dc_flag);
        jm_jsonw_kstr(&w, "device_port", a->device_port ? a->device_port : "");
        jm_jsonw_key(&w, "channel");
        if (!a->n_channels) {
            jm_jsonw_null(&w);
        } else {
            jm_jsonw_array(&w);
            for (int k = 0; k < a->n_channels; k++)
                jm_jsonw_i64(&w, a->channel[k]);
            jm_jsonw_end(&w);
        }
        jm_jsonw_end(&w);
    }
    jm_jsonw_end(&w);
    return jm_str_ok(json, "the description of the analyzers", err);
}
