/* SPDX-License-Identifier: Apache-2.0 */
/* CPU seconds of the host (/proc/stat) and of the endpoint's processes (/proc/PID/stat), as lines that are
 * read like an engine's: a GPU that waits for a busy CPU is a finding. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/num.h"
#include "record/scrape_impl.h"

#include "base/banned.h"

#define PROCESSES 64

/* user nice system idle iowait irq softirq steal, in ticks; guest time is inside user. */
static bool of_host(struct jm_span stat, double *busy, double *all)
{
    struct jm_span line, field;
    uint64_t v, sum = 0, idle = 0;
    if (!jm_span_line(&stat, &line) || !jm_span_starts(line, JM_SPAN("cpu ")))
        return false;
    line = jm_span_trim(jm_span_sub(line, 4, line.n));
    for (int i = 0; i < 8 && jm_span_field(&line, ' ', &field); i++) {
        if (jm_num_u64(field, &v))
            return false;
        sum += v;
        if (i == 3 || i == 4)
            idle += v;
    }
    *all = (double)sum;
    *busy = (double)(sum - idle);
    return sum > 0;
}

/* utime and stime are the 14th and 15th field; the name in the 2nd may hold anything, so one counts behind
 * its last bracket. */
static bool of_process(struct jm_span stat, double *ticks)
{
    struct jm_span field;
    uint64_t u = 0, k = 0;
    size_t at = stat.n;
    while (at && stat.p[at - 1] != ')')
        at--;
    stat = jm_span_sub(stat, at + 1, stat.n);
    for (int i = 3; i <= 15 && jm_span_field(&stat, ' ', &field); i++)
        if ((i == 14 && jm_num_u64(field, &u)) || (i == 15 && jm_num_u64(field, &k)))
            return false;
    *ticks = (double)(u + k);
    return at > 0;
}

int jm_hostcpu_text(const char *proc_root, int64_t pid, struct jm_str *out, struct jm_err *err)
{
    struct jm_str file;
    char path[300];
    int64_t tree[PROCESSES];
    double busy = 0, all = 0, ticks = 0, hz = (double)sysconf(_SC_CLK_TCK);
    jm_str_init(&file);
    snprintf(path, sizeof path, "%s/stat", proc_root);
    int rc = jm_file_read(path, 1 << 20, &file, err);
    if (!rc && !of_host(jm_str_span(&file), &busy, &all))
        rc = jm_err_set(err, JM_EPARSE, "%s does not begin with the times of the CPU", path);
    if (!rc)
        jm_str_addf(out,
                    "# joulemark: host\njoulemark_host_busy_seconds_total "
                    "%.2f\njoulemark_host_cpu_seconds_total %.2f\n",
                    busy / hz, all / hz);
    size_t n = !rc && pid > 0 ? jm_load_process_tree(proc_root, pid, tree, PROCESSES) : 0;
    for (size_t i = 0; i < n; i++) {
        snprintf(path, sizeof path, "%s/%lld/stat", proc_root, (long long)tree[i]);
        jm_str_reset(&file);
        if (jm_file_read(path, 1 << 16, &file, NULL) == 0 && of_process(jm_str_span(&file), &ticks))
            jm_str_addf(out, "joulemark_engine_process_seconds_total{pid=\"%lld\"} %.2f\n",
                        (long long)tree[i], ticks / hz);
    }
    jm_str_release(&file);
    return rc ? rc : jm_str_ok(out, "the CPU times", err);
}
