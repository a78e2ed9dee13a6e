/* SPDX-License-Identifier: Apache-2.0 */
/* The wire to an instrument that is asked line by line: a TCP socket, VXI-11, a serial port, or a USB-TMC
 * device. Every wait has a bound; nothing is allocated after opening. */
#ifndef JM_METER_SCPI_H
#define JM_METER_SCPI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/span.h"

enum jm_scpi_kind { JM_SCPI_TCP, JM_SCPI_SERIAL, JM_SCPI_USBTMC, JM_SCPI_VXI11 };

#define JM_SCPI_REPLY 4096

struct jm_scpi {
    int fd; /* -1: closed */
    enum jm_scpi_kind kind;
    int timeout_ms;
    const char *end; /* what ends a line that is sent */
    char buf[JM_SCPI_REPLY], line[JM_SCPI_REPLY];
    size_t n;
    struct {
        uint32_t link, xid, max;
        bool linked, owes; /* owes: an answer that nobody took */
        uint8_t buf[JM_SCPI_REPLY + 512];
        size_t n;
    } vxi;
};

/* address: "tcp://HOST:PORT" or "HOST:PORT", "vxi11://HOST/inst0" (wire/vxi11.h), "/dev/usbtmc0" (any path
 * whose last part begins so), or any other path as a serial port of baud, 8n1. what: begins the sentence of
 * an error. */
int jm_scpi_open(struct jm_scpi *s, const char *address, int default_port, int64_t baud, int timeout_ms,
                 const char *what, struct jm_err *err);
void jm_scpi_close(struct jm_scpi *s);

/* A line without its end. 0, or -errno (-ETIMEDOUT, -EPIPE: the other side is gone). */
int jm_scpi_send(struct jm_scpi *s, const char *line);
/* The next line without its end; valid until the next call. -EMSGSIZE: longer than JM_SCPI_REPLY. */
int jm_scpi_recv(struct jm_scpi *s, struct jm_span *line);
int jm_scpi_ask(struct jm_scpi *s, const char *line, struct jm_span *reply);
/* What came too late: thrown away, so that the next answer belongs to the next question. */
void jm_scpi_drain(struct jm_scpi *s);

/* One value of an answer. */
enum jm_scpi_value { JM_SCPI_NUMBER, JM_SCPI_NODATA, JM_SCPI_OVER, JM_SCPI_BAD };
/* "230.12E+00" as an integer of units of 10^scale10: exact, or rounded to the nearest where it has more
 * digits. NAN, 9.91E+37 are no data, INF, 9.9E+37 are over range; so is any number from 9.9E+37 on (a WT200
 * prints it). */
enum jm_scpi_value jm_scpi_number(struct jm_span text, int scale10, int64_t *out);

#endif
