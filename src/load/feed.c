/* SPDX-License-Identifier: Apache-2.0 */
#include "load/feed.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>

#include "load/worker.h"

#include "base/banned.h"

#define PROMPTS_AHEAD 16
#define AT_ONCE       64    /* requests begun before the answers of others are read again */
#define UNSENT_ROWS   10000 /* of a worker: requests that were never sent and are kept one by one */
#define UNSENT_COUNT  100000000
#define NOT_LATE      (10 * JM_NS_PER_MS)

/* --- the schedule
 * --------------------------------------------------------------------------------------------------- */
static const struct jm_slice *slice_of(const struct jm_worker *w, int slice)
{
    return &w->l->prompts.plan->slice[slice];
}

/* The row of the slice's file for request k; false when the file is used up, or cannot be read any more. */
static bool row_of(struct jm_worker *w, int slice, int64_t k, struct jm_trace_row *row)
{
    struct jm_trace *t = w->feed.trace[slice];
    return t && jm_trace_at(t, k, row, NULL) == 0;
}

static void advance(struct jm_worker *w, struct jm_source *s)
{
    const struct jm_slice *l = slice_of(w, s->slice);
    struct jm_trace_row row;
    if (l->arrive != JM_ARRIVE_TRACE) {
        s->over = !jm_shape_next(&s->shape, &s->t);
        s->k = s->shape.k;
        return;
    }
    s->k++;
    const struct jm_trace_facts *f = w->feed.trace[s->slice] ? jm_trace_facts(w->feed.trace[s->slice]) : NULL;
    s->over = !f || s->k >= f->rows || (l->count > 0 && s->k >= l->count) || !row_of(w, s->slice, s->k, &row);
    if (!s->over)
        s->t = l->start_ns + (int64_t)((double)(row.t - f->first) / l->time_scale);
}

/* The earliest of all open slices; NULL: none is left. */
static struct jm_source *earliest(struct jm_feed *f)
{
    struct jm_source *best = NULL;
    for (size_t i = 0; i < f->sources; i++)
        if (!f->source[i].over && (!best || f->source[i].t < best->t))
            best = &f->source[i];
    return best;
}

static bool capped(const struct jm_worker *w, int64_t n)
{
    return w->l->cfg.max_requests > 0 && n >= w->l->cfg.max_requests;
}

/* The next arrival of this worker, which stays there. */
static struct jm_source *mine(struct jm_worker *w)
{
    struct jm_feed *f = &w->feed;
    struct jm_source *s;
    while ((s = earliest(f)) && !capped(w, f->merged) && f->merged % w->l->workers != w->index) {
        advance(w, s);
        f->merged++;
    }
    return capped(w, f->merged) ? NULL : s;
}

static int64_t due_of(const struct jm_worker *w, int64_t t)
{
    return w->l->t0 + t;
}

/* --- making
 * ------------------------------------------------------------------------------------------------------- */
static struct jm_talk *new_talk(struct jm_worker *w, const struct jm_recipe *r)
{
    const struct jm_trace_row *row = r->row;
    const struct jm_slice *s = slice_of(w, r->slice);
    int64_t turns = s->trace_sessions && row && row->turns ? (int64_t)row->turns : r->draw.turns;
    struct jm_talk *t = turns > 0 && turns < INT32_MAX ? calloc(1, sizeof *t) : NULL;
    if (!t)
        return NULL;
    *t = (struct jm_talk){.slice = r->slice, .turns = (int)turns, .k = r->k};
    t->session = r->k * (int64_t)w->l->prompts.plan->slices + r->slice + 1;
    jm_str_init(&t->history);
    if (!row || !row->turns)
        return t;
    t->text = calloc((size_t)turns, sizeof(char *));
    t->osl = calloc((size_t)turns, sizeof *t->osl);
    for (int i = 0; t->text && t->osl && i < t->turns && (size_t)i < row->turns; i++) {
        t->text[i] = strndup(row->turn[i].text.p ? row->turn[i].text.p : "", row->turn[i].text.n);
        t->osl[i] = jm_trace_answer_tokens(row->turn[i].answer_bytes);
    }
    return t;
}

