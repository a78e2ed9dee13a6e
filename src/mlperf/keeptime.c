/* SPDX-License-Identifier: Apache-2.0 */
#include <unistd.h>

#include "mlperf/director.h"

#include "base/banned.h"

#define SETTING (60 * JM_NS_PER_S) /* longest that ntpdate may take */

static int set_clock(const char *server, const struct jm_mlperf_child_ops *child,
                     const struct jm_clock *clock, struct jm_mlperf_wake wake, struct jm_err *err)
{
    const char *const direct[] = {"ntpdate", "-b", "--", server, NULL}, *const by_sudo[] = {
                                                                            "sudo", "-n",   "ntpdate", "-b",
                                                                            "--",   server, NULL};
    int64_t pid, until = jm_clock_mono(clock) + SETTING;
    int status = -1;
    int rc = child->start(child->self, getuid() ? by_sudo : direct, NULL, -1, &pid, err);
    if (rc)
        return jm_err_prefix(err, "cannot set the clock");
    while (child->poll(child->self, pid, &status)) {
        if (jm_clock_mono(clock) > until || (wake.cancel && *wake.cancel)) {
            child->end(child->self, pid, JM_NS_PER_S, &status);
            return jm_err_set(err, JM_ETIMEOUT, "ntpdate was ended before it had set the clock by %s",
                              server);
        }
        jm_clock_sleep_until(clock, jm_clock_mono(clock) + 100 * JM_NS_PER_MS, wake.cancel);
    }
    if (status)
        return jm_err_set(
            err, JM_EIO, "ntpdate ended with status %d and did not set the clock by %s%s; set it by hand",
            status, server, getuid() ? " (it was run by sudo -n, which asks for no password)" : "");
    jm_clock_sleep_until(clock, jm_clock_mono(clock) + JM_NS_PER_S, wake.cancel);
    return 0;
}

int jm_mlperf_keep_time(const char *server, bool set, const struct jm_mlperf_child_ops *child,
                        const struct jm_clock *clock, struct jm_mlperf_wake wake, struct jm_mlperf_ntp *out,
                        struct jm_err *err)
{
    int rc = jm_mlperf_ntp_query(server, clock, wake, JM_MLPERF_NTP_TIMEOUT, out, err);
    if (!rc)
        rc = jm_mlperf_ntp_judge(out, err);
    if (rc != JM_ECONFLICT || !set)
        return rc;
    rc = set_clock(server, child, clock, wake, err);
    if (!rc)
        rc = jm_mlperf_ntp_query(server, clock, wake, JM_MLPERF_NTP_TIMEOUT, out, err);
    return rc ? rc : jm_mlperf_ntp_judge(out, err);
}
