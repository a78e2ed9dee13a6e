/* SPDX-License-Identifier: Apache-2.0 */
/* Entries of `meters:`: whatever a file says, it is refused with a sentence or gives whole entries that find
 * their place in the tree. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "meter/instrument.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    struct jm_instruments list = {0};
    struct jm_opt_arena *arena = NULL;
    struct jm_err err = {0};
    struct jm_domain_tree tree;
    struct jm_meter_env env = {.host = "here"};
    int rc = jm_instruments_parse(&list, (struct jm_span){(const char *)p, n}, "input", &arena, &err);
    if (rc && (!err.text[0] || list.n))
        abort();
    jm_domain_tree_init(&tree);
    if (!rc && jm_instruments_topology(&list, &env, &tree, &err) < 0 && !err.text[0])
        abort();
    for (size_t i = 0; !rc && i < list.n; i++) {
        const struct jm_instrument *in = list.v[i];
        char address[64];
        if (!in->name || !in->ops || !in->conf || in->timeout_ns <= 0)
            abort();
        jm_instrument_address(in, address, sizeof address);
        for (size_t k = 0; k <= in->n_feed; k++) {
            int d = jm_instrument_domain(in, &env, &tree, k < in->n_feed ? in->feed[k].part : NULL,
                                         JM_D_INLET_AC, &err);
            if (d >= (int)tree.n || (d < 0 && !err.text[0]))
                abort();
        }
    }
    jm_domain_tree_release(&tree);
    jm_instruments_release(&list);
    jm_opt_arena_free(arena);
    return 0;
}
