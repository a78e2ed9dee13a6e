/* SPDX-License-Identifier: Apache-2.0 */
/* Records and replies of VXI-11 as a stream, and its addresses. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "wire/vxi11.h"

static void reply(uint8_t kind, struct jm_span m)
{
    static const enum jm_vxi11_proc procs[] = {JM_VXI11_GETPORT, JM_VXI11_CREATE_LINK, JM_VXI11_WRITE,
                                               JM_VXI11_READ,    JM_VXI11_CLEAR,       JM_VXI11_DESTROY_LINK};
    struct jm_vxi11_reply r;
    if (jm_vxi11_reply(procs[kind % 6], 1, m, &r) != JM_VXI11_OK || r.other)
        return;
    if (r.data.n && (r.data.p < m.p || r.data.p + r.data.n > m.p + m.n))
        abort();
    if (!jm_vxi11_error_text(r.error))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    struct jm_vxi11_address a;
    uint8_t buf[4096], out[JM_VXI11_CALL];
    size_t size, used;
    if (n < 1 || n > sizeof buf)
        return 0;
    struct jm_span text = {(const char *)p + 1, n - 1};
    if (jm_vxi11_address(text, &a) &&
        (!a.host.n || a.port < 0 || a.portmap < 1 || !memchr(a.device, 0, sizeof a.device)))
        abort();
    struct jm_vxi11_call c = {.proc = JM_VXI11_WRITE, .data = text};
    if ((jm_vxi11_call(&c, out) == 0) != (text.n > JM_VXI11_DATA))
        abort();
    reply(p[0], text);
    memcpy(buf, p + 1, n - 1);
    for (size_t at = 0; jm_vxi11_record(buf + at, n - 1 - at, sizeof buf, &size, &used) == JM_VXI11_OK;
         at += used) {
        if (!used || used > n - 1 - at || size > used)
            abort();
        reply(p[0], (struct jm_span){(const char *)buf + at + 4, size});
    }
    return 0;
}
