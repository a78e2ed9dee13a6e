/* SPDX-License-Identifier: Apache-2.0 */
/* The state of the simulated GPUs: one file, mapped by everybody who takes part.
 *
 *   creator (joulemark-sim gpu)   writes header, GPUs, waveforms, faults once
 *   driver  (joulemark-sim engine) appends power segments, sets utilisation, clocks, processes
 *   reader  (libnvidia-ml.so.1)   only reads; Set* calls append to a GPU's log of settings
 *   tests                         move the virtual clock, ask for the truth
 *
 * Units: time int64 ns of the state's clock; power int64 uW; energy is uW x ns = fJ (1e-15 J) in 128 bits, so
 * that every integral in here is exact. */
#ifndef SIMGPU_STATE_H
#define SIMGPU_STATE_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define SIMGPU_MAGIC      "JMSIMGPU"
#define SIMGPU_VERSION    1u
#define SIMGPU_ENV        "JOULEMARK_SIM_GPU"
#define SIMGPU_MAX_GPUS   64
#define SIMGPU_MAX_FAULTS 256
#define SIMGPU_MAX_PROCS  64
#define SIMGPU_MAX_MIG    7
#define SIMGPU_MAX_SETS   1024
#define SIMGPU_MAX_SEGS   (1u << 20)
#define SIMGPU_RING       (1u << 20)
#define SIMGPU_FOREVER    INT64_MAX

__extension__ typedef __int128 simgpu_fj;
#define SIMGPU_FJ_PER_MJ ((simgpu_fj)1000000000000)
#define SIMGPU_FJ_PER_J  1e15
#define SIMGPU_PPB       1000000000 /* gain 1.0 */

/* A 128-bit energy as it lies in the file. */
struct simgpu_energy {
    uint64_t lo;
    int64_t hi;
};

/* One piece of constant power of a waveform that repeats. */
struct simgpu_seg {
    int64_t end_ns; /* end of the piece, from the start of the cycle */
    int64_t uw;
    struct simgpu_energy before; /* energy of the cycle before this piece */
};

/* One piece of constant power that a driver appended; it lasts until the next one begins. */
struct simgpu_step {
    int64_t t_ns;
    int64_t uw;
    struct simgpu_energy before; /* energy from the start of the simulation to t_ns */
};

enum simgpu_clock { SIMGPU_CLOCK_REAL = 0, SIMGPU_CLOCK_VIRTUAL = 1 };

enum simgpu_mode { SIMGPU_WAVE = 0, SIMGPU_DRIVEN = 1 };

/* What a gauge answers, by NVML's power scope. Bits: GPU 1, MODULE 2, MEMORY 4. */
enum simgpu_scope { SIMGPU_SCOPE_GPU = 1, SIMGPU_SCOPE_MODULE = 2, SIMGPU_SCOPE_MEMORY = 4 };

/* A power gauge: at each of its refreshes it takes the mean of the power over the window that ends there.
 * window 0: the power at that instant; window = period: mean over a contiguous block; window < period:
 * partial sampling (25 of 100 ms); window > period: trailing mean. scopes 0: the query is not supported. */
struct simgpu_gauge {
    int64_t window_ns;
    int64_t period_ns; /* 0: refreshed at each read */
    uint32_t scopes;
    uint32_t pad;
};

enum simgpu_gauge_id { SIMGPU_USAGE = 0, SIMGPU_AVERAGE = 1, SIMGPU_INSTANT = 2, SIMGPU_GAUGES = 3 };

struct simgpu_proc {
    uint32_t pid;    /* 0: free slot */
    uint32_t kind;   /* 0 compute, 1 graphics, 2 MPS */
    uint64_t memory; /* bytes; UINT64_MAX: not available */
    uint32_t gi, ci; /* UINT32_MAX outside MIG */
    uint32_t sm_pct, mem_pct;
};

struct simgpu_mig {
    uint32_t present;
    uint32_t gi, ci;
    uint32_t slices;
    uint64_t memory;
    char profile[16]; /* "1g.10gb" */
    char uuid[48];
};

