/* SPDX-License-Identifier: Apache-2.0 */
#include "mlperf/round_walk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mlperf/session.h"
#include "mlperf/tiny.h"
#include "mlperf/training.h"

#include "base/banned.h"

struct task {
    char *path;
    int depth;
};

/* A growing list of paths. */
struct list {
    struct task *at;
    size_t n, cap;
};

struct id {
    dev_t dev;
    ino_t ino;
};

struct walk {
    pthread_mutex_t lock;
    pthread_cond_t more;
    const struct jm_mlperf_pool_ops *ops;
    struct jm_round_table *t;
    struct jm_mlperf_walk *out;
    struct list todo, links;
    struct id *seen; /* folders, open addressing; ino 0: free */
    size_t n_seen, cap_seen, cap_found;
    int active, jobs;
    bool stop, nomem;
};

static bool push(struct list *l, char *path, int depth)
{
    if (l->n == l->cap) {
        size_t cap = l->cap ? 2 * l->cap : 64;
        struct task *more = realloc(l->at, cap * sizeof *more);
        if (!more)
            return false;
        l->at = more;
        l->cap = cap;
    }
    l->at[l->n++] = (struct task){path, depth};
    return true;
}

static void drop(struct list *l)
{
    for (size_t i = 0; i < l->n; i++)
        free(l->at[i].path);
    free(l->at);
    *l = (struct list){0};
}

static size_t slot(const struct walk *w, struct id id)
{
    uint64_t h = ((uint64_t)id.ino ^ ((uint64_t)id.dev << 32)) * 0x9e3779b97f4a7c15u;
    size_t i = (size_t)(h >> 20) & (w->cap_seen - 1);
    while (w->seen[i].ino && (w->seen[i].ino != id.ino || w->seen[i].dev != id.dev))
        i = (i + 1) & (w->cap_seen - 1);
    return i;
}

static bool seen(const struct walk *w, struct id id)
{
    return w->cap_seen && w->seen[slot(w, id)].ino;
}

/* The lock is held. False: it was there, or there is no memory (nomem). */
static bool see(struct walk *w, struct id id)
{
    if (2 * (w->n_seen + 1) > w->cap_seen) {
        struct id *old = w->seen;
        size_t n = w->cap_seen, cap = n ? 2 * n : 1024;
        struct id *more = calloc(cap, sizeof *more);
        if (!more) {
            w->nomem = true;
            return false;
        }
        w->seen = more;
        w->cap_seen = cap;
        for (size_t i = 0; i < n; i++)
            if (old[i].ino)
                w->seen[slot(w, old[i])] = old[i];
        free(old);
    }
    size_t i = slot(w, id);
    if (w->seen[i].ino)
        return false;
    w->seen[i] = id;
    w->n_seen++;
    return true;
}

int jm_round_trouble_add(struct jm_round_table *t, const char *path, const char *why)
{
    struct jm_round_trouble *more = realloc(t->trouble, (t->n_trouble + 1) * sizeof *more);
    if (!more)
        return JM_ENOMEM;
    t->trouble = more;
    struct jm_round_trouble *x = &t->trouble[t->n_trouble++];
    *x = (struct jm_round_trouble){0};
    return jm_round_set(&x->path, path) && jm_round_set(&x->why, why) ? 0 : JM_ENOMEM;
}

static void lacks_memory(struct walk *w)
{
    pthread_mutex_lock(&w->lock);
    w->nomem = true;
    pthread_mutex_unlock(&w->lock);
}

static void trouble(struct walk *w, const char *path, const char *why)
{
    pthread_mutex_lock(&w->lock);
    if (jm_round_trouble_add(w->t, path, why))
        w->nomem = true;
    pthread_mutex_unlock(&w->lock);
}

static void found(struct walk *w, int kind, const char *path)
{
    char *copy = strdup(path);
    pthread_mutex_lock(&w->lock);
    struct jm_mlperf_walk *o = w->out;
    if (copy && o->n == w->cap_found) {
        size_t cap = w->cap_found ? 2 * w->cap_found : 64;
        struct jm_mlperf_found *more = realloc(o->found, cap * sizeof *more);
        if (more) {
            o->found = more;
            w->cap_found = cap;
        }
    }
    if (!copy || o->n == w->cap_found) {
        w->nomem = true;
        free(copy);
    } else {
        struct jm_mlperf_found *f = &o->found[o->n++];
        f->kind = kind;
        f->path = copy;
        w->t->sessions += kind == JM_FOUND_SESSION;
    }
    pthread_mutex_unlock(&w->lock);
}

