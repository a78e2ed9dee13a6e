/* SPDX-License-Identifier: Apache-2.0 */
/* Between the files of meter/redfish*.c. */
#ifndef JM_METER_REDFISH_IMPL_H
#define JM_METER_REDFISH_IMPL_H

#include "meter/http.h"
#include "wire/redfish.h"

enum jm_redfish_login { JM_REDFISH_SESSION, JM_REDFISH_BASIC, JM_REDFISH_NO_LOGIN };

struct jm_redfish_conf {
    const char *url;
    int login;        /* enum jm_redfish_login */
    int parts;        /* 0: the node and its main parts, 1: the node alone, 2: all that says power */
    int64_t requests; /* most while looking around */
    int64_t poll;     /* most a reading */
};

/* The talk to one service: login, and one request at a time. */
struct jm_redfish_talk {
    struct jm_http http;
    int login;
    char token[256], session[256]; /* secret; "" where there is none */
    char sessions[256];            /* where a session is made */
    char password[JM_SECRET_MAX];
    const char *user;
    int64_t logged_in; /* monotonic ns of the last login */
    bool may_relog;
};

int jm_redfish_login(struct jm_redfish_talk *t, struct jm_err *err);
/* GET; the answer in t->http. 0 only for a status of 200. JM_EDENIED, JM_EABSENT, JM_EAGAIN (busy),
 * JM_EUNSUPPORTED for others. A session that the service has forgotten is made again, once. */
int jm_redfish_get(struct jm_redfish_talk *t, const char *uri, struct jm_err *err);
void jm_redfish_logout(struct jm_redfish_talk *t);

/* Walks the tree of resources into set; asked: how many requests it took. Replies go to m's raw sink. */
int jm_redfish_discover(struct jm_redfish_talk *t, const struct jm_redfish_conf *conf, struct jm_rf_set *set,
                        int64_t *asked, char skipped[192], const struct jm_meter *m,
                        void (*seen)(void *self, const char *uri), void *self, struct jm_err *err);

/* What a counter's movement says of its unit. */
struct jm_redfish_unit {
    bool open; /* nobody stated it, and physics has not decided yet */
    double joules, watts, factor;
    int64_t t;
    int agreed; /* stretches in a row that gave this factor */
};

/* One channel and where its value is. */
struct jm_redfish_spot {
    struct jm_rf_reading what; /* as discovered */
    size_t resource;           /* in resource[] */
    int power;                 /* of a counter: the channel of its power, -1: none */
    struct jm_redfish_unit unit;
};

struct jm_redfish_resource {
    char uri[JM_RF_URI];
    bool told; /* its first reply was kept */
    int failed;
};

struct jm_redfish {
    struct jm_redfish_talk talk;
    struct jm_rf_set set; /* scratch of a poll */
    struct jm_redfish_spot *spot;
    size_t n_spots;
    struct jm_redfish_resource *resource;
    size_t n_resources;
    int clock, age; /* channels, -1: none */
};

/* Is it worth a channel? */
bool jm_redfish_usable(const struct jm_rf_set *s, const struct jm_rf_reading *r, int parts);
/* A counter whose unit is open, with a power beside it that can decide: worth one, too. */
bool jm_redfish_watchable(const struct jm_rf_set *s, const struct jm_rf_reading *r, int parts);
/* A short name of the thing, which its power and its energy share; first: of the whole, which has none. */
void jm_redfish_part(const struct jm_rf_reading *r, bool first, char out[64]);
/* After a reading of all spots: counters against the power beside them (redfish_watch.c). */
struct jm_reading;
void jm_redfish_watch(struct jm_redfish *f, struct jm_reading *out);
/* Bytes of the URI up to the end of its chassis' name; 0: it is of none. */
size_t jm_redfish_chassis(const char *uri);
/* Sensors whose names promise the whole of a chassis and show a part of it become parts. After dedupe. */
void jm_redfish_wholes(struct jm_rf_set *s);
/* Whether a feed of the configuration names a part that the service has. */
bool jm_redfish_fed(const struct jm_rf_set *s, const struct jm_instrument *in);
/* A supply of a shelf that tells its own input: its joules are inside of that. */
bool jm_redfish_in_total(const struct jm_redfish *f, const struct jm_rf_reading *supply);
/* One source and quantity. */
bool jm_redfish_same(const struct jm_rf_reading *a, const struct jm_rf_reading *b);
/* Which resources to ask: the fewest that hold the spots, the whole before its parts; spots that no request
 * is left for are dropped. */
void jm_redfish_cover(struct jm_redfish *f, const struct jm_rf_set *s, size_t most, size_t *left_out);
int jm_redfish_order(const void *a, const void *b); /* of spots, for qsort */

#endif
