/* SPDX-License-Identifier: Apache-2.0 */
/* What the machine is: everything that a reader of the run would ask and cannot find out afterwards. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/file.h"
#include "record/internal.h"

#include "base/banned.h"

#define FILE_MAX (8u << 20) /* /proc/cpuinfo of a machine with a thousand cores */

void jm_record_put_env(struct jm_recorder *r, const char *key, const char *fmt, ...)
{
    struct jm_str s;
    va_list ap;
    jm_str_init(&s);
    va_start(ap, fmt);
    jm_str_addv(&s, fmt, ap);
    va_end(ap);
    if (!s.failed && s.len)
        jm_recorder_env(r, key, s.buf);
    jm_str_release(&s);
}

/* A file below a root, trimmed; empty when it cannot be read. */
static void slurp(const char *root, const char *path, struct jm_str *out)
{
    char full[512];
    jm_str_reset(out);
    snprintf(full, sizeof full, "%s%s", root, path);
    jm_file_read(full, FILE_MAX, out, NULL);
    while (out->len && (unsigned char)out->buf[out->len - 1] <= ' ')
        out->buf[--out->len] = '\0';
}

static void put_file(struct jm_recorder *r, const char *key, const char *root, const char *path,
                     struct jm_str *buf)
{
    slurp(root, path, buf);
    if (buf->len && buf->len < 512)
        jm_record_put_env(r, key, "%s", buf->buf);
}

/* "name : value" of /proc/cpuinfo or /proc/meminfo. */
static struct jm_span field(const struct jm_str *text, const char *name)
{
    struct jm_span rest = jm_str_span(text), line;
    while (jm_span_line(&rest, &line)) {
        ptrdiff_t colon = jm_span_chr(line, ':');
        if (colon >= 0 && jm_span_is(jm_span_trim(jm_span_sub(line, 0, (size_t)colon)), name))
            return jm_span_trim(jm_span_sub(line, (size_t)colon + 1, line.n));
    }
    return (struct jm_span){0};
}

static void put_span(struct jm_recorder *r, const char *key, struct jm_span s)
{
    if (s.n && s.n < 512)
        jm_record_put_env(r, key, "%.*s", (int)s.n, s.p);
}

static void cpu_and_memory(struct jm_recorder *r, const char *proc, const char *sys, struct jm_str *buf)
{
    struct jm_str vendor;
    jm_str_init(&vendor);
    slurp(proc, "/cpuinfo", buf);
    struct jm_span model = field(buf, "model name"), flags = field(buf, "flags");
    put_span(r, "host.cpu", model.n ? model : field(buf, "CPU implementer"));
    put_span(r, "host.microcode", field(buf, "microcode"));
    bool vm = jm_span_find(flags, JM_SPAN("hypervisor")) >= 0;
    slurp(proc, "/meminfo", buf);
    put_span(r, "host.memory", field(buf, "MemTotal"));
    slurp(sys, "/class/dmi/id/sys_vendor", &vendor);
    slurp(sys, "/class/dmi/id/product_name", buf);
    if (buf->len && buf->len < 200 && vendor.len < 200)
        jm_record_put_env(r, "host.product", "%s %s", vendor.buf, buf->buf);
    jm_record_put_env(r, "host.virtualization", "%s", vm ? "virtual machine" : "none seen");
    jm_str_release(&vendor);
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    if (cpus > 0)
        jm_record_put_env(r, "host.cpus", "%ld", cpus);
}

static void os_name(struct jm_recorder *r, struct jm_str *buf)
{
    struct utsname u;
    if (uname(&u) == 0) {
        jm_record_put_env(r, "host.kernel", "%s %s %s", u.sysname, u.release, u.version);
        jm_record_put_env(r, "host.machine", "%s", u.machine);
        jm_record_put_env(r, "host.name", "%s",
                          r->cfg.env.host && *r->cfg.env.host ? r->cfg.env.host : u.nodename);
    }
    slurp("", "/etc/os-release", buf);
    struct jm_span rest = jm_str_span(buf), line;
    while (jm_span_line(&rest, &line))
        if (jm_span_starts(line, JM_SPAN("PRETTY_NAME="))) {
            line = jm_span_sub(line, 12, line.n);
            if (line.n > 1 && line.p[0] == '"')
                line = jm_span_sub(line, 1, line.n - 2);
            put_span(r, "host.os", line);
        }
}

/* "http://user:password@host": a secret that is not for the run file. */
static void without_user(struct jm_span arg, struct jm_str *out)
{
    ptrdiff_t scheme = jm_span_find(arg, JM_SPAN("://"));
    size_t from = scheme < 0 ? 0 : (size_t)scheme + 3, to = arg.n;
    while (to > from && arg.p[to - 1] != '@')
        to--;
    if (scheme >= 0 && to > from) {
        jm_str_addspan(out, jm_span_sub(arg, 0, from));
        jm_str_adds(out, "***");
        from = to - 1;
    } else {
        from = 0;
    }
    jm_str_addspan(out, jm_span_sub(arg, from, arg.n));
}

static void command_line(struct jm_recorder *r, const char *proc, struct jm_str *buf)
{
    struct jm_str text;
    jm_str_init(&text);
    slurp(proc, "/self/cmdline", buf);
    struct jm_span rest = jm_str_span(buf), arg;
    while (rest.n && jm_span_field(&rest, '\0', &arg)) {
        without_user(arg, &text);
        jm_str_addc(&text, ' ');
    }
    if (text.len && text.len < 8192)
        jm_record_put_env(r, "joulemark.command", "%s", text.buf);
    jm_str_release(&text);
}

