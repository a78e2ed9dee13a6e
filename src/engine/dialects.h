/* SPDX-License-Identifier: Apache-2.0 */
#ifndef JM_ENGINE_DIALECTS_H
#define JM_ENGINE_DIALECTS_H

#include "engine/telemetry.h"

extern const struct jm_engine_dialect jm_engine_vllm, jm_engine_sim, jm_engine_sglang, jm_engine_tgi,
    jm_engine_trtllm, jm_engine_triton, jm_engine_nim, jm_engine_dynamo, jm_engine_llamacpp, jm_engine_host;

#endif
