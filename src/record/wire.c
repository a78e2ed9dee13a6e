/* SPDX-License-Identifier: Apache-2.0 */
/* Configured instruments: each is a row of the run from the beginning. One that does not answer at the start
 * is tried again while the run goes on, and joins when it answers: its channels begin then, and its row says
 * since when. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "meter/opening.h"
#include "record/internal.h"

#include "base/banned.h"

static const char *state_of(int rc)
{
    return rc == JM_EDENIED ? "denied" : rc == JM_EUNSUPPORTED ? "unsupported" : "absent";
}

/* Why it does not answer, for its row: that begins with its name as the sentence does. What a device has sent
 * may be quoted in it. */
static void take_why(struct jm_wire *x, const struct jm_err *why)
{
    size_t n = strlen(x->in->name);
    x->why = *why;
    if (strncmp(x->why.text, x->in->name, n) == 0 && strncmp(x->why.text + n, ": ", 2) == 0)
        memmove(x->why.text, why->text + n + 2, strlen(why->text + n + 2) + 1);
    jm_text_plain(x->why.text, strlen(x->why.text), false);
}

/* What came of opening x at the start. */
static int begin(struct jm_recorder *r, struct jm_wire *x, struct jm_opened *o, struct jm_err *err)
{
    char why[512];
    x->replies = jm_replies_new(x->in, JM_REPLIES_ROOM / (int64_t)r->n_wire);
    if (!x->replies)
        return jm_err_set(err, JM_ENOMEM, "out of memory for the replies of %s", x->in->name);
    jm_replies_early(x->replies, o->early);
    x->later = o->later;
    x->tries = o->tries;
    take_why(x, &o->why);
    o->later = NULL;
    snprintf(why, sizeof why, "%s%s", x->why.text, !o->m && x->later ? "; it is tried again" : "");
    int id = jm_record_put_row(r, x->in->ops, x->in->name, o->m, o->m ? "ok" : state_of(o->rc),
                               o->m ? "" : why, "", err);
    x->meter = id;
    if (id < 0 || !o->m)
        return id < 0 ? id : 0;
    int rc = jm_record_take_meter(r, o->m, id, x->replies, err);
    if (!rc)
        o->m = NULL; /* its reader's */
    return rc;
}

int jm_record_open_wires(struct jm_recorder *r, struct jm_err *err)
{
    const struct jm_instrument **in = NULL;
    int rc = jm_instruments_select(r->cfg.env.instruments, r->cfg.meters, &in, err);
    size_t n = rc > 0 ? (size_t)rc : 0;
    struct jm_opened *o = n ? calloc(n, sizeof *o) : NULL;
    r->wire = n ? calloc(n, sizeof *r->wire) : NULL;
    rc = rc < 0                  ? rc
         : n && (!o || !r->wire) ? jm_err_set(err, JM_ENOMEM, "out of memory for the configured meters")
                                 : 0;
    if (!rc && n)
        rc = jm_instruments_open_all(&r->cfg.env, in, n, true, &r->tree, o, err);
    for (size_t i = 0; !rc && i < n; i++)
        r->wire[i].in = in[i];
    r->n_wire = rc ? 0 : n;
    for (size_t i = 0; !rc && i < n; i++)
        rc = begin(r, &r->wire[i], &o[i], err);
    for (size_t i = 0; o && i < n; i++)
        jm_opened_release(&o[i]);
    free(o);
    free(in);
    return rc;
}

/* It answers: channels, reader, and what the row says. */
static int join(struct jm_recorder *r, struct jm_wire *x, struct jm_opened *o, struct jm_err *err)
{
    char text[512], key[96];
    double late = (double)(jm_clock_mono(&r->clock) - r->t_start) / 1e9;
    int rc = jm_record_take_meter(r, o->m, x->meter, x->replies, err);
    if (rc)
        return rc;
    struct jm_reader *d = r->reader[r->n_reader - 1];
    o->m = NULL;
    rc = jm_run_put_domains(r->w, &r->tree, err);
    snprintf(text, sizeof text, "its readings begin %.1f s after the start, at try %u: %.250s", late,
             o->tries, x->why.text);
    if (!rc)
        rc = jm_run_set_meter_state(r->w, x->meter, "ok", text, err);
    snprintf(key, sizeof key, "instrument.%.40s.late", x->in->name);
    if (!rc)
        rc = jm_run_put_env(r->w, key, text, err);
    d->next = jm_clock_mono(&r->clock);
    atomic_store(&d->ready, true);
    if (!rc && !r->inline_mode)
        rc = jm_reader_spawn(d, err);
    jm_logf(r->cfg.log, JM_LOG_WARN, "record", "meter %s: it answers now; %s", x->in->name, text);
    return rc;
}

void jm_record_latecomers(struct jm_recorder *r)
{
    pthread_mutex_lock(&r->late_lock);
    for (size_t i = 0; r->started && !r->finishing && i < r->n_wire; i++) {
        struct jm_wire *x = &r->wire[i];
        struct jm_opened o;
        struct jm_err e = {0};
        if (!x->later || jm_record_error(r, NULL))
            continue;
        pthread_mutex_lock(&r->live_lock); /* the tree */
        int rc = jm_opening_take(x->later, &r->tree, &o, &e);
        pthread_mutex_unlock(&r->live_lock);
        x->later = o.later;
        o.later = NULL;
        if (rc > 0) {
            jm_replies_early(x->replies, o.early);
            rc = o.m ? join(r, x, &o, &e) : 0;
            x->tries = o.tries;
            if (o.rc)
                take_why(x, &o.why);
        }
        jm_opened_release(&o);
        if (rc < 0)
            jm_record_fail(r, &e);
    }
    pthread_mutex_unlock(&r->late_lock);
}

void jm_record_end_wires(struct jm_recorder *r)
{
    pthread_mutex_lock(&r->late_lock);
    r->finishing = true;
    pthread_mutex_unlock(&r->late_lock);
}

void jm_record_never_came(struct jm_recorder *r)
{
    for (size_t i = 0; i < r->n_wire; i++) {
        struct jm_wire *x = &r->wire[i];
        struct jm_err e = {0};
        char text[512];
        if (!x->later || x->meter < 0 || jm_record_error(r, NULL))
            continue;
        snprintf(text, sizeof text, "%.300s; it was tried again until the end, %u time%s", x->why.text,
                 x->tries ? x->tries : 1, x->tries > 1 ? "s" : "");
        if (jm_run_set_meter_state(r->w, x->meter, state_of(x->why.code), text, &e))
            jm_record_fail(r, &e);
    }
}

void jm_record_free_wires(struct jm_recorder *r)
{
    for (size_t i = 0; i < r->n_wire; i++) {
        jm_opening_drop(r->wire[i].later);
        jm_replies_unref(r->wire[i].replies);
    }
    free(r->wire);
}
