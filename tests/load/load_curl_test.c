/* SPDX-License-Identifier: Apache-2.0 */
/* Every case of load_test.c by the other transport: the ends, the counts and the order of stamps are the
 * same. */
#define TRANSPORT "curl"
#define WARMING   1
#include "load_test.c"
