/* SPDX-License-Identifier: Apache-2.0 */
/* A simulated power analyzer of Yokogawa's WT kind that speaks SCPI, over TCP, VXI-11 or a
 * pseudo-terminal. What it shows follows from a waveform whose energy is known (wall/wall.h). *IDN? says
 * JOULEMARK,SIM-...: it never passes for a real instrument. */
#ifndef SIM_ANALYZER_H
#define SIM_ANALYZER_H

#include "wall/wall.h"
#include "wall/wt.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SIMAN_ITEMS  255
#define SIMAN_ERRORS 16
#define SIMAN_LINE   2048
#define SIMAN_OUT    16384
#define SIMAN_FAULTS 16

enum siman_quantity { Q_NONE, Q_U, Q_I, Q_P, Q_S, Q_Q, Q_LAMB, Q_PHI, Q_FU, Q_FI, Q_WH, Q_AH, Q_TIME };

struct siman_item {
    uint8_t quantity, element; /* element 0: the sum */
};

enum siman_integration { INTEG_RESET, INTEG_START, INTEG_STOP, INTEG_TIMEUP };

/* Bits of the condition register, then three for each element: over range, voltage peak, current peak over.
 */
enum { C_UPD = 1, C_ITG = 2, C_ITM = 4, C_OVRS = 8, C_FOV = 16 };
#define C_OVR(e) (64u << (3 * (e)))
#define C_POV(e) (128u << (3 * (e)))
#define C_POA(e) (256u << (3 * (e)))

enum siman_fault_kind {
    AF_SILENT,
    AF_GARBAGE,
    AF_CLOSE,
    AF_DIE,
    AF_HALF,
    AF_NAN,
    AF_INF,
    AF_OVER,
    AF_SLOW,
    AF_IDN
};

struct siman_fault {
    int kind;
    double number;
    int64_t at_ns, length_ns; /* from the start */
    bool done;
};

struct siman_options {
    const char *waveform, *truth, *serial, *bind;
    const struct simwt_model *m;
    int port, vxi11, portmap, elements; /* vxi11, portmap: -1 none, 0 a free one */
    bool tcp, pty, help, split;
    double speed, gain, noise, volt_range, amp_range;
    uint64_t seed;
    struct simwt_load load;
    struct siman_fault fault[SIMAN_FAULTS];
    int faults;
};

struct siman {
    struct siman_options *o;
    const struct simwt_model *m;
    struct simwall *wall;
    struct simclock clock;
    int64_t start_ns;
    /* settings */
    bool header, verbose, v_auto, a_auto, hold, is_float;
    double v_range, a_range;
    int cfac;
    int64_t rate_ns;
    struct siman_item item[SIMAN_ITEMS];
    int items;
    /* what is shown: one update */
    int64_t next_ns;
    bool updated;
    struct simwt_value now[SIMWT_ELEMENTS + 1]; /* 0: the sum */
    uint32_t condition, event;
    int range_changes;
    uint64_t draws;
    /* integration */
    enum siman_integration integ;
    int64_t integ_ns, timer_ns;    /* integrated so far, and until when (0: for good) */
    double wh[SIMWT_ELEMENTS + 1]; /* of elements */
    double ah[SIMWT_ELEMENTS + 1];
    /* errors */
    int error[SIMAN_ERRORS], errors;
    /* the answer to the line that is being served */
    char out[SIMAN_OUT + 2];
    size_t out_n;
    bool answered, overflow;
};

void siman_options_init(struct siman_options *o);
int siman_options_read(struct siman_options *o, int argc, char **argv, char *why, size_t n);
const char *siman_fault_help(int i);
struct siman_fault *siman_fault(struct siman *a, int kind);

/* measure.c */
int siman_prepare(struct siman *a, char *why, size_t n); /* status */
void siman_tick(struct siman *a);
void siman_reset(struct siman *a); /* *RST */
void siman_integrate(struct siman *a, enum siman_integration to);
int siman_write_truth(const struct siman *a, char *why, size_t n);

/* scpi.c: one line, its answer in out[out_n] without line end (nothing where nothing was asked). */
void siman_line(struct siman *a, char *line);
/* "230.12E+00" */
void siman_number(double x, double range, char out[32]);

int siman_serve(struct siman_options *o);
bool siman_ended(void);
/* The answer to a line with its line feed, faults and all; 0: it says nothing. */
size_t siman_answer(struct siman *a, char *line, char out[SIMAN_OUT + 2]);

#endif
