/* SPDX-License-Identifier: Apache-2.0 */
/* SPEC PTDaemons as the Director's source: one process and one connection an analyzer, the commands in the
 * order of the public tool (mlcommons/power-dev ptd_client_server/lib/server.py at c4b3ad8):
 *
 *   open      Hello, Identify, RR
 *   ranging   SR,V,Auto  SR,A,Auto (or the largest)  SR,A,Auto … Go,1000,0,<mark>
 *   stop      Stop  RL,*,* (else RL, else DC-RL)  Uncertainty  Watts
 *   testing   SR,V,<volts>  SR,A,<amps> … Go,1000,0,<mark>
 *   stop      Watts  Uncertainty  Stop  RL…  Uncertainty  Watts
 *   close     SR,V,<initial>  SR,A,<initial>
 *
 * The second SR,A,Auto undoes rangingMode MAX there, so MAX has no effect; here it is not sent after MAX.
 * A PTDaemon still measuring at close gets a Stop first. */
#ifndef JM_MLPERF_PTD_H
#define JM_MLPERF_PTD_H

#include "mlperf/child.h"
#include "mlperf/config.h"
#include "mlperf/net.h"
#include "mlperf/source.h"

#define JM_MLPERF_PTD_LINE 1024 /* longest reply that is no sample */

/* config and child stay the caller's. work_dir: where the PTDaemons' own log files go. */
int jm_mlperf_ptd_new(const struct jm_mlperf_config *config, const struct jm_mlperf_child_ops *child,
                      const char *work_dir, const struct jm_clock *clock, struct jm_mlperf_wake wake,
                      struct jm_mlperf_source *out, struct jm_err *err);
void jm_mlperf_ptd_free(struct jm_mlperf_source *s);

/* Replies, pure. */
/* "Ranges,<A auto>,<A>,<V auto>,<V>": each range as text when autoranging is off and it is above 0, else
 * "Auto". What cannot be read is "Auto" too. */
void jm_mlperf_ptd_ranges(struct jm_span reply, struct jm_mlperf_ranges *out);
/* "Last 2998 samples[ from sum channel and channels 1 - 3]". first_channel is 1 where none is said. JM_EPARSE
 * when there is no number. */
#define JM_MLPERF_PTD_SAMPLES 10000000
int jm_mlperf_ptd_last(struct jm_span reply, int64_t *samples, int *first_channel, struct jm_err *err);
/* "Uncertainty,<mean>,<min>,<max>,<samples>,<above 1 %>,<within>,<unknown>": the counts. false: no such
 * reply. */
struct jm_mlperf_ptd_uncertainty {
    int64_t samples, above, within, unknown;
};
bool jm_mlperf_ptd_uncertainty(struct jm_span reply, struct jm_mlperf_ptd_uncertainty *out);
/* Does it begin with "Error", or say that it failed? */
bool jm_mlperf_ptd_is_error(struct jm_span reply);

#endif
