/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/timex.h>
#include <time.h>

#include "base/banned.h"

static int64_t kernel_now(clockid_t id)
{
    struct timespec ts;
    clock_gettime(id, &ts);
    return ts.tv_sec * JM_NS_PER_S + ts.tv_nsec;
}

static int64_t sys_mono(void *self)
{
    (void)self;
    return kernel_now(CLOCK_MONOTONIC);
}

static void sys_pair(void *self, struct jm_clock_pair *out)
{
    (void)self;
    /* the tightest of a few tries: a preemption in between would widen the bracket */
    out->mono0 = out->mono1 = 0;
    for (int i = 0; i < 4; i++) {
        int64_t m0 = kernel_now(CLOCK_MONOTONIC), r = kernel_now(CLOCK_REALTIME),
                b = kernel_now(CLOCK_BOOTTIME), m1 = kernel_now(CLOCK_MONOTONIC);
        if (i == 0 || m1 - m0 < out->mono1 - out->mono0)
            *out = (struct jm_clock_pair){m0, m1, r, b};
    }
}

static int sys_sleep(void *self, int64_t t, const volatile bool *cancel)
{
    (void)self;
    for (;;) {
        if (cancel && *cancel)
            return 1;
        int64_t now = kernel_now(CLOCK_MONOTONIC), until = t;
        if (now >= t)
            return 0;
        if (cancel && until - now > 50 * JM_NS_PER_MS)
            until = now + 50 * JM_NS_PER_MS; /* so that a cancel is seen */
        struct timespec ts = {until / JM_NS_PER_S, until % JM_NS_PER_S};
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL);
    }
}

struct jm_clock jm_clock_system(void)
{
    static const struct jm_clock_ops ops = {"system", sys_mono, sys_pair, sys_sleep};
    return (struct jm_clock){&ops, NULL};
}

static int64_t virt_mono(void *self)
{
    return *((struct jm_vclock *)self)->now;
}

static void virt_pair(void *self, struct jm_clock_pair *out)
{
    struct jm_vclock *v = self;
    *out = (struct jm_clock_pair){*v->now, *v->now, *v->now + v->real_offset, *v->now + v->boot_offset};
}

static int virt_sleep(void *self, int64_t t, const volatile bool *cancel)
{
    struct jm_vclock *v = self;
    if (cancel && *cancel)
        return 1;
    if (*v->now < t)
        *v->now = t;
    return 0;
}

struct jm_clock jm_clock_virtual(struct jm_vclock *vc, int64_t *shared_now)
{
    static const struct jm_clock_ops ops = {"virtual", virt_mono, virt_pair, virt_sleep};
    vc->now = shared_now ? shared_now : &vc->own;
    return (struct jm_clock){&ops, vc};
}

int64_t jm_clock_cpu_self(void)
{
    return kernel_now(CLOCK_PROCESS_CPUTIME_ID);
}

void jm_clock_kernel(struct jm_kernel_clock *out)
{
    struct timex t = {0}; /* modes 0: read only */
    out->state = ntp_adjtime(&t);
    out->unsynchronised = t.status & STA_UNSYNC;
    out->offset_ns = t.offset * (t.status & STA_NANO ? 1 : JM_NS_PER_US);
    out->max_error_ns = t.maxerror * JM_NS_PER_US;
    out->est_error_ns = t.esterror * JM_NS_PER_US;
}

/* Days since 1970-01-01 of a civil date and back (era arithmetic of 400 years). */
static int64_t days_from_civil(int64_t y, int m, int d)
{
    y -= m <= 2;
    int64_t era = (y >= 0 ? y : y - 399) / 400;
    int64_t yoe = y - era * 400;
    int64_t doy = (153 * (m + (m > 2 ? -3 : 9)) + 2) / 5 + d - 1;
    int64_t doe = yoe * 365 + yoe / 4 - yoe / 100 + doy;
    return era * 146097 + doe - 719468;
}

int64_t jm_time_unix(int year, int month, int day, int hour, int minute, int second)
{
    return days_from_civil(year, month, day) * 86400 + hour * 3600 + minute * 60 + second;
}

