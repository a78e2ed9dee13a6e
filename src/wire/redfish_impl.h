/* SPDX-License-Identifier: Apache-2.0 */
/* Between the files of wire/redfish*.c. */
#ifndef JM_WIRE_REDFISH_IMPL_H
#define JM_WIRE_REDFISH_IMPL_H

#include "base/json.h"
#include "wire/redfish.h"

struct jm_rf_body {
    struct jm_rf_set *set;
    const struct jm_json *root;
    char uri[JM_RF_URI];
    struct jm_err *err;
    int rc;
};

/* A path of a vendor, in a body of any type: "PowerSupplies[].Oem.*.PowerInputWatts"; * is any member. */
struct jm_rf_vendor {
    const char *vendor, *path;
    double factor; /* of the number to W or J */
    enum jm_unit unit;
    enum jm_rf_kind kind;
    enum jm_rf_of of;
    enum jm_rf_scope scope;
    const char *name_key; /* sibling that names the thing, which then decides what it is; NULL: none */
    const char *origin;   /* where this is known from */
};
extern const struct jm_rf_vendor jm_rf_vendors[];
extern const size_t jm_rf_n_vendors;

/* A named metric of a report whose property does not say what it is: "SystemInputPower". */
struct jm_rf_metric {
    const char *id;
    double factor;
    enum jm_unit unit;
    enum jm_rf_kind kind;
    enum jm_rf_of of;
    enum jm_rf_scope scope;
    double interval_s; /* 0: none */
};
const struct jm_rf_metric *jm_rf_metric_find(struct jm_span id);

/* A new reading with nothing known, or NULL (a limit, no memory: b->rc). */
struct jm_rf_reading *jm_rf_add(struct jm_rf_body *b, const char *property);
/* Puts a number into it: status, value, step; sentinels and impossible values are not values. */
void jm_rf_put(struct jm_rf_reading *r, const struct jm_json *v, double factor);
int64_t jm_rf_stamp(const struct jm_json *v);  /* RFC 3339 to Unix ns; 0: none */
double jm_rf_seconds(const struct jm_json *v); /* a duration; NAN: none */
/* A part that is not there or not on has no power, whatever number stands beside it. */
bool jm_rf_is_off(const struct jm_json *o);
/* A whole chassis that answers draws power: 0 is what firmware says that does not know. */
void jm_rf_node_zero(struct jm_rf_reading *r);
/* What an excerpt or sensor says beside its value. */
void jm_rf_details(struct jm_rf_reading *r, const struct jm_json *o);
void jm_rf_excerpts(struct jm_rf_body *b);
void jm_rf_sensor(struct jm_rf_body *b);
void jm_rf_history(struct jm_rf_body *b);
void jm_rf_links(struct jm_rf_body *b);
void jm_rf_vendor_paths(struct jm_rf_body *b);
void jm_rf_report(struct jm_rf_body *b);
void jm_rf_power(struct jm_rf_body *b);
void jm_rf_one(struct jm_rf_body *b);

/* What a name says that a quantity is of; scope where it says so. False: nothing. */
bool jm_rf_named(struct jm_span name, enum jm_rf_of *of, enum jm_rf_scope *scope);
bool jm_rf_shelf_supply(struct jm_span name);
void jm_rf_tray(const char *uri, struct jm_span name, enum jm_rf_of *of, enum jm_rf_scope *scope);
/* The same by the place in the tree of resources. */
void jm_rf_placed(const char *uri, enum jm_rf_of *of, enum jm_rf_scope *scope);
/* The part of an address after a collection: "1U" of "/redfish/v1/Chassis/1U/Power" after "/Chassis/". */
struct jm_span jm_rf_segment(const char *uri, const char *collection);
void jm_rf_text(char *out, size_t n, const struct jm_json *v);
void jm_rf_uri(char out[JM_RF_URI], struct jm_span s);
bool jm_rf_below(const char *uri, const char *top); /* uri is top or below it */
double jm_rf_step_of(double v, double factor);      /* of the last digit that is written; NAN: many */

#endif
