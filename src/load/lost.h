/* SPDX-License-Identifier: Apache-2.0 */
/* Why a connection, or the answer that it carried, came to no good end. */
#ifndef JM_LOAD_LOST_H
#define JM_LOAD_LOST_H

enum jm_lost {
    JM_LOST_END,     /* the other side closed in order */
    JM_LOST_RESET,   /* reset, or another error of the connection */
    JM_LOST_REFUSED, /* could not be opened: refused, unreachable */
    JM_LOST_TLS,
    JM_LOST_PROTOCOL /* bytes that are no HTTP */
};

#endif
