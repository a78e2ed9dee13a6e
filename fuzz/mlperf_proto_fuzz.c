/* SPDX-License-Identifier: Apache-2.0 */
/* What comes over a wire in a power measurement: commands, replies, NTP packets, PTDaemon's replies and
 * samples, lines and files of a connection. The first byte says which. */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/num.h"
#include "mlperf/net.h"
#include "mlperf/ntp.h"
#include "mlperf/proto.h"
#include "mlperf/ptd.h"
#include "mlperf/splw.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

static void must(bool ok)
{
    if (!ok)
        abort();
}

static bool within(struct jm_span part, struct jm_span whole)
{
    return !part.n || (part.p >= whole.p && part.p + part.n <= whole.p + whole.n);
}

static void command(struct jm_span s)
{
    struct jm_mlperf_cmd c;
    char id[JM_MLPERF_ID];
    jm_mlperf_cmd_parse(s, &c);
    must(within(c.label, s) && within(c.session, s) && within(c.file, s) && within(c.volts, s));
    if (c.verb == JM_MLPERF_V_NEW && jm_mlperf_label_ok(c.label)) {
        jm_mlperf_id_make(INT64_C(1753687116000000000), 3600, c.label, id);
        must(jm_mlperf_id_ok(jm_span_of(id)) && !strchr(id, '/') && !strchr(id, '.'));
    }
}

static void reply(struct jm_span s)
{
    char id[JM_MLPERF_ID], uuid[JM_MLPERF_UUID], again[JM_MLPERF_UUID];
    double t;
    if (jm_mlperf_new_reply(s, id, uuid, NULL) == 0)
        must(jm_mlperf_id_ok(jm_span_of(id)) && strlen(uuid) == 36);
    if (jm_mlperf_time_reply(s, &t, NULL) == 0)
        must(isfinite(t));
    if (jm_mlperf_uuid_parse(s, uuid))
        must(jm_mlperf_uuid_parse(jm_span_of(uuid), again) && !strcmp(uuid, again));
}

static void ntp(struct jm_span s)
{
    struct jm_mlperf_ntp out = {0};
    uint64_t nonce = 0;
    for (size_t i = 24; i < 32 && i < s.n; i++)
        nonce = nonce << 8 | (uint8_t)s.p[i];
    int64_t t1 = INT64_C(1753687116000000000);
    if (jm_mlperf_ntp_parse(s, nonce, t1, t1 + 1000, &out, NULL) == 0)
        must(isfinite(out.offset_s) && isfinite(out.delay_s) && out.stratum > 0 && out.stratum < 16 &&
             fabs(out.offset_s) <= 2147483649.0);
}

static void ptd(struct jm_span s)
{
    struct jm_mlperf_ranges r;
    int64_t samples;
    int first;
    double v;
    jm_mlperf_ptd_ranges(s, &r);
    must(!strcmp(r.amps, "Auto") || (jm_num_double(jm_span_of(r.amps), &v) == 0 && v > 0));
    must(!strcmp(r.volts, "Auto") || (jm_num_double(jm_span_of(r.volts), &v) == 0 && v > 0));
    if (jm_mlperf_ptd_last(s, &samples, &first, NULL) == 0)
        must(samples >= 0 && samples <= JM_MLPERF_PTD_SAMPLES && first >= 1 && first <= 64);
    jm_mlperf_ptd_is_error(s);
}

static void samples(struct jm_span s)
{
    struct jm_span line;
    struct jm_spl_row row;
    struct jm_mlperf_peaks peaks;
    struct jm_mlperf_ranges r;
    struct jm_str out;
    jm_str_init(&out);
    jm_mlperf_peaks_init(&peaks, 0, 0);
    while (jm_span_line(&s, &line)) {
        size_t at = out.len;
        if (jm_mlperf_spl_line(line, "m_testing", 1, &out, &row, NULL)) {
            must(out.len == at);
            continue;
        }
        must(jm_span_is(row.mark, "m_testing"));
        jm_mlperf_peaks_add(&peaks, line, 1, &row);
    }
    if (jm_mlperf_peaks_ranges(&peaks, &r, NULL) == 0)
        must(peaks.volts > 0 && peaks.amps > 0);
    jm_str_release(&out);
}

static void connection(const uint8_t *p, size_t n)
{
    static struct jm_mlperf_conn c;
    struct jm_clock clock = jm_clock_system();
    struct jm_mlperf_wake wake = {NULL, -1};
    struct jm_span line;
    int fd[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, fd))
        return;
    size_t most = n > 60000 ? 60000 : n; /* what a socket takes without a reader */
    must(send(fd[1], p, most, 0) == (ssize_t)most || !most);
    shutdown(fd[1], SHUT_WR);
    jm_mlperf_conn_init(&c, fd[0], &clock, wake, "the fuzzer");
    c.limit = 256;
    if (n && p[0] == 'f') {
        (void)jm_mlperf_recv(&c, INT64_MAX, &line, NULL);
        (void)jm_mlperf_recv_file(&c, "/dev/null/x", 1 << 16, JM_NS_PER_S, NULL);
    }
    for (int i = 0; i < 100000 && !jm_mlperf_recv(&c, INT64_MAX, &line, NULL); i++)
        must(line.n <= c.limit && !memchr(line.p, '\n', line.n));
    jm_mlperf_conn_close(&c);
    close(fd[1]);
}

static void number(struct jm_span s)
{
    double v, back;
    char text[JM_MLPERF_REPR];
    if (s.n < sizeof v)
        return;
    memcpy(&v, s.p, sizeof v);
    jm_mlperf_repr(v, text);
    must(strlen(text) < JM_MLPERF_REPR - 1);
    if (isfinite(v))
        must(jm_num_double(jm_span_of(text), &back) == 0 && back == v);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    if (!n)
        return 0;
    struct jm_span s = {(const char *)p + 1, n - 1};
    switch (p[0] % 7) {
    case 0: command(s); break;
    case 1: reply(s); break;
    case 2: ntp(s); break;
    case 3: ptd(s); break;
    case 4: samples(s); break;
    case 5: connection(p + 1, n - 1); break;
    default: number(s); break;
    }
    return 0;
}