static bool make(struct jm_worker *w, struct jm_made *m, struct jm_talk *talk)
{
    struct jm_item *it = &m->item;
    const struct jm_slice *s = slice_of(w, it->slice);
    struct jm_recipe r = {.slice = it->slice, .k = it->k, .talk = talk};
    struct jm_trace_row row;
    /* later turns are drawn apart */
    jm_slice_draw(s, w->l->cfg.seed, it->slice, it->k + (talk ? (int64_t)talk->turn << 40 : 0), &r.draw);
    if (s->trace && !talk && row_of(w, it->slice, it->k, &row)) {
        r.row = &row;
        r.draw.isl = row.isl;
        if (s->osl.kind == JM_LEN_NONE)
            r.draw.osl = row.osl;
    }
    if (!talk && jm_slice_sessions(s))
        r.talk = new_talk(w, &r);
    if (r.talk && r.talk->osl && s->osl.kind == JM_LEN_NONE)
        r.draw.osl = r.talk->osl[r.talk->turn];
    it->talk = r.talk;
    it->session = r.talk ? r.talk->session : r.row ? r.row->session : -1;
    it->turn = r.talk ? r.talk->turn : -1;
    it->cancel_ns = r.draw.cancel ? s->cancel_ns : -1;
    it->cancel_tokens = r.draw.cancel ? s->cancel_tokens : -1;
    if (jm_prompts_recipe(&w->l->prompts, &r, &m->prompt, NULL) == 0)
        return true;
    if (!talk) {
        jm_talk_free(it->talk);
        it->talk = NULL;
    }
    return false;
}

/* One more at the end of a lane; false: there is none, or it cannot be made. */
static bool make_one(struct jm_worker *w, struct jm_lane *l)
{
    struct jm_made *m = &l->ready[(l->at + l->n) % JM_READY_PROMPTS];
    struct jm_load *load = w->l;
    if (l->over || l->n == JM_READY_PROMPTS)
        return false;
    m->item = (struct jm_item){.id = -1, .due = -1};
    if (l->slice < 0) {
        struct jm_source *s = mine(w);
        if (!s) {
            l->over = true;
            return false;
        }
        m->item.slice = s->slice;
        m->item.k = s->k;
        m->item.due = s->t; /* after the start, until it has begun */
        if (load->fixed_ids)
            m->item.id = load->cfg.first_id + w->feed.merged;
        bool ok = make(w, m, NULL);
        advance(w, s);
        w->feed.merged++;
        l->n += ok;
        return ok;
    }
    const struct jm_slice *s = slice_of(w, l->slice);
    m->item.slice = l->slice;
    m->item.k = atomic_fetch_add(&load->next_k[l->slice], 1);
    if (s->count > 0 && m->item.k >= s->count) {
        l->over = true;
        return false;
    }
    bool ok = make(w, m, NULL);
    l->n += ok;
    return ok;
}

static struct jm_made *head(struct jm_worker *w, struct jm_lane *l)
{
    if (!l->n && !make_one(w, l))
        return NULL;
    return &l->ready[l->at];
}

static void drop_head(struct jm_lane *l)
{
    l->at = (l->at + 1) % JM_READY_PROMPTS;
    l->n--;
}

void jm_feed_top_up(struct jm_worker *w)
{
    struct jm_feed *f = &w->feed;
    for (size_t i = 0; i < f->lanes; i++) {
        struct jm_lane *l = f->lane[f->turn++ % f->lanes];
        if (l->n < PROMPTS_AHEAD && !l->over && make_one(w, l))
            return;
    }
}

/* --- open loop
 * ---------------------------------------------------------------------------------------------------------
 */
static struct jm_lane *open_lane(struct jm_worker *w)
{
    struct jm_feed *f = &w->feed;
    return f->lanes && f->lane[0]->slice < 0 ? f->lane[0] : NULL;
}

/* When the next arrival is due, INT64_MAX: never. Makes nothing. */
static int64_t next_due(struct jm_worker *w)
{
    struct jm_lane *l = open_lane(w);
    int64_t at = INT64_MAX;
    struct jm_source *s;
    if (l && l->n)
        at = due_of(w, l->ready[l->at].item.due);
    else if (l && !l->over && (s = mine(w)))
        at = due_of(w, s->t);
    if (w->feed.follows && w->feed.follow[0].due < at)
        at = w->feed.follow[0].due;
    return at;
}

