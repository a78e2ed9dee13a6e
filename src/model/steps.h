/* SPDX-License-Identifier: Apache-2.0 */
/* Names of the marks that stand for known steps of load. A pattern begins with OFF, and END says until when
 * it is known that nothing else was done. */
#ifndef JM_MODEL_STEPS_H
#define JM_MODEL_STEPS_H

#define JM_STEP_ON  "joulemark.step on"
#define JM_STEP_OFF "joulemark.step off"
#define JM_STEP_END "joulemark.step end"

#endif