static void later(struct walk *w, struct list *l, char *path, int depth)
{
    pthread_mutex_lock(&w->lock);
    if (!path || !push(l, path, depth)) {
        w->nomem = true;
        free(path);
    } else if (l == &w->todo) {
        pthread_cond_signal(&w->more);
    }
    pthread_mutex_unlock(&w->lock);
}

static char *join(const char *dir, const char *name)
{
    size_t n = strlen(dir), m = strlen(name);
    while (n > 1 && dir[n - 1] == '/')
        n--;
    char *p = malloc(n + m + 2);
    if (!p)
        return NULL;
    memcpy(p, dir, n);
    if (!(n == 1 && dir[0] == '/'))
        p[n++] = '/';
    memcpy(p + n, name, m + 1);
    return p;
}

static bool there(const char *dir, const char *name)
{
    struct stat st;
    char *p = join(dir, name);
    bool is = p && stat(p, &st) == 0;
    free(p);
    return is;
}

/* What the names in a folder say about it. */
struct names {
    bool performance, run, spl, power, results, training, tiny;
};

/* Power was measured: a session without it is none of ours. */
static bool has_power(const char *dir)
{
    return there(dir, "performance/run_1/spl.txt") || there(dir, "performance/power") ||
           there(dir, "performance/ranging") || there(dir, "run_1/spl.txt") || there(dir, "power") ||
           there(dir, "spl.txt");
}