void jm_feed_arm(struct jm_worker *w)
{
    struct jm_feed *f = &w->feed;
    int64_t at = !w->stopped && jm_worker_has_room(w) ? next_due(w) : INT64_MAX;
    if (f->cancels && f->cancel[0].due < at)
        at = f->cancel[0].due;
    struct itimerspec it = {0};
    if (at != INT64_MAX)
        it.it_value = (struct timespec){at > 0 ? at / JM_NS_PER_S : 0, at > 0 ? at % JM_NS_PER_S : 1};
    timerfd_settime(w->timer_fd, TFD_TIMER_ABSTIME, &it, NULL);
}

static void begin(struct jm_worker *w, struct jm_slot *s, struct jm_made *m)
{
    if (m->item.id < 0)
        m->item.id = w->l->cfg.first_id + atomic_fetch_add(&w->l->next_id, 1);
    jm_slot_begin(s, m);
}

static void begin_follow(struct jm_worker *w, struct jm_slot *s, struct jm_alarm *a)
{
    struct jm_made m;
    m.item = a->item;
    m.item.due = a->due;
    jm_prompt_init(&m.prompt);
    int64_t n = atomic_fetch_add(&w->l->next_id, 1);
    bool cut = capped(w, n); /* others took the last places while this turn thought */
    m.item.id = w->l->cfg.first_id + n;
    if (!cut && make(w, &m, a->item.talk)) {
        m.item.due = a->due;
        begin(w, s, &m);
    } else {
        if (cut)
            atomic_fetch_add(&w->l->talks_cut, 1);
        jm_talk_free(a->item.talk);
        jm_worker_idle(w, s);
    }
    jm_prompt_release(&m.prompt);
}

void jm_feed_pump(struct jm_worker *w)
{
    struct jm_feed *f = &w->feed;
    struct jm_lane *l = open_lane(w);
    if (f->pumping || !l || !w->going)
        return;
    f->pumping = true;
    for (int n = 0; n < AT_ONCE && !w->stopped && next_due(w) <= jm_clock_mono(&w->env.clock); n++) {
        struct jm_slot *s = jm_worker_slot(w);
        if (!s)
            break;
        struct jm_made *m = head(w, l);
        int64_t arrival = m ? due_of(w, m->item.due) : INT64_MAX;
        if (f->follows && f->follow[0].due <= arrival) {
            struct jm_alarm a = jm_alarm_pop(f->follow, &f->follows);
            begin_follow(w, s, &a);
        } else if (m) {
            m->item.due = arrival;
            drop_head(l); /* first: beginning may end at once and look for the next */
            begin(w, s, m);
        } else {
            jm_worker_idle(w, s);
            break;
        }
        if (s->state == JM_SLOT_IDLE) /* it failed at once: the next tick goes on */
            break;
    }
    f->pumping = false;
    jm_feed_arm(w);
}

/* --- closed loop
 * ---------------------------------------------------------------------------------------------------------
 */
void jm_feed_user(struct jm_worker *w, struct jm_slot *s)
{
    struct jm_lane *l = w->feed.lane[s->lane];
    int64_t now = jm_clock_mono(&w->env.clock);
    int wanted = jm_slice_users_at(slice_of(w, l->slice), now - w->l->t0);
    s->state = JM_SLOT_IDLE;
    if (w->stopped || s->user >= wanted || capped(w, atomic_load(&w->l->next_id)))
        return;
    struct jm_made *m = head(w, l);
    if (!m)
        return;
    int64_t n = atomic_fetch_add(&w->l->next_id, 1);
    if (capped(w, n))
        return;
    m->item.id = w->l->cfg.first_id + n;
    m->item.due = now;
    drop_head(l);
    jm_slot_begin(s, m);
}

/* --- what comes later
 * ---------------------------------------------------------------------------------------------------- */
