/* SPDX-License-Identifier: Apache-2.0 */
/* NVIDIA GPUs. It reads only: no call in here changes a setting. */
#include "meter/nvml.h"

#include <stdio.h>
#include <stdlib.h>

#include "meter/registry.h"
#include "base/banned.h"

/* Usable is what answers a reading: on a Jetson NVML starts, and every power query is "not supported". */
static int judge(struct jm_nvml_session *s, const struct jm_meter_env *env, struct jm_probe *out)
{
    int why = JM_NVML_OK;
    size_t ok = jm_nvml_readable(s, &why), failed = 0;
    for (size_t i = 0; i < s->n; i++) {
        failed += s->gpu[i].ret != JM_NVML_OK;
        if (s->gpu[i].ret != JM_NVML_OK && why == JM_NVML_OK)
            why = s->gpu[i].ret;
    }
    if (ok)
        jm_probe_set(out, JM_PROBE_OK, "", "%zu of %zu GPUs, driver %s%s%s%s", ok, s->n,
                     s->driver[0] ? s->driver : "unknown", s->api.lib.simulated ? ", SIMULATED" : "",
                     s->note[0] ? "; " : "", s->note);
    else if (s->n == 0)
        jm_probe_set(out, JM_PROBE_ABSENT, "", "the driver is loaded, but it has no GPU");
    else if (failed == s->n)
        jm_probe_set(out, why == JM_NVML_NO_PERMISSION ? JM_PROBE_DENIED : JM_PROBE_ABSENT,
                     why == JM_NVML_NO_PERMISSION ? "sudo chmod a+rw /dev/nvidiactl /dev/nvidia[0-9]*" : "",
                     "none of the %zu GPUs can be opened: %s", s->n, jm_nvml_error(why));
    else if (s->n_selected == 0)
        jm_probe_set(out, JM_PROBE_ABSENT, "", "the selection \"%s\" names none of the %zu GPUs: %s",
                     env->devices ? env->devices : "", s->n, s->note);
    else
        jm_probe_set(out, why == JM_NVML_NO_PERMISSION ? JM_PROBE_DENIED : JM_PROBE_UNSUPPORTED, "",
                     "NVML starts, but no GPU (%s) answers an energy or power query: %s", s->gpu[0].name,
                     jm_nvml_error(why));
    return 0;
}

static int nvml_probe(const struct jm_meter_env *env, struct jm_probe *out)
{
    struct jm_nvml_session s;
    struct jm_err err = {0};
    *out = (struct jm_probe){.state = JM_PROBE_UNSUPPORTED};
    int rc = jm_nvml_session_open(env, &s, out, &err);
    if (rc) {
        if (!out->reason[0])
            jm_probe_set(out, JM_PROBE_UNSUPPORTED, "", "%s", err.text);
        return 0;
    }
    judge(&s, env, out);
    jm_nvml_session_close(&s);
    return 0;
}

static void nvml_close(struct jm_meter *m)
{
    if (!m)
        return;
    if (m->priv)
        jm_nvml_session_close(m->priv);
    free(m->priv);
    jm_meter_dispose(m);
}

static int nvml_open(const struct jm_meter_env *env, struct jm_domain_tree *tree, struct jm_meter **out,
                     struct jm_err *err)
{
    struct jm_probe p;
    struct jm_meter *m = jm_meter_alloc(&jm_meter_nvml, err);
    if (!m)
        return JM_ENOMEM;
    struct jm_nvml_session *s = calloc(1, sizeof *s);
    if (!s) {
        jm_meter_dispose(m);
        return jm_err_set(err, JM_ENOMEM, "out of memory for the meter nvml");
    }
    int rc = jm_nvml_session_open(env, s, NULL, err);
    if (rc) {
        free(s);
        jm_meter_dispose(m);
        return rc;
    }
    m->priv = s;
    judge(s, env, &p);
    if (p.state != JM_PROBE_OK)
        rc = jm_err_set(err, p.state == JM_PROBE_DENIED ? JM_EDENIED : JM_EABSENT, "nvml: %s", p.reason);
    else
        rc = jm_nvml_channels(m, s, env, tree, err);
    if (rc) {
        nvml_close(m);
        return rc;
    }
    snprintf(m->instance, sizeof m->instance, "%.95s", s->lib);
    m->simulated = s->api.lib.simulated;
    if (s->note[0])
        jm_logf(env->log, JM_LOG_WARN, "nvml", "%s", s->note);
    *out = m;
    return 0;
}

const struct jm_meter_ops jm_meter_nvml = {
    .version = JM_METER_OPS_VERSION,
    .name = "nvml",
    .summary = "NVIDIA GPUs: energy, power, limits, clocks, throttling",
    .boundary = "gpu",
    .needs = "any user that may open /dev/nvidiactl and /dev/nvidia*",
    .traps = "Power is not one quantity: a mean of the last second, of 100 ms, or 25 of each 100 ms, by "
             "architecture and driver branch "
             "(Yang et al., SC24); each channel says which, and how it is integrated.\n"
             "Devices are named by UUID and counted by PCI bus, as with CUDA_DEVICE_ORDER=PCI_BUS_ID; NVML's "
             "own order is neither "
             "stable nor CUDA's.\n"
             "A GH200 shows power and energy of the whole module only: domain module, which contains GPU and "
             "Grace.\n"
             "A MIG slice has no power of its own: its id selects the whole board, which counts once.\n"
             "The energy counter restarts with the driver; a fall is a reset, never a wrap.\n"
             "A call for several values succeeds when any value did: each has its own status; 0 W and more "
             "than twice the board's "
             "limit are implausible.\n"
             "A GPU whose handle fails is left out and named; a lost one says so until the end, and never "
             "shows its last value.\n"
             "Usable is what answers a power or energy query: on a Jetson NVML starts, and answers none.\n"
             "Accuracy of single boards is not published; between 0.87 and 1.15 of the truth was measured. "
             "nvidia-smi's help says "
             "+-5 W.\n"
             "Limits, modes, temperature and utilisation are read less often than power (0.2 s to 10 s); "
             "each reading has its own "
             "stamp.",
    .probe = nvml_probe,
    .open = nvml_open,
    .read = jm_nvml_read,
    .close = nvml_close,
    .find_process = jm_nvml_find_process,
};