/* Settings, in the order in which they were made. */
enum simgpu_set_kind {
    SIMGPU_SET_LIMIT = 1,      /* a: uW */
    SIMGPU_SET_GPU_CLOCKS = 2, /* a: min MHz, b: max MHz; 0, 0 is a reset */
    SIMGPU_SET_MEM_CLOCKS = 3,
    SIMGPU_SET_PERSISTENCE = 4 /* a: 0 or 1 */
};

struct simgpu_set {
    int64_t t_ns;
    int32_t kind;
    uint32_t pid;
    int64_t a, b;
    struct simgpu_energy before; /* energy from the start of the simulation to t_ns */
    int64_t capped_ns;           /* time the power was held down by a limit, up to t_ns */
    int64_t pad;
};

struct simgpu_gpu {
    /* identity */
    char name[96];
    char uuid[80];
    char serial[32];
    char profile[24];
    uint32_t architecture; /* NVML's number */
    uint32_t cc_major, cc_minor;
    uint32_t pci_domain, pci_bus, pci_device, pci_device_id, pci_subsystem_id;
    uint64_t memory; /* bytes; 0: not supported (unified memory) */
    uint32_t cores;
    uint32_t max_sm_mhz, max_mem_mhz, idle_sm_mhz;
    uint32_t node; /* NUMA node */
    uint32_t pad0;

    /* limits and parts, uW */
    int64_t idle_uw, limit_min_uw, limit_default_uw, limit_max_uw;
    int64_t module_extra_uw; /* what the module draws besides this GPU (Grace CPU, memory) */
    int64_t memory_ppb;      /* share of the GPU's power that its memory draws; 0: no memory scope */

    /* sensors */
    int32_t counter;           /* 1: has an energy counter */
    uint32_t counter_scope;    /* enum simgpu_scope: GPU or MODULE */
    int64_t counter_period_ns; /* 0: refreshed at each read */
    int64_t counter_base_mj;
    int64_t phase_ns, jitter_ns, latency_ns;
    int64_t counter_gain_ppb, gauge_gain_ppb;
    struct simgpu_gauge gauge[SIMGPU_GAUGES];

    /* MIG: capable, enabled, pending */
    int32_t mig_capable, mig_mode, mig_pending, pad1;
    struct simgpu_mig mig[SIMGPU_MAX_MIG];

    /* true power */
    int32_t mode; /* enum simgpu_mode */
    uint32_t seg_count;
    uint64_t seg_at; /* offset in the file of struct simgpu_seg[seg_count] */
    int64_t cycle_ns,
        offset_ns; /* the waveform stands at offset_ns of its cycle when the simulation starts */
    struct simgpu_energy cycle;
    uint64_t ring_at;   /* offset in the file of struct simgpu_step[ring_size] */
    uint64_t ring_size; /* power of two */
    char waveform[256]; /* as it was asked for */

    /* what changes while it runs */
    _Atomic uint64_t ring_head; /* steps ever appended */
    _Atomic int64_t driven_capped_ns;
    _Atomic int32_t util_gpu, util_mem; /* percent; -1: follows the power */
    _Atomic int32_t sm_mhz, mem_mhz;    /* -1: follows the power */
    _Atomic int32_t temp_c;             /* -1: follows the power */
    _Atomic uint32_t proc_seq;          /* odd while the list below is written */
    struct simgpu_proc proc[SIMGPU_MAX_PROCS];
    _Atomic uint32_t set_count;
    uint32_t pad2;
    struct simgpu_set set[SIMGPU_MAX_SETS];
};

enum simgpu_fault_kind {
    SIMGPU_FAULT_NONE = 0,
    SIMGPU_FAULT_RESET,  /* the counter restarts from 0 */
    SIMGPU_FAULT_FROZEN, /* values stay as they were at `from` */
    SIMGPU_FAULT_NOT_SUPPORTED,
    SIMGPU_FAULT_LOST, /* GPU_IS_LOST */
    SIMGPU_FAULT_NO_PERMISSION,
    SIMGPU_FAULT_ENTRY,   /* FieldValues: SUCCESS, but the entry's own status is `code` */
    SIMGPU_FAULT_ERROR,   /* the call returns `code` */
    SIMGPU_FAULT_INIT,    /* nvmlInit returns `code` */
    SIMGPU_FAULT_SLOW,    /* the call takes `value` ns longer */
    SIMGPU_FAULT_VALUE,   /* gauges answer `value` mW */
    SIMGPU_FAULT_JUMP,    /* `value` mJ are added to the counter */
    SIMGPU_FAULT_STRIDE,  /* process lists with the 32-byte stride of drivers 535.43 */
    SIMGPU_FAULT_REASONS, /* clock event bits `value` are set too */
    SIMGPU_FAULT_GARBAGE  /* process utilisation with impossible rows */
};

