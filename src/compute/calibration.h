/* SPDX-License-Identifier: Apache-2.0 */
/* The relation between the power of a machine's GPUs and that of its node or inlet: a fixed part and a slope,
 * P = P0 + k P_gpu, with a bend where the data ask for one. Fitted over several load levels, carried in a
 * small file, and applied to runs that know only their GPUs. docs/calibration.md says how and why. */
#ifndef JM_COMPUTE_CALIBRATION_H
#define JM_COMPUTE_CALIBRATION_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/span.h"
#include "base/str.h"
#include "model/words.h"

#define JM_CAL_LEVELS 64 /* of one relation */
#define JM_CAL_GPUS   256
#define JM_CAL_RUNS   256
#define JM_CAL_BYTES  (1u << 20) /* of a file */
#define JM_CAL_LEAST  4          /* levels */
#define JM_CAL_BEND   6          /* levels from which a bend is tried */
#define JM_CAL_HOLE   0.6        /* of the span without a level: nothing is said inside */
#define JM_CAL_MARGIN 0.02       /* of the span, beyond the range on either side */
/* The least that the outer power may rise by with that of the GPUs, and be of it: what holds the GPUs draws
 * what they draw and more, and a board shows at most 1.15 of its truth (published cards). */
#define JM_CAL_LEAST_SLOPE 0.85

/* Mean powers of one window. */
struct jm_cal_point {
    double gpu_w, u_gpu; /* standard uncertainty without gain */
    double w, u;         /* at the boundary */
    bool idle;
    int window; /* of its run */
};

/* What the windows of runs give for one boundary. Zeroed before; v is the caller's to free. */
struct jm_cal_points {
    struct jm_cal_point *v;
    size_t n, not_measured; /* windows whose energy is an estimate, or declared */
    size_t mixed;           /* windows measured by another set of domains than the first one, left out */
    double gain;            /* largest bound of the outer meter's gain, share; NAN */
    char set[96], instrument[160], gpu_instrument[160];
};

struct jm_cal_level {
    double gpu_w, u_gpu, w, u;
    int windows;
    bool idle;
    double residual;                /* W, fit minus measured */
    double left_out, left_out_half; /* what the fit without this level says of it; NAN at the ends */
};

struct jm_cal_relation {
    enum jm_boundary boundary; /* JM_B_NODE or JM_B_WALL */
    char set[96], instrument[160];
    double gain;     /* bound of the outer meter's gain, share of the power; NAN: nobody stated it */
    bool bend, cube; /* bend: a third term; cube: it is P_gpu³ / knee², not a knee */
    double beta[3];  /* W, 1, 1: P0, k, what is added to k above the knee, or the factor of the cube */
    double cov[3][3];
    double knee;    /* W of GPU power, the highest level with a cube; NAN without a third term */
    double lo, hi;  /* range of GPU power, W */
    double scatter; /* W: what a window lies off the fit beyond its own uncertainty, one sigma */
    double dof;
    double widen; /* factor on the interval so that every level left out lies inside */
    struct jm_cal_level level[JM_CAL_LEVELS];
    size_t n_level;
};

struct jm_cal_machine {
    char host[96], driver[64], supplies[96], ambient[32];
    char (*gpu)[96]; /* keys of the GPUs, sorted; owned */
    size_t n_gpu;
    char gpu_instrument[160];
};

struct jm_cal_run {
    char file[256], sha256[65], label[128];
};

struct jm_calibration {
    char created[40]; /* of the newest run */
    char joulemark[32];
    struct jm_cal_machine machine;
    struct jm_cal_run *run; /* owned */
    size_t n_run;
    struct jm_cal_relation relation[2];
    size_t n_relation;
    bool simulated;  /* a run it rests on was simulated */
    char sha256[65]; /* of the file it was read from; "" */
};

void jm_calibration_release(struct jm_calibration *c);

/* Fits r (whose boundary, set, instrument and gain are there) to the windows' points. JM_EUNSUPPORTED with a
 * sentence where they cannot carry a relation: too few levels, too little spread, a slope that is
 * none. */
int jm_cal_fit(const struct jm_cal_point *p, size_t n, struct jm_cal_relation *r, struct jm_err *err);

/* Power at gpu_w (standard uncertainty u_gpu). u and dof of the normal part, gain as a bound; half: of the
 * whole at level. JM_EUNSUPPORTED: outside the range, or in a hole of it. */
struct jm_cal_power {
    double w, u, dof, gain, half;
};
int jm_cal_predict(const struct jm_cal_relation *r, double gpu_w, double u_gpu, double level,
                   struct jm_cal_power *out, struct jm_err *err);

/* The file. Reading is strict: a file of another version, or with a number that cannot be, is refused. */
int jm_calibration_write(const struct jm_calibration *c, struct jm_str *out, struct jm_err *err);
int jm_calibration_read(struct jm_span text, struct jm_calibration *out, struct jm_err *err);

#endif