struct jm_civil jm_time_civil(int64_t unix_s)
{
    int64_t z = unix_s / 86400, sod = unix_s % 86400;
    if (sod < 0) {
        sod += 86400;
        z--;
    }
    z += 719468;
    int64_t era = (z >= 0 ? z : z - 146096) / 146097;
    int64_t doe = z - era * 146097;
    int64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
    int64_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    int64_t mp = (5 * doy + 2) / 153;
    int m = (int)(mp < 10 ? mp + 3 : mp - 9);
    return (struct jm_civil){(int)(yoe + era * 400 + (m <= 2)),
                             m,
                             (int)(doy - (153 * mp + 2) / 5 + 1),
                             (int)(sod / 3600),
                             (int)(sod / 60 % 60),
                             (int)(sod % 60)};
}

char *jm_time_rfc3339(int64_t real_ns, char buf[JM_RFC3339_SIZE])
{
    int64_t s = real_ns / JM_NS_PER_S, f = real_ns % JM_NS_PER_S;
    if (f < 0) {
        f += JM_NS_PER_S;
        s--;
    }
    struct jm_civil c = jm_time_civil(s);
    snprintf(buf, JM_RFC3339_SIZE, "%04d-%02d-%02dT%02d:%02d:%02d.%09dZ", c.year, c.month, c.day, c.hour,
             c.minute, c.second, (int)f);
    return buf;
}

static int digits(struct jm_span *s, int n, int *out)
{
    int v = 0;
    if (s->n < (size_t)n)
        return -1;
    for (int i = 0; i < n; i++) {
        if (s->p[i] < '0' || s->p[i] > '9')
            return -1;
        v = v * 10 + (s->p[i] - '0');
    }
    s->p += n;
    s->n -= (size_t)n;
    *out = v;
    return 0;
}

static int literal(struct jm_span *s, const char *any)
{
    if (!s->n || !strchr(any, s->p[0]))
        return -1;
    s->p++;
    s->n--;
    return 0;
}

static int days_in_month(int y, int m)
{
    static const unsigned char d[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    return m == 2 && ((y % 4 == 0 && y % 100 != 0) || y % 400 == 0) ? 29 : d[m - 1];
}

int jm_time_parse_rfc3339(struct jm_span in, int64_t *real_ns, struct jm_err *err)
{
    struct jm_span s = in;
    int y, mo, d, h, mi, se, frac = 0, off = 0;
    if (digits(&s, 4, &y) || literal(&s, "-") || digits(&s, 2, &mo) || literal(&s, "-") ||
        digits(&s, 2, &d) || literal(&s, "Tt ") || digits(&s, 2, &h) || literal(&s, ":") ||
        digits(&s, 2, &mi) || literal(&s, ":") || digits(&s, 2, &se))
        goto bad;
    if (s.n && s.p[0] == '.') {
        literal(&s, ".");
        int scale = 100000000, any = 0;
        while (s.n && s.p[0] >= '0' && s.p[0] <= '9') {
            frac += (s.p[0] - '0') * scale;
            scale /= 10;
            any = 1;
            literal(&s, "0123456789");
        }
        if (!any)
            goto bad;
    }
    if (!s.n)
        goto bad;
    if (s.p[0] == 'Z' || s.p[0] == 'z') {
        literal(&s, "Zz");
    } else {
        int sign = s.p[0] == '-' ? -1 : 1, oh, om;
        if (literal(&s, "+-") || digits(&s, 2, &oh) || literal(&s, ":") || digits(&s, 2, &om) || oh > 23 ||
            om > 59)
            goto bad;
        off = sign * (oh * 3600 + om * 60);
    }
    if (s.n || mo < 1 || mo > 12 || d < 1 || d > days_in_month(y, mo) || h > 23 || mi > 59 || se > 60 ||
        y < 1678 || y > 2261)
        goto bad;
    *real_ns = (jm_time_unix(y, mo, d, h, mi, se) - off) * JM_NS_PER_S + frac;
    return 0;
bad:
    return jm_err_set(err, JM_EPARSE, "\"%.*s\" is not a time like 2026-11-29T15:08:00Z (RFC 3339)",
                      (int)(in.n > 40 ? 40 : in.n), in.p ? in.p : "");
}