/* Which calls a fault concerns. */
enum simgpu_what {
    SIMGPU_W_HANDLE = 1 << 0,
    SIMGPU_W_IDENT = 1 << 1,
    SIMGPU_W_ENERGY = 1 << 2,
    SIMGPU_W_USAGE = 1 << 3,
    SIMGPU_W_AVERAGE = 1 << 4,
    SIMGPU_W_INSTANT = 1 << 5,
    SIMGPU_W_POWER = SIMGPU_W_USAGE | SIMGPU_W_AVERAGE | SIMGPU_W_INSTANT,
    SIMGPU_W_LIMIT = 1 << 6,
    SIMGPU_W_CLOCKS = 1 << 7,
    SIMGPU_W_TEMP = 1 << 8,
    SIMGPU_W_UTIL = 1 << 9,
    SIMGPU_W_MEMORY = 1 << 10,
    SIMGPU_W_PROCS = 1 << 11,
    SIMGPU_W_PSTATE = 1 << 12,
    SIMGPU_W_REASONS = 1 << 13,
    SIMGPU_W_MIG = 1 << 14,
    SIMGPU_W_SET = 1 << 15,
    SIMGPU_W_SAMPLES = 1 << 16,
    SIMGPU_W_FIELDS = 1 << 17,
    SIMGPU_W_MODES = 1 << 18,
    SIMGPU_W_ALL = (1 << 19) - 1,
    SIMGPU_W_DCGM = 1 << 19 /* the host engine between the GPUs and who asks libdcgm; not in all */
};

struct simgpu_fault {
    int32_t kind;
    int32_t gpu; /* -1: every one */
    uint32_t what;
    int32_t code;              /* nvmlReturn_t */
    int64_t from_ns, until_ns; /* from the start of the simulation */
    int64_t value;
};

struct simgpu_header {
    char magic[8];
    uint32_t version;
    uint32_t header_size, gpu_size, gpu_count;
    uint64_t gpu_at; /* offset in the file of struct simgpu_gpu[gpu_count] */
    uint64_t file_size;
    uint64_t seed;
    int32_t clock; /* enum simgpu_clock */
    uint32_t fault_count;
    int64_t start_ns;       /* the clock when the simulation starts */
    int64_t start_real_ns;  /* CLOCK_REALTIME at that moment */
    int64_t call_cost_ns;   /* virtual clock: each call of the library takes this long */
    _Atomic int64_t now_ns; /* the virtual clock */
    _Atomic uint64_t calls; /* calls of the library so far */
    char driver[80];
    char nvml[80];
    int32_t cuda; /* 1000 x major + 10 x minor */
    int32_t pad;
    struct simgpu_fault fault[SIMGPU_MAX_FAULTS];
};

/* Copies what another process may be writing, by words; a sequence count around it tells whether the copy is
 * whole. */
static inline void simgpu_copy_shared(void *to, const void *from, size_t bytes)
{
    for (size_t i = 0; i < bytes / sizeof(uint32_t); i++) {
        uint32_t v = __atomic_load_n((const uint32_t *)from + i, __ATOMIC_RELAXED);
        __atomic_store_n((uint32_t *)to + i, v, __ATOMIC_RELAXED);
    }
}

static inline simgpu_fj simgpu_fj_get(struct simgpu_energy e)
{
    return (simgpu_fj)e.hi * ((simgpu_fj)1 << 64) + (simgpu_fj)e.lo;
}

static inline struct simgpu_energy simgpu_fj_put(simgpu_fj v)
{
    struct simgpu_energy e = {.lo = (uint64_t)v, .hi = (int64_t)(v >> 64)};
    return e;
}

#endif
