/* SPDX-License-Identifier: MIT */

/* One process for each failure. */

#include "support/shortage.h"

#include <latchkey/latchkey.h>

#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/descriptors.h"
#include "support/wait.h"

enum {
    AT_A_TIME = 12, /* they wait for most of their time */
    TRIES_MAX = 4000,
    WRONG_MAX = 5, /* of one series; more tell no more */
    SOON_MS = 5000,
    LONGEST_S = 60, /* of one run, else it hangs */
    FREE_MS = 60000 /* after a lease of LEASE_MS has ended */
};

/* ---- in the child -------------------------------------------------------------- */

static void tell(const shortage_try *t, const char *what)
{
    (void)fprintf(stderr, "%s, %s %u%s, error %d: %s\n",
                  t->scene != NULL ? t->scene->word : "", fail_word(t->point),
                  t->n, t->forever ? " and on" : "", t->error, what);
}

/* Whoever wants the name gets it, once leases have ended. */
static bool is_free(const shortage *s)
{
    const lk_client_options patient = {LK_CLIENT_OPTIONS_INIT,
                                       .command_timeout_ms = FREE_MS};
    lk_client *client = NULL;
    lk_lock *lock = NULL;
    lk_hold *hold = NULL;
    bool is;

    is = lk_client_open(&client, s->url, &patient) == LK_OK &&
         lk_lock_new(&lock, client, s->name, NULL) == LK_OK;
    if (is) {
        lk_status status =
            lk_lock_acquire(lock, wait_scaled_ms(FREE_MS), NULL, &hold);

        is = status == LK_OK || status == LK_ETYPE; /* another primitive's */
    }
    if (hold != NULL)
        is = lk_hold_release(hold) == LK_OK && is;
    lk_lock_free(lock);
    lk_client_free(client);
    return is;
}

/* The loop's thread may have the last of it. */
static bool all_given_back(void *data)
{
    return fail_leaked(data) == 0;
}

static bool leaked(const shortage_try *t)
{
    const void *caller = NULL;
    bool is_clean = wait_until(all_given_back, &caller, SOON_MS);
    size_t count = is_clean ? 0 : fail_leaked(&caller);
    Dl_info info = {.dli_sname = NULL};
    char words[160];

    if (count == 0)
        return false;
    (void)dladdr(caller, &info);
    (void)
        snprintf(words, sizeof(words),
                 "%zu blocks are not given back; one was taken in %s %s+0x%lx",
                 count, info.dli_fname != NULL ? info.dli_fname : "?",
                 info.dli_sname != NULL ? info.dli_sname : "?",
                 (unsigned long)((const char *)caller -
                                 (const char *)info.dli_fbase));
    tell(t, words);
    return true;
}

/* libuv keeps its pipe if it cannot have the descriptor that wakes its loop. */
static bool keeps_descriptors(const shortage_try *t, int before)
{
    return t->point != FAIL_EVENTFD && !descriptors_fall_to(before);
}

/* What the client did as it is; then with the failure. */
static shortage_end play(const shortage_try *t, shortage *s)
{
    unsigned calls;
    int before;

    t->scene->play(s);
    if (s->wrong[0] != '\0') {
        tell(t, s->wrong);
        return SHORTAGE_WRONG;
    }
    before = descriptors_count();
    fail_arm(t->point, t->n, t->forever, t->error);
    t->scene->play(s);
    calls = fail_disarm();
    if (s->wrong[0] != '\0')
        tell(t, s->wrong);
    else if (keeps_descriptors(t, before))
        tell(t, "descriptors are not given back");
    else if (!leaked(t)) {
        if (is_free(s))
            return calls >= t->n ? SHORTAGE_FINE : SHORTAGE_BEYOND;
        tell(t, "the name is not free");
    }
    return SHORTAGE_WRONG;
}

/* Where it was, for addr2line; then it ends as it would have. */
static void on_death(int number)
{
    void *frames[40];

    (void)fail_disarm();
    backtrace_symbols_fd(frames, backtrace(frames, 40), STDERR_FILENO);
    (void)signal(number, SIG_DFL);
    (void)raise(number);
}

