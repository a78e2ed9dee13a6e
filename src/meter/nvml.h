/* SPDX-License-Identifier: Apache-2.0 */
/* Private to the nvml_*.c files. */
#ifndef JM_METER_NVML_H
#define JM_METER_NVML_H

#include "meter/meter.h"
#include "meter/nvml_api.h"
#include "model/nvml_meaning.h"

#define JM_NVML_MAX_GPUS   128
#define JM_NVML_MAX_FIELDS 8

struct jm_nvml_gpu {
    jm_nvml_dev dev;
    unsigned index; /* NVML's own, which is no CUDA ordinal */
    int ordinal;    /* by PCI bus id */
    int ret;        /* why there is no handle, JM_NVML_OK: there is one */
    char uuid[96], name[96], bus_id[32];
    uint32_t pci_domain, pci_bus, pci_device, device_id;
    unsigned arch;
    unsigned mig; /* 1: MIG mode is on */
    bool selected, lost;
    bool temp_v; /* temperature by GetTemperatureV */
    int domain;
    size_t first, count;                            /* its channels */
    struct jm_nvml_field field[JM_NVML_MAX_FIELDS]; /* template, then buffer of each call */
    int n_field, n_edge, n_counter;                 /* counters come first, then power, then the rest */
};

/* How a channel is read. */
enum jm_nvml_how {
    JM_NVML_FIELD, /* entry of the GPU's GetFieldValues call */
    JM_NVML_ENERGY,
    JM_NVML_POWER,
    JM_NVML_CLOCK_SM,
    JM_NVML_CLOCK_MEM,
    JM_NVML_REASONS,
    JM_NVML_TEMP,
    JM_NVML_UTIL_GPU,
    JM_NVML_UTIL_MEM, /* shares the call of the channel before it */
    JM_NVML_PSTATE,
    JM_NVML_LIMIT_ENFORCED,
    JM_NVML_LIMIT_REQUESTED,
    JM_NVML_PERSISTENCE,
    JM_NVML_MIG_MODE,
    JM_NVML_DEAD /* a device that is there and cannot be opened: always its status */
};

struct jm_nvml_src {
    enum jm_nvml_how how;
    uint16_t gpu;   /* index in session.gpu */
    uint8_t entry;  /* JM_NVML_FIELD: which entry */
    uint8_t status; /* JM_NVML_DEAD */
    int64_t every_ns, due_ns;
};

struct jm_nvml_session {
    struct jm_nvml_api api;
    bool up; /* initialised */
    struct jm_nvml_gpu *gpu;
    size_t n, n_selected;
    char driver[80], version[80];
    int cuda, driver_major;
    char lib[256], proc_root[256];
    char note[192];          /* what was odd about the selection, "" */
    struct jm_nvml_src *src; /* one a channel */
};

/* nvml_open.c: loads, initialises, lists the devices by PCI bus id, selects. probe (may be NULL) gets state,
 * reason and mend when it fails. */
int jm_nvml_session_open(const struct jm_meter_env *env, struct jm_nvml_session *s, struct jm_probe *probe,
                         struct jm_err *err);
void jm_nvml_session_close(struct jm_nvml_session *s);

/* nvml_select.c: CUDA_VISIBLE_DEVICES' rules over devices that are sorted by PCI bus id. NULL selects all.
 * Marks .selected; the text of note says where and why a list was cut short. */
void jm_nvml_select(struct jm_nvml_session *s, const char *list);

/* nvml_channels.c: the channels of the selected devices. */
int jm_nvml_channels(struct jm_meter *m, struct jm_nvml_session *s, const struct jm_meter_env *env,
                     struct jm_domain_tree *tree, struct jm_err *err);
/* Can any selected device be read? Returns how many; *why gets the return of the last that cannot. */
size_t jm_nvml_readable(struct jm_nvml_session *s, int *why);
/* One entry of GetFieldValues; the call's or the entry's return. */
int jm_nvml_field_get(const struct jm_nvml_api *a, jm_nvml_dev dev, uint32_t id, uint32_t scope,
                      int64_t *out);

/* nvml_read.c */
/* One call of a channel that is no field. Not for JM_NVML_FIELD, JM_NVML_DEAD. */
int jm_nvml_call(const struct jm_nvml_session *s, const struct jm_nvml_src *src, int64_t *out);
size_t jm_nvml_read(struct jm_meter *m, const struct jm_clock *clock, enum jm_read_set set,
                    struct jm_reading *out);

/* nvml_proc.c */
int jm_nvml_find_process(struct jm_meter *m, const int64_t *pids, size_t n_pids, bool *device_used,
                         size_t n_devices);
/* The distance of process records in buf (n of them, the rest of cap bytes filled with fill): base (24, 16
 * with the oldest drivers), or 32 with some drivers of the 535 branch. */
size_t jm_nvml_proc_stride(const unsigned char *buf, size_t cap, unsigned n, size_t base, unsigned char fill);

#endif