bool jm_feed_follow(struct jm_worker *w, struct jm_slot *s, bool ok)
{
    struct jm_feed *f = &w->feed;
    struct jm_talk *t = s->item.talk;
    s->item.talk = NULL;
    if (!t)
        return false;
    if (!ok || w->stopped || t->turn + 1 >= t->turns || (capped(w, atomic_load(&w->l->next_id)))) {
        if (t->turn + 1 < t->turns)
            atomic_fetch_add(&w->l->talks_cut, 1);
        jm_talk_free(t);
        return false;
    }
    jm_talk_answer(&w->l->prompts, t, jm_str_span(&s->call.text));
    const struct jm_slice *l = slice_of(w, t->slice);
    int64_t now = jm_clock_mono(&w->env.clock);
    struct jm_alarm a = {.kind = JM_ALARM_FOLLOW,
                         .due = now + jm_slice_think(l, w->l->cfg.seed, t->slice, t->k, t->turn),
                         .item = s->item};
    a.item.id = -1;
    a.item.talk = t;
    t->turn++;
    bool closed = s->lane >= 0;
    if (closed)
        a.slot = s;
    if (!(closed ? jm_alarm_push(&f->cancel, &f->cancels, &f->cancels_cap, &a)
                 : jm_alarm_push(&f->follow, &f->follows, &f->follows_cap, &a))) {
        jm_talk_free(t);
        return false;
    }
    if (closed) {
        s->state = JM_SLOT_PAUSED;
        s->resume_at = INT64_MAX;
    }
    jm_feed_arm(w);
    return closed;
}

void jm_feed_cancel_at(struct jm_worker *w, struct jm_slot *s, int64_t t)
{
    struct jm_feed *f = &w->feed;
    struct jm_alarm a = {.kind = JM_ALARM_CANCEL, .due = t, .slot = s, .id = s->item.id};
    jm_alarm_push(&f->cancel, &f->cancels, &f->cancels_cap, &a);
    jm_feed_arm(w);
}

void jm_feed_alarms(struct jm_worker *w, int64_t now)
{
    struct jm_feed *f = &w->feed;
    while (f->cancels && f->cancel[0].due <= now) {
        struct jm_alarm a = jm_alarm_pop(f->cancel, &f->cancels);
        if (a.kind == JM_ALARM_CANCEL) {
            if (a.slot->item.id == a.id)
                jm_slot_cancel(a.slot, now);
        } else if (w->stopped || a.slot->state != JM_SLOT_PAUSED) {
            jm_talk_free(a.item.talk);
        } else {
            a.slot->state = JM_SLOT_IDLE;
            begin_follow(w, a.slot, &a);
        }
    }
}

/* --- the end
 * ---------------------------------------------------------------------------------------------------------
 */
bool jm_feed_over(const struct jm_worker *w)
{
    const struct jm_feed *f = &w->feed;
    if (f->follows || f->cancels)
        return false;
    int64_t now = jm_clock_mono(&w->env.clock) - w->l->t0;
    for (size_t i = 0; i < f->lanes; i++) {
        const struct jm_lane *l = f->lane[i];
        if (l->slice >= 0) {
            const struct jm_slice *s = slice_of(w, l->slice);
            int64_t span = jm_slice_span(s);
            if (capped(w, atomic_load(&w->l->next_id)) || (span >= 0 && now >= span))
                continue;
        }
        if (l->n || !l->over)
            return false;
    }
    return true;
}

static void not_sent(struct jm_worker *w, const struct jm_item *it, int64_t due)
{
    struct jm_call c;
    jm_call_init(&c, &w->l->reader, false);
    c.r.id = it->id >= 0 ? it->id : w->l->cfg.first_id + atomic_fetch_add(&w->l->next_id, 1);
    c.r.t[JM_T_SCHEDULED] = due;
    c.r.session = it->session;
    c.r.turn = it->turn;
    memcpy(c.r.slice, slice_of(w, it->slice)->name, sizeof c.r.slice);
    jm_call_fail(&c, JM_END_UNFINISHED, "not sent: as many requests as allowed were under way until the end",
                 -1);
    atomic_fetch_add(&w->l->started, 1);
    atomic_fetch_add(&w->l->in_flight, 1);
    jm_load_deliver(w->l, w, &c, (struct jm_span){0});
    jm_call_release(&c);
}