static void sampling(struct jm_recorder *r)
{
    struct jm_str s;
    jm_str_init(&s);
    for (size_t i = 0; i < r->n_reader; i++)
        jm_str_addf(&s, "%s%s %.6g ms", i ? ", " : "", r->reader[i]->m->ops->name,
                    (double)r->reader[i]->period / 1e6);
    if (s.len)
        jm_record_put_env(r, "record.period", "%s", s.buf);
    jm_record_put_env(r, "record.edge", "%s", r->cfg.no_edge ? "plain reads" : "bursts");
    jm_str_release(&s);
}

void jm_record_host(struct jm_recorder *r)
{
    const char *proc = r->cfg.env.proc_root ? r->cfg.env.proc_root : "/proc",
               *sys = r->cfg.env.sysfs_root ? r->cfg.env.sysfs_root : "/sys";
    struct jm_str buf;
    jm_str_init(&buf);
    jm_record_put_env(r, "joulemark.version", "%s", JM_VERSION);
    command_line(r, proc, &buf);
    os_name(r, &buf);
    cpu_and_memory(r, proc, sys, &buf);
    put_file(r, "host.boot_id", proc, "/sys/kernel/random/boot_id", &buf);
    snprintf(r->boot_id, sizeof r->boot_id, "%s", buf.buf);
    put_file(r, "clock.source", sys, "/devices/system/clocksource/clocksource0/current_clocksource", &buf);
    put_file(r, "host.governor", sys, "/devices/system/cpu/cpu0/cpufreq/scaling_governor", &buf);
    sampling(r);
    jm_record_clock_error(r, "start", jm_record_put_env);
    jm_str_release(&buf);
    if (!r->inline_mode)
        jm_record_drain(r); /* nothing runs yet: into the file at once */
}

static void put_now(struct jm_recorder *r, const char *key, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
static void put_now(struct jm_recorder *r, const char *key, const char *fmt, ...)
{
    char value[256];
    va_list ap;
    struct jm_err e = {0};
    va_start(ap, fmt);
    vsnprintf(value, sizeof value, fmt, ap);
    va_end(ap);
    if (!jm_record_error(r, NULL) && jm_run_put_env(r->w, key, value, &e))
        jm_record_fail(r, &e);
}

void jm_record_end_facts(struct jm_recorder *r)
{
    char key[128];
    for (size_t i = 0; i < r->n_wire; i++) {
        const struct jm_wire *x = &r->wire[i];
        unsigned long long seen, lost;
        if (!x->replies)
            continue;
        jm_replies_count(x->replies, &seen, &lost);
        snprintf(key, sizeof key, "instrument.%.40s.replies", x->in->name);
        if (seen)
            put_now(r, key, "%llu kept of %llu, %lld bytes as %lld", x->replies->kept, seen,
                    (long long)x->replies->plain, (long long)x->replies->stored);
        snprintf(key, sizeof key, "instrument.%.40s.replies.lost", x->in->name);
        if (lost)
            put_now(r, key, "%llu", lost);
    }
    for (size_t i = 0; i < r->n_reader; i++) {
        struct jm_reader *d = r->reader[i];
        const char *name = jm_reader_name(d);
        snprintf(key, sizeof key, "record.readings.%s", name);
        put_now(r, key, "%llu", (unsigned long long)atomic_load(&d->readings));
        unsigned long long late = atomic_load(&d->late), dropped = atomic_load(&d->dropped);
        snprintf(key, sizeof key, "record.late.%s", name);
        if (late)
            put_now(r, key, "%llu", late);
        snprintf(key, sizeof key, "record.dropped.%s", name);
        if (dropped)
            put_now(r, key, "%llu", dropped);
        if (d->threaded && !atomic_load(&d->ended)) { /* hangs: what it holds is not looked at */
            int64_t since = atomic_load(&d->busy_since);
            snprintf(key, sizeof key, "record.left.%s", name);
            put_now(r, key, "its last read had not come back after %.3g s",
                    since ? (double)(jm_clock_mono(&r->clock) - since) / 1e9 : 0);
            continue;
        }
        snprintf(key, sizeof key, "record.slowest.%s", name);
        put_now(r, key, "%.3f ms", (double)d->slowest / 1e6);
        for (size_t k = 0; k < d->m->n_fact; k++) { /* a driver or limit that changed meanwhile */
            const struct jm_meter_fact *f = &d->m->fact[k];
            snprintf(key, sizeof key, "end.%s", f->key);
            put_now(r, key, "%s", f->value);
        }
    }
    jm_record_clock_error(r, "end", put_now);
    if (r->pairs.steps)
        put_now(r, "clock.steps", "%u", r->pairs.steps);
    if (r->pairs.suspends) {
        put_now(r, "clock.suspends", "%u", r->pairs.suspends);
        put_now(r, "clock.suspended", "%.3f s", (double)r->pairs.slept_ns / 1e9);
    }
    if (r->bad_marks)
        put_now(r, "record.bad_marks", "%llu", r->bad_marks);
    put_now(r, "record.cpu", "%.6f s", (double)jm_clock_cpu_self() / 1e9);
}
