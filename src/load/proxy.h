/* SPDX-License-Identifier: Apache-2.0 */
/* Proxies: one that was asked for, and those that the environment names. */
#ifndef JM_LOAD_PROXY_H
#define JM_LOAD_PROXY_H

#include <stdbool.h>

#include "base/err.h"
#include "load/client.h"

/* "host:port" of a proxy's URL, without user and password. JM_EINVAL for what is no proxy's URL; the sentence
 * does not repeat a password. */
int jm_proxy_host(const char *url, char *out, size_t n, struct jm_err *err);
/* Checks the transport of cfg and prepares c->curl and c->setup for it. */
int jm_proxy_init(struct jm_client *c, const struct jm_load_cfg *cfg, struct jm_err *err);
/* The variable of the environment that names a proxy for this target (http_proxy, HTTPS_PROXY, ...), unless
 * no_proxy excepts its host; NULL: none. get(): getenv, or a test's. */
const char *jm_proxy_of_env(const struct jm_target *t, char *(*get)(const char *name));
/* Whether the target's host is this machine, by its name alone. */
bool jm_target_here(struct jm_target *t);

#endif