static bool is_table(const char *name)
{
    static const char *const names[] = {"summary.csv", "summary_results.json", "expected.json"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

static const char *last(const char *path)
{
    const char *p = strrchr(path, '/');
    return p && p[1] ? p + 1 : path;
}

/* Folders of a submission that hold no result: the code of one submitter alone has ten thousands of files. */
static bool idle(const struct names *in, const char *name)
{
    static const char *const beside[] = {"code", "calibration", "documentation", "measurements"};
    for (size_t i = 0; in->results && i < sizeof beside / sizeof beside[0]; i++)
        if (strcmp(name, beside[i]) == 0)
            return true;
    return false;
}

static void look_at_names(struct walk *w, const struct task *task, DIR *d, struct names *in, struct list *sub)
{
    for (;;) {
        errno = 0;
        const struct dirent *e = readdir(d);
        if (!e) {
            if (errno == ENOMEM)
                lacks_memory(w);
            else if (errno)
                trouble(w, task->path, strerrordesc_np(errno));
            return;
        }
        const char *n = e->d_name;
        if (n[0] == '.')
            continue;
        unsigned char type = e->d_type;
        struct stat st;
        if (type == DT_UNKNOWN && fstatat(dirfd(d), n, &st, AT_SYMLINK_NOFOLLOW) == 0)
            type = S_ISDIR(st.st_mode) ? DT_DIR : S_ISLNK(st.st_mode) ? DT_LNK : DT_REG;
        in->performance |= strcmp(n, "performance") == 0;
        in->run |= strcmp(n, "run_1") == 0;
        in->spl |= strcmp(n, "spl.txt") == 0;
        in->power |= type == DT_DIR && strcmp(n, "power") == 0;
        in->results |= strcmp(n, "results") == 0;
        if (type == DT_REG) {
            in->training |= fnmatch("result_*.txt", n, 0) == 0;
            in->tiny |= fnmatch("*-energy.bin", n, 0) == 0 || strcmp(n, "results.txt") == 0;
            bool plate = fnmatch("*_power.y*ml", n, 0) == 0 && strcmp(last(task->path), "systems") == 0;
            if (plate || is_table(n)) {
                char *p = join(task->path, n);
                found(w, plate ? JM_FOUND_NAMEPLATE : JM_FOUND_TABLE, p ? p : n);
                if (!p)
                    lacks_memory(w);
                free(p);
            }
        } else if (type == DT_DIR || type == DT_LNK) {
            char *p = join(task->path, n);
            if (type == DT_LNK) {
                later(w, &w->links, p, task->depth + 1);
            } else if (!p || !push(sub, p, task->depth + 1)) {
                free(p);
                lacks_memory(w);
                return;
            }
        }
    }
}

static void look(struct walk *w, const struct task *task)
{
    struct names in = {0};
    struct list sub = {0};
    struct stat st;
    DIR *d = strlen(task->path) < PATH_MAX - NAME_MAX - 64 && task->depth <= JM_WALK_DEPTH
                 ? opendir(task->path)
                 : NULL;
    if (!d && errno == ENOMEM) {
        lacks_memory(w);
        return;
    }
    if (!d) {
        trouble(w, task->path,
                strlen(task->path) >= PATH_MAX - NAME_MAX - 64 || task->depth > JM_WALK_DEPTH
                    ? "too deep to be looked into"
                    : strerrordesc_np(errno));
        return;
    }
    if (fstat(dirfd(d), &st) == 0) {
        pthread_mutex_lock(&w->lock);
        bool fresh = see(w, (struct id){st.st_dev, st.st_ino});
        w->t->folders += fresh;
        pthread_mutex_unlock(&w->lock);
        if (!fresh) {
            closedir(d);
            return;
        }
    }
    look_at_names(w, task, d, &in, &sub);
    closedir(d);
    bool session = (in.performance || in.run || in.spl) && jm_mlperf_session_at(task->path);
    if (session && has_power(task->path)) {
        found(w, JM_FOUND_SESSION, task->path);
    } else if ((in.performance && there(task->path, "performance/run_1")) || (session && !in.results)) {
        /* in a result of Tiny the energy lies beside a performance/ that has no runs */
        pthread_mutex_lock(&w->lock);
        w->t->without_power++;
        pthread_mutex_unlock(&w->lock);
    } else if (in.power && in.training && jm_training_at(task->path)) {
        found(w, JM_FOUND_TRAINING, task->path);
    } else {
        if (in.tiny && jm_tiny_at(task->path))
            found(w, JM_FOUND_TINY, task->path);
        while (sub.n) {
            struct task s = sub.at[--sub.n];
            const char *name = last(s.path);
            bool audit =
                (in.results && strcmp(name, "compliance") == 0) || fnmatch("TEST[0-9][0-9]", name, 0) == 0;
            if (audit || idle(&in, name)) {
                pthread_mutex_lock(&w->lock);
                w->t->compliance += audit;
                pthread_mutex_unlock(&w->lock);
                free(s.path);
            } else {
                later(w, &w->todo, s.path, s.depth);
            }
        }
    }
    drop(&sub);
}

static void tell(struct walk *w)
{
    if (!w->ops || !w->ops->progress)
        return;
    pthread_mutex_lock(&w->lock);
    struct jm_mlperf_progress p = {.folders = w->t->folders, .sessions = w->t->sessions, .walking = true};
    pthread_mutex_unlock(&w->lock);
    w->ops->progress(w->ops->self, &p);
}

static void *worker(void *arg)
{
    struct walk *w = arg;
    pthread_mutex_lock(&w->lock);
    for (;;) {
        if (w->ops && w->ops->stopped && w->ops->stopped(w->ops->self))
            w->stop = true;
        if (w->stop || w->nomem)
            break;
        if (w->todo.n) {
            struct task t = w->todo.at[--w->todo.n];
            w->active++;
            pthread_mutex_unlock(&w->lock);
            look(w, &t);
            free(t.path);
            tell(w);
            pthread_mutex_lock(&w->lock);
            w->active--;
        } else if (w->active) {
            pthread_cond_wait(&w->more, &w->lock);
        } else {
            break;
        }
    }
    pthread_cond_broadcast(&w->more);
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

static int by_path(const void *a, const void *b)
{
    return jm_round_natural(((const struct task *)a)->path, ((const struct task *)b)->path);
}

static bool leads_back(const char *target, const char *root)
{
    size_t n = strlen(target);
    return strcmp(target, "/") == 0 || (strncmp(target, root, n) == 0 && (root[n] == '/' || !root[n]));
}

/* After everything real was seen, so that the order of finding decides nothing. */
static void follow(struct walk *w, const char *root)
{
    struct list now = w->links;
    w->links = (struct list){0};
    if (now.n)
        qsort(now.at, now.n, sizeof *now.at, by_path);
    for (size_t i = 0; i < now.n && !w->stop && !w->nomem; i++) {
        struct stat st;
        const char *p = now.at[i].path;
        w->t->links++;
        if (stat(p, &st) || !S_ISDIR(st.st_mode) || strcmp(last(p), "performance") == 0)
            continue;
        if (jm_mlperf_session_at(p) && has_power(p)) {
            found(w, JM_FOUND_SESSION, p);
            see(w, (struct id){st.st_dev, st.st_ino});
        } else if (now.at[i].depth == 1 && !seen(w, (struct id){st.st_dev, st.st_ino})) {
            char *target = realpath(p, NULL);
            if (target && !leads_back(target, root)) {
                later(w, &w->todo, strdup(p), 1);
                jm_mlperf_crew(w->jobs, worker, w);
            }
            free(target);
        }
    }
    drop(&now);
}

static int by_found(const void *a, const void *b)
{
    const struct jm_mlperf_found *x = a, *y = b;
    int c = jm_round_natural(x->path, y->path);
    return c ? c : (int)x->kind - (int)y->kind;
}

static int by_trouble(const void *a, const void *b)
{
    return jm_round_natural(((const struct jm_round_trouble *)a)->path,
                            ((const struct jm_round_trouble *)b)->path);
}

static int start(struct walk *w, const char *asked, struct jm_err *err)
{
    struct stat st;
    char **more = realloc(w->t->asked, (w->t->n_asked + 1) * sizeof *more);
    if (!more)
        return jm_err_set(err, JM_ENOMEM, "out of memory before %s was looked into", asked);
    w->t->asked = more;
    w->t->asked[w->t->n_asked] = NULL;
    if (!jm_round_set(&w->t->asked[w->t->n_asked++], asked))
        return jm_err_set(err, JM_ENOMEM, "out of memory before %s was looked into", asked);
    if (stat(asked, &st))
        return jm_err_sys(err, errno, "cannot look into %s", asked);
    if (!S_ISDIR(st.st_mode))
        return jm_err_set(err, JM_EUSAGE,
                          "%s is no folder; give a session, a submission or a results repository", asked);
    int fd = open(asked, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return jm_err_sys(err, errno, "cannot look into %s", asked);
    close(fd);
    char *root = realpath(asked, NULL);
    if (!root)
        return jm_err_sys(err, errno, "cannot look into %s", asked);
    later(w, &w->todo, strdup(asked), 0);
    jm_mlperf_crew(w->jobs, worker, w);
    while (w->links.n && !w->stop && !w->nomem)
        follow(w, root);
    free(root);
    return w->nomem ? jm_err_set(err, JM_ENOMEM, "out of memory while looking into %s", asked) : 0;
}

int jm_mlperf_walk(const char *const *asked, size_t n, int jobs, const struct jm_mlperf_pool_ops *ops,
                   struct jm_round_table *t, struct jm_mlperf_walk *out, struct jm_err *err)
{
    struct walk w = {.ops = ops, .t = t, .out = out, .jobs = jobs};
    int rc = 0;
    *out = (struct jm_mlperf_walk){0};
    pthread_mutex_init(&w.lock, NULL);
    pthread_cond_init(&w.more, NULL);
    for (size_t i = 0; i < n && !rc && !w.stop; i++)
        rc = start(&w, asked[i], err);
    t->interrupted |= w.stop;
    if (out->n)
        qsort(out->found, out->n, sizeof *out->found, by_found);
    if (t->n_trouble)
        qsort(t->trouble, t->n_trouble, sizeof *t->trouble, by_trouble);
    drop(&w.todo);
    drop(&w.links);
    free(w.seen);
    pthread_cond_destroy(&w.more);
    pthread_mutex_destroy(&w.lock);
    return rc;
}

void jm_mlperf_walk_release(struct jm_mlperf_walk *w)
{
    for (size_t i = 0; i < w->n; i++)
        free(w->found[i].path);
    free(w->found);
    *w = (struct jm_mlperf_walk){0};
}