void jm_feed_give_up(struct jm_worker *w)
{
    struct jm_feed *f = &w->feed;
    struct jm_lane *l = open_lane(w);
    /* what fell due just now was not late yet: the load ends before it */
    int64_t now = jm_clock_mono(&w->env.clock) - NOT_LATE, rows = 0, n = 0;
    for (; l && l->n && due_of(w, l->ready[l->at].item.due) <= now; n++) {
        struct jm_item *it = &l->ready[l->at].item;
        not_sent(w, it, due_of(w, it->due));
        rows++;
        jm_talk_free(it->talk);
        it->talk = NULL;
        drop_head(l);
    }
    for (struct jm_source *s; l && !l->n && !l->over && n < UNSENT_COUNT && (s = mine(w)); n++) {
        if (due_of(w, s->t) > now)
            break;
        struct jm_item it = {.id = w->l->fixed_ids ? w->l->cfg.first_id + f->merged : -1,
                             .slice = s->slice,
                             .session = -1,
                             .turn = -1};
        if (rows < UNSENT_ROWS) {
            not_sent(w, &it, due_of(w, s->t));
            rows++;
        }
        advance(w, s);
        f->merged++;
    }
    while (f->follows) {
        struct jm_alarm a = jm_alarm_pop(f->follow, &f->follows);
        if (a.due <= now) {
            not_sent(w, &a.item, a.due);
            rows++;
            n++;
        }
        atomic_fetch_add(&w->l->talks_cut, 1);
        jm_talk_free(a.item.talk);
    }
    atomic_fetch_add(&w->l->unsent, n);
    atomic_fetch_add(&w->l->unsent_bare, n - rows);
    if (l)
        l->over = true;
}

/* --- making and unmaking
 * ---------------------------------------------------------------------------------------------- */
static struct jm_lane *add_lane(struct jm_feed *f, int slice)
{
    struct jm_lane *l = calloc(1, sizeof *l);
    if (!l)
        return NULL;
    l->slice = slice;
    for (size_t i = 0; i < JM_READY_PROMPTS; i++)
        jm_prompt_init(&l->ready[i].prompt);
    f->lane[f->lanes++] = l;
    return l;
}

int jm_feed_init(struct jm_worker *w, struct jm_err *err)
{
    struct jm_feed *f = &w->feed;
    const struct jm_plan *p = w->l->prompts.plan;
    bool open = false;
    f->lane = calloc(p->slices + 1, sizeof(struct jm_lane *));
    f->source = calloc(p->slices, sizeof *f->source);
    f->trace = calloc(p->slices, sizeof(struct jm_trace *));
    if (!f->lane || !f->source || !f->trace)
        return jm_err_set(err, JM_ENOMEM, "out of memory for the plan");
    for (size_t i = 0; i < p->slices; i++) {
        int rc = w->l->trace[i] ? jm_trace_dup(w->l->trace[i], &f->trace[i], err) : 0;
        if (rc)
            return rc;
        open |= jm_slice_open(&p->slice[i]);
    }
    if (open && !add_lane(f, -1))
        return jm_err_set(err, JM_ENOMEM, "out of memory for the plan");
    for (size_t i = 0; i < p->slices; i++) {
        if (!jm_slice_open(&p->slice[i])) {
            if (!add_lane(f, (int)i))
                return jm_err_set(err, JM_ENOMEM, "out of memory for the plan");
            continue;
        }
        struct jm_source *s = &f->source[f->sources++];
        s->slice = (int)i;
        s->k = -1;
        jm_shape_init(&s->shape, &p->slice[i], w->l->cfg.seed, (int)i);
        advance(w, s);
    }
    for (size_t i = 0; i < f->lanes; i++)
        for (int k = 0; k < PROMPTS_AHEAD && (make_one(w, f->lane[i]) || f->lane[i]->over); k++)
            ;
    for (size_t i = 0; i < f->lanes; i++)
        if (!f->lane[i]->n && !f->lane[i]->over)
            return jm_err_set(err, JM_ENOMEM, "the first requests cannot be made");
    return 0;
}

void jm_feed_release(struct jm_worker *w)
{
    struct jm_feed *f = &w->feed;
    for (size_t i = 0; i < f->lanes; i++) {
        for (size_t k = 0; k < f->lane[i]->n; k++)
            jm_talk_free(f->lane[i]->ready[(f->lane[i]->at + k) % JM_READY_PROMPTS].item.talk);
        for (size_t k = 0; k < JM_READY_PROMPTS; k++)
            jm_prompt_release(&f->lane[i]->ready[k].prompt);
        free(f->lane[i]);
    }
    for (size_t i = 0; i < f->follows; i++)
        jm_talk_free(f->follow[i].item.talk);
    for (size_t i = 0; i < f->cancels; i++)
        if (f->cancel[i].kind == JM_ALARM_FOLLOW)
            jm_talk_free(f->cancel[i].item.talk);
    for (size_t i = 0; f->trace && i < w->l->prompts.plan->slices; i++)
        jm_trace_free(f->trace[i]);
    free(f->follow);
    free(f->cancel);
    free(f->trace);
    free(f->source);
    free(f->lane);
}
