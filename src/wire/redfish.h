/* SPDX-License-Identifier: Apache-2.0 */
/* Redfish bodies (DMTF DSP0266, DSP0268; schema bundle DSP8010) to readings of power and energy: bytes in,
 * readings out, no socket. What services really send is accepted: numbers as strings, an object for an
 * array, null and "N/A", old schemas, vendors' own paths (wire/redfish_vendor.c).
 *
 * A value is never made up: null, "N/A", NaN, a sentinel or a 0 that is known to mean nothing is a reading
 * whose status is not ok. */
#ifndef JM_WIRE_REDFISH_H
#define JM_WIRE_REDFISH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/span.h"
#include "base/str.h"
#include "model/words.h"

#define JM_RF_URI 240

enum jm_rf_kind {
    JM_RF_INSTANT, /* a value of now */
    JM_RF_MEAN,    /* mean over interval_s (NAN: not said) */
    JM_RF_MIN,     /* of the interval */
    JM_RF_MAX,
    JM_RF_COUNTER, /* energy since a reset */
    JM_RF_LIMIT    /* a setting, no measurement */
};

/* Which side of a power supply, or what part: as the source or its vendor states it. */
enum jm_rf_scope {
    JM_RF_SIDE_UNKNOWN, /* of the whole, without the side of the supplies being stated */
    JM_RF_AC_INPUT,
    JM_RF_DC_INPUT,
    JM_RF_DC_OUTPUT,
    JM_RF_BOARD,    /* a board or module behind the supplies */
    JM_RF_COMPONENT /* one part on a board */
};

/* What the quantity is of. */
enum jm_rf_of {
    JM_RF_NODE, /* the whole chassis or system */
    JM_RF_PSU,
    JM_RF_OUTLET,
    JM_RF_OUTLET_GROUP,
    JM_RF_MAINS, /* an input circuit of power equipment */
    JM_RF_BRANCH,
    JM_RF_PHASE, /* one line of a circuit */
    JM_RF_PDU,   /* the sum of power equipment */
    JM_RF_GPU,
    JM_RF_GPUS, /* all GPU boards together */
    JM_RF_CPU,
    JM_RF_MEMORY,
    JM_RF_MODULE, /* a board that holds several parts */
    JM_RF_SWITCH,
    JM_RF_NIC,
    JM_RF_STORAGE,
    JM_RF_FANS,
    JM_RF_RAIL /* anything else: a regulator, a hot-swap controller */
};

struct jm_rf_reading {
    double value;      /* W or J; meaningless unless status is ok */
    enum jm_unit unit; /* JM_U_W or JM_U_J */
    double factor;     /* what the source's number was multiplied by: 1, 1e-3, 3.6e6 */
    bool unit_sure; /* false: the source's unit is not stated or known to be wrong at times: jm_rf_factor */
    enum jm_rf_kind kind;
    enum jm_rf_scope scope;
    enum jm_rf_of of;
    enum jm_status status;
    bool synthetic;    /* the source says that it is calculated, not sensed */
    bool stale;        /* the source says so */
    bool repeat;       /* another reading of the set has the same source and kind */
    bool excerpt;      /* a copy of a sensor's reading (DataSourceUri) */
    double step;       /* resolution in the unit; NAN: not known */
    double lo, hi;     /* range of the sensor; NAN: not stated */
    double accuracy;   /* absolute bound in the unit; NAN: not stated */
    double interval_s; /* averaging window, or the interval of min, max and mean; NAN: not stated */
    double sensing_s;  /* how often it is sensed; NAN: not stated */
    double modulus;    /* J after which a counter starts again; 0: not known to */
    int64_t time;      /* acquisition, Unix ns by the service's clock; 0: not stated */
    int64_t since;     /* counter: when it was last reset, Unix ns by the service's clock; 0: not stated */
    char source[JM_RF_URI]; /* what is read: DataSourceUri, or resource#/property */
    char uri[JM_RF_URI];    /* the resource in which it was found */
    char owner[JM_RF_URI];  /* of a sensor: the outlet, supply or circuit that copies it; "": none */
    char property[64];      /* "PowerWatts", "PowerConsumedWatts", ... */
    char name[96];          /* for people */
};

struct jm_rf_limits {
    size_t bytes;    /* of a body; 0: 16 MiB */
    size_t readings; /* of a set; 0: 8192 */
    size_t links;    /* of a set; 0: 4096 */
};

enum jm_rf_link_kind {
    JM_RF_LINK_FOLLOW, /* a resource or collection on the way to readings */
    JM_RF_LINK_MEMBER, /* a member of a collection */
    JM_RF_LINK_NEXT    /* the rest of a collection that comes in pages */
};
struct jm_rf_link {
    enum jm_rf_link_kind kind;
    char uri[JM_RF_URI];
    char key[32]; /* the property that held it */
};

