/* SPDX-License-Identifier: Apache-2.0 */
/* A calibration and a run. */
#ifndef JM_COMPUTE_CALIBRATED_H
#define JM_COMPUTE_CALIBRATED_H

#include "compute/calc.h"
#include "compute/calibration.h"

/* Gathers points, or makes the calibrated results of node and wall; wall: replaced by what was carried where
 * nothing measures it. */
int jm_calibrated_window(struct jm_calc *c, const struct jm_calc_window *w, const struct jm_cut *gpu,
                         const struct jm_cut *node, struct jm_cut *wall);

/* Host, GPUs and driver of a run; free m->gpu. */
int jm_cal_machine_of(const struct jm_run *run, struct jm_cal_machine *m, struct jm_err *err);
bool jm_cal_same_gpus(const struct jm_cal_machine *a, const struct jm_cal_machine *b);

/* May it be applied to the run? JM_EUSAGE with a sentence where host, GPUs or driver are others and that was
 * not allowed; note: what was allowed, "" where nothing had to be. */
#define JM_CAL_NOTE 96
int jm_calibration_fits(const struct jm_calibration *c, const struct jm_run *run, bool any_machine,
                        bool any_driver, char note[JM_CAL_NOTE], struct jm_err *err);

#endif
