/* SPDX-License-Identifier: Apache-2.0 */
/* What a worker sends next, and when. Open slices are merged into one lane in order of time; all workers draw
 * the same sequence and each takes every n-th arrival, so that the schedule of a seed does not depend on the
 * number of threads. Arrivals exist only when they are looked at: a backlog costs no memory, however long it
 * is. Each closed slice has a lane of its own. Requests are made some ahead of time. */
#ifndef JM_LOAD_FEED_H
#define JM_LOAD_FEED_H

#include <stdbool.h>
#include <stdint.h>

#include "load/plan.h"
#include "load/prompts.h"
#include "load/trace.h"

struct jm_worker;
struct jm_slot;

/* A conversation between two of its turns. */
struct jm_talk {
    int slice, turn, turns;
    int64_t session, k;
    struct jm_str history; /* JSON messages without the brackets, or text */
    char **text;           /* what the user says, where a data set says it */
    int64_t *osl;
};
void jm_talk_free(struct jm_talk *t);

struct jm_item {
    int64_t id;  /* -1: given when it begins */
    int64_t due; /* CLOCK_MONOTONIC; -1: at once */
    int64_t k;   /* its number in the slice */
    int slice;
    int64_t session;                  /* -1: none */
    int turn;                         /* -1: none */
    int64_t cancel_ns, cancel_tokens; /* -1: not by plan */
    struct jm_talk *talk;             /* owned; NULL: none */
};

struct jm_made {
    struct jm_item item;
    struct jm_prompt prompt;
};

#define JM_READY_PROMPTS 32

struct jm_lane {
    int slice;    /* -1: the open ones */
    int64_t next; /* closed: unused numbers come from the load */
    struct jm_made ready[JM_READY_PROMPTS];
    size_t at, n;
    bool over; /* nothing more will come */
};

/* An open slice's next arrival. */
struct jm_source {
    int slice;
    struct jm_shape shape;
    int64_t t; /* ns after the start */
    int64_t k;
    bool over;
};

enum jm_alarm_kind { JM_ALARM_FOLLOW, JM_ALARM_CANCEL };
struct jm_alarm {
    int64_t due;
    enum jm_alarm_kind kind;
    struct jm_slot *slot; /* cancel */
    int64_t id;
    struct jm_item item; /* follow */
};
/* alarm.c: a heap by time. False: no memory. pop: there must be one. */
bool jm_alarm_push(struct jm_alarm **v, size_t *n, size_t *cap, const struct jm_alarm *a);
struct jm_alarm jm_alarm_pop(struct jm_alarm *v, size_t *n);

struct jm_feed {
    struct jm_source *source;
    size_t sources;
    int64_t merged; /* arrivals of all open slices so far */
    struct jm_lane **lane;
    size_t lanes, turn;               /* turn: the lane that is topped up next */
    struct jm_trace **trace;          /* by slice; NULL: none */
    struct jm_alarm *follow, *cancel; /* heaps by time */
    size_t follows, follows_cap, cancels, cancels_cap;
    bool pumping;
};

int jm_feed_init(struct jm_worker *w, struct jm_err *err);
void jm_feed_release(struct jm_worker *w);
/* One request more made ahead, if there is room. */
void jm_feed_top_up(struct jm_worker *w);
/* Open loop: begins what is due as far as slots are free, sets the timer for the rest. */
void jm_feed_pump(struct jm_worker *w);
void jm_feed_arm(struct jm_worker *w);
/* Closed loop: the next request of a slot's slice, if there is one and its user is wanted; else it idles. */
void jm_feed_user(struct jm_worker *w, struct jm_slot *s);
/* What comes after the request that a slot has just ended: the next turn of its conversation. True: there is
 * one (the slot waits for it, or it is on the list). */
bool jm_feed_follow(struct jm_worker *w, struct jm_slot *s, bool ok);
/* The plan gives up this request at t. */
void jm_feed_cancel_at(struct jm_worker *w, struct jm_slot *s, int64_t t);
void jm_feed_alarms(struct jm_worker *w, int64_t now);
/* At the end: what is due and was never sent becomes a request that says so; beyond a number it is counted.
 */
void jm_feed_give_up(struct jm_worker *w);
/* Nothing more will ever be sent. */
bool jm_feed_over(const struct jm_worker *w);

#endif
