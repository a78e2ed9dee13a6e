/* SPDX-License-Identifier: Apache-2.0 */
/* What the files behind scpi.h share. */
#ifndef JM_METER_SCPI_IMPL_H
#define JM_METER_SCPI_IMPL_H

#include "meter/scpi.h"

int64_t jm_scpi_now_ms(void);
/* 0, -ETIMEDOUT or -errno */
int jm_scpi_wait(int fd, short events, int64_t until_ms);
int jm_scpi_connect(int *fd, const char *host, const char *port, int timeout_ms, const char *what,
                    struct jm_err *err);

/* scpi_vxi11.c; rest: what stands behind "vxi11://". 0 or -errno, but the first. */
int jm_scpi_vxi11_open(struct jm_scpi *s, const char *rest, const char *what, struct jm_err *err);
int jm_scpi_vxi11_send(struct jm_scpi *s, struct jm_span text);
/* More of the answer into buf; its end becomes the end of a line. */
int jm_scpi_vxi11_fill(struct jm_scpi *s, int64_t until_ms);
/* Throws away what the instrument still holds for us, where there may be something. */
void jm_scpi_vxi11_clear(struct jm_scpi *s);
void jm_scpi_vxi11_unlink(struct jm_scpi *s);

#endif