struct jm_rf_set {
    struct jm_rf_reading *r;
    size_t n, cap;
    struct jm_rf_link *link;
    size_t n_links, links_cap;
    struct jm_rf_limits lim;
    size_t dropped;       /* what a limit left out */
    char repaired[160];   /* what was wrong with the last body and was overlooked; "": nothing */
    int64_t service_time; /* the clock that the last body stated, Unix ns; 0: none */
    int64_t sequence;     /* ReportSequence of the last body, -1: none */
    char etag[64];        /* @odata.etag of the last body */
    char type[64]; /* "Power", "EnvironmentMetrics", "Sensor", ... of the last body; "" where not known */
    char id[96], make[64], product[96]; /* of the last body: Id, Manufacturer or Vendor, Model or Product */
    /* Processors that are GPUs by their ProcessorType, whatever their name; kept over jm_rf_set_clear. */
    char (*gpu)[JM_RF_URI];
    size_t n_gpu;
};

void jm_rf_set_init(struct jm_rf_set *s, const struct jm_rf_limits *lim); /* lim NULL: the defaults */
void jm_rf_set_release(struct jm_rf_set *s);
void jm_rf_set_clear(struct jm_rf_set *s); /* no readings and links; memory and limits kept */

/* Adds what a body says. uri: where it was fetched ("/redfish/v1/Chassis/1/Power"). JM_EPARSE with one
 * sentence when the body is not even nearly JSON or no object, JM_ELIMIT, JM_ENOMEM. A body without power is
 * no error. */
int jm_rf_read(struct jm_rf_set *s, struct jm_span body, const char *uri, struct jm_err *err);

/* The body as JSON: a byte order mark, NUL bytes and blanks at the ends, control characters inside strings,
 * trailing commas, surplus brackets at the end and NaN (made null) are mended and named in what. JM_EPARSE
 * where that does not help. */
int jm_rf_mend(struct jm_span body, struct jm_str *out, char what[160], struct jm_err *err);

/* A number as services write it. JM_S_OK, or JM_S_ABSENT (null, "", "N/A", "null", "-", NaN, missing). */
struct jm_json;
enum jm_status jm_rf_number(const struct jm_json *v, double *out);
/* ISO 8601 durations: "PT5S", "PT0H1M0S", "P0DT00H30M00S", "PT0.25S" in seconds; NAN for anything else. */
double jm_rf_duration(struct jm_span text);

const char *jm_rf_kind_name(int v);  /* "instant", "mean", ... */
const char *jm_rf_scope_name(int v); /* "ac-input", ... */
const char *jm_rf_of_name(int v);    /* "node", "psu", ... */

/* --- what a set of readings means
 * ------------------------------------------------------------------------ */

/* Marks readings that repeat another's source. Fetched sensors win over excerpts of them. */
void jm_rf_dedupe(struct jm_rf_set *s);

/* Unit of an energy counter by physics: the factor of {1e-3, 1, 1e3, 3.6e3, 3.6e6} with which delta counts
 * in dt_s seconds are power_w within `within` (0.3: ±30 %); 0: none fits, or more than one does. */
double jm_rf_factor(double delta, double dt_s, double power_w, double within);
/* The same against another value of the same counter that is sure: 796170.4 and 796100 J are 1. */
double jm_rf_factor_against(double value, double sure_j, double within);

/* Units that a report leaves open, decided where the set allows: a counter against the same counter whose
 * unit is stated, a power against what a board can draw and the unit of the counter beside it. What stays
 * open keeps unit_sure false; a power that no board draws is implausible. Before jm_rf_dedupe. */
void jm_rf_decide(struct jm_rf_set *s);

enum jm_rf_side {
    JM_RF_IS_UNKNOWN,
    JM_RF_IS_INPUT,  /* agrees with the input of the supplies */
    JM_RF_IS_OUTPUT, /* agrees with their output */
    JM_RF_IS_OTHER   /* agrees with neither */
};

/* The cross-check of one chassis: what its whole-chassis figures are. Sums have the number of supplies that
 * gave a value and of those that are there: a sum over some is not the input of all. */
struct jm_rf_audit {
    double consumed, input, output, last_output; /* W; NAN: none */
    double unstated;                             /* sum of supplies whose side is not stated */
    size_t unstated_have;
    size_t input_have, output_have, last_have, supplies;
    double mean, min, max, interval_min; /* PowerMetrics; NAN: none */
    enum jm_rf_side consumed_is, mean_is;
    bool outside;      /* consumed is outside [min, max]: another quantity or stale; do not mix */
    bool input_bogus;  /* an input is implausible against its output (a capacity), so no sum is made */
    bool last_total;   /* LastPowerOutputWatts repeats the system's total on each supply */
    bool last_suspect; /* LastPowerOutputWatts does not agree with what is consumed (a supply says 0, or
                          the sum is far off) */
    char text[320];    /* for people */
};
/* Of the readings whose uri begins with chassis ("/redfish/v1/Chassis/1"); NULL: of all. */
void jm_rf_audit(const struct jm_rf_set *s, const char *chassis, struct jm_rf_audit *out);

#endif