/* number: of this run. */
static _Noreturn void
child(const char *url, const shortage_try *t, unsigned number)
{
    void *frame;
    char name[40];
    shortage s = {.url = url, .name = name};

    (void)snprintf(name, sizeof(name), "shortage-%d-%u", (int)getppid(),
                   number);
    (void)backtrace(&frame, 1); /* makes what it needs */
    (void)signal(SIGABRT, on_death);
    (void)signal(SIGSEGV, on_death);
    (void)alarm((unsigned)(LONGEST_S * wait_scale()));
    _exit((int)play(t, &s));
}

/* ---- some at a time ------------------------------------------------------------- */

typedef struct running {
    pid_t pid; /* 0: none */
    unsigned series;
    shortage_try t;
} running;

/* One scene with one error, n after n. */
typedef struct series {
    shortage_try next;
    unsigned wrong;
    bool is_over;
} series;

typedef struct driver {
    const char *url;
    series *all;
    unsigned count, step;
    unsigned turn; /* whose try is begun next */
    running running[AT_A_TIME];
    unsigned busy, runs, wrong, others;
} driver;

static void begin(driver *d, running *r, unsigned at)
{
    static unsigned begun; /* no two have one name */
    series *s = &d->all[at];

    r->t = s->next;
    r->series = at;
    s->next.n += d->step;
    s->is_over |= s->next.n > TRIES_MAX;
    r->pid = fork();
    if (r->pid == 0)
        child(d->url, &r->t, begun);
    begun++;
    d->busy += r->pid > 0;
}

/* False: every series is over. */
static bool begin_next(driver *d, running *r)
{
    for (unsigned i = 0; i < d->count; i++) {
        unsigned at = (d->turn + i) % d->count;

        if (!d->all[at].is_over) {
            d->turn = at + 1;
            begin(d, r, at);
            return r->pid > 0;
        }
    }
    return false;
}

static void judge(driver *d, const running *r, int state)
{
    char words[40];

    d->runs++;
    if (WIFEXITED(state) && WEXITSTATUS(state) == SHORTAGE_FINE)
        return;
    if (WIFEXITED(state) && WEXITSTATUS(state) == FAIL_ENDED_BY_LIBUV) {
        d->others++;
        return;
    }
    if (WIFEXITED(state) && WEXITSTATUS(state) == SHORTAGE_BEYOND) {
        d->all[r->series].is_over = true;
        return;
    }
    d->wrong++;
    if (++d->all[r->series].wrong == WRONG_MAX)
        d->all[r->series].is_over = true;
    if (WIFSIGNALED(state)) {
        (void)snprintf(words, sizeof(words), "ended by signal %d%s",
                       WTERMSIG(state),
                       WTERMSIG(state) == SIGALRM ? ": it hangs" : "");
        tell(&r->t, words);
    }
}

static void reap(driver *d)
{
    int state;
    pid_t pid = waitpid(-1, &state, 0);

    for (unsigned i = 0; i < AT_A_TIME; i++) {
        if (d->running[i].pid == pid) {
            d->running[i].pid = 0;
            d->busy--;
            judge(d, &d->running[i], state);
        }
    }
}

static void run_all(driver *d)
{
    bool has_more = true;

    while (has_more || d->busy > 0) {
        for (unsigned i = 0; i < AT_A_TIME && has_more; i++) {
            if (d->running[i].pid == 0)
                has_more = begin_next(d, &d->running[i]);
        }
        if (d->busy > 0)
            reap(d);
    }
}

static void series_make(series *s, unsigned at, const shortage_plan *plan)
{
    s->next = (shortage_try){
        .scene = &shortage_scenes[at % shortage_scene_count],
        .point = plan->point,
        .error = plan->errors[at / shortage_scene_count],
        .n = 1 + at % plan->step,
        .forever = plan->forever,
    };
    s->is_over = (at + (unsigned)plan->point) % plan->share != 0;
}

unsigned
shortage_run(const char *url, const shortage_plan *plan, unsigned *ret_runs)
{
    driver d = {.url = url,
                .count = shortage_scene_count * plan->error_count,
                .step = plan->step};

    d.all = calloc(d.count, sizeof(*d.all));
    if (d.all == NULL)
        return 1;
    for (unsigned i = 0; i < d.count; i++)
        series_make(&d.all[i], i, plan);
    run_all(&d);
    free(d.all);
    (void)fprintf(stderr, "%s%s: %u runs, %u of them ended by libuv\n",
                  fail_word(plan->point), plan->forever ? ", for ever" : "",
                  d.runs, d.others);
    *ret_runs += d.runs;
    return d.wrong;
}
