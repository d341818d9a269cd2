/* SPDX-License-Identifier: MIT */

/*
 * A process is killed at every system call of an acquire, of a release, of
 * taking over and of handing over, while another one wants the same name: that
 * one is not in as long as the first may believe to be, gets the name when its
 * lease has ended at the latest, and no key without an end is left. A slice of
 * the calls; with LK_LONG each.
 */

#include <latchkey/latchkey.h>

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "shims/fail.h"
#include "support/check.h"
#include "support/one_server.h"
#include "support/thing.h"
#include "support/wait.h"

enum {
    LEASE_MS = 1000,
    MARGIN_MS = 10000, /* beyond the lease: reconnecting, and a busy machine */
    LONGEST_S = 90,    /* of one run, else it hangs */
    AT_A_TIME = 12,
    STEP = 4,
    CALLS_MOST = 2000,
    WRONG_MOST = 5,
    SCENES = 3
};

/* What the two of a run share. */
typedef struct meeting {
    _Atomic uint64_t believed_to; /* by whom is killed, in ns; 0: not at all */
    _Atomic bool is_other_in, both_in;
    _Atomic bool begins; /* the other one has done what is to be before */
    _Atomic bool had_it;
    _Atomic unsigned calls; /* counted; set at the end */
} meeting;

typedef struct trial {
    unsigned scene;
    thing_kind kind;
    unsigned n; /* the call at which it dies */
    char name[40];
    meeting *meeting;
} trial;

/* Each of the two processes. */
typedef struct party {
    const trial *t;
    lk_client *client;
    thing it;
} party;

static uint64_t now_ns(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

static void party_open(party *p, const trial *t)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .watchdog_ms = LEASE_MS};

    *p = (party){.t = t};
    if (lk_client_open(&p->client, server_url(redis), &options) != LK_OK ||
        thing_new(&p->it, t->kind, p->client, t->name) != LK_OK ||
        lk_client_wait_ready(p->client, (int64_t)wait_limit_ms(MARGIN_MS)) !=
            LK_OK)
        abort();
}

static void party_close(party *p)
{
    (void)lk_client_shutdown(p->client, (int64_t)wait_limit_ms(MARGIN_MS));
    thing_free(&p->it);
    lk_client_free(p->client);
}

static lk_hold *take(party *p)
{
    lk_hold *hold = NULL;

    (void)!thing_acquire(&p->it, (int64_t)wait_limit_ms(LEASE_MS + MARGIN_MS),
                         NULL, &hold);
    return hold;
}

static bool has_begun(void *data)
{
    return atomic_load(&((meeting *)data)->begins);
}

static bool does_somebody_wait(void *data)
{
    const party *p = data;
    lk_info *info = NULL;
    bool is_so = thing_info(&p->it, &info) == LK_OK && info->waiter_count > 0;

    lk_info_free(info);
    return is_so;
}

/* ---- who is killed ----------------------------------------------------------------- */

static void be_in(const party *p, const lk_hold *hold)
{
    meeting *m = p->t->meeting;

    if (hold == NULL)
        return;
    atomic_store(&m->had_it, true);
    atomic_store(&m->believed_to,
                 now_ns() + lk_hold_remaining_ms(hold) * UINT64_C(1000000));
    if (lk_hold_check(hold) == LK_OK && atomic_load(&m->is_other_in))
        atomic_store(&m->both_in, true);
    atomic_store(&m->believed_to, 0);
}

static void give(lk_hold *hold)
{
    if (hold != NULL)
        (void)lk_hold_release(hold);
}

/* Nobody else is there, or somebody who hands it over. */
static void take_and_give(party *p)
{
    lk_hold *hold;

    fail_arm_death(p->t->n);
    hold = take(p);
    be_in(p, hold);
    give(hold);
}

static void hand_over(party *p)
{
    lk_hold *hold = take(p);

    be_in(p, hold);
    atomic_store(&p->t->meeting->begins, true);
    (void)wait_until(does_somebody_wait, p, MARGIN_MS);
    fail_arm_death(p->t->n);
    give(hold);
}

static _Noreturn void mortal(const trial *t, pid_t parent)
{
    party p;

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    party_open(&p, t);
    if (t->scene == 1)
        (void)wait_until(has_begun, t->meeting, MARGIN_MS);
    if (t->scene == 2)
        hand_over(&p);
    else
        take_and_give(&p);
    atomic_store(&t->meeting->calls, fail_disarm());
    party_close(&p);
    _exit(0);
}

/* ---- the other one ------------------------------------------------------------------ */

typedef enum end { FINE, BEYOND, WRONG } end;

static end tell(const trial *t, const char *what)
{
    static const char *const scenes[SCENES] = {"alone", "taking over",
                                               "handing over"};

    (void)fprintf(stderr, "%s, %s, call %u: %s\n", thing_word(t->kind),
                  scenes[t->scene], t->n, what);
    return WRONG;
}

static bool is_dead(pid_t pid)
{
    siginfo_t info = {0};

    return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
           info.si_pid == pid;
}

typedef struct watch {
    party *p;
    pid_t pid;
} watch;

static bool waits_or_is_dead(void *data)
{
    const watch *w = data;

    return is_dead(w->pid) || does_somebody_wait(w->p);
}

static bool has_begun_or_is_dead(void *data)
{
    const watch *w = data;

    return is_dead(w->pid) || has_begun(w->p->t->meeting);
}

/* It holds the name until somebody waits for it. */
static void let_wait(party *p, pid_t pid)
{
    watch w = {p, pid};
    lk_hold *hold = take(p);

    atomic_store(&p->t->meeting->begins, true);
    if (p->t->kind != THING_SIGLOCK) /* nobody knows who waits for one */
        (void)wait_until(waits_or_is_dead, &w, MARGIN_MS);
    give(hold);
}

/* Gets it, and not while the first may believe to have it. */
static end want(party *p)
{
    meeting *m = p->t->meeting;
    lk_hold *hold = take(p);
    end result = FINE;

    if (hold == NULL)
        return tell(p->t, lk_last_error());
    atomic_store(&m->is_other_in, true);
    if (now_ns() < atomic_load(&m->believed_to) && lk_hold_check(hold) == LK_OK)
        result = tell(p->t, "the other one may believe to have it");
    atomic_store(&m->is_other_in, false);
    give(hold);
    return result;
}

/* After it has ended. */
static end judge(const trial *t, int status)
{
    const meeting *m = t->meeting;

    if (atomic_load(&m->both_in))
        return tell(t, "both had it");
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
        return FINE;
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        return tell(t, "it ended otherwise");
    if (!atomic_load(&m->had_it))
        return tell(t, "it never had it");
    return atomic_load(&m->calls) < t->n ? BEYOND : tell(t, "it lives");
}

static end run(const trial *t)
{
    pid_t parent = getpid(), pid = fork();
    int status = 0;
    end got, ended;
    party p;

    if (pid == 0)
        mortal(t, parent);
    party_open(&p, t);
    if (t->scene == 0)
        (void)waitpid(pid, &status, 0);
    else if (t->scene == 1)
        let_wait(&p, pid);
    else
        (void)wait_until(has_begun_or_is_dead, &(watch){&p, pid}, MARGIN_MS);
    got = want(&p);
    if (t->scene != 0)
        (void)waitpid(pid, &status, 0);
    ended = judge(t, status);
    party_close(&p);
    return got == FINE ? ended : got;
}

/* ---- some at a time ------------------------------------------------------------------ */

/* Of one scene and kind, call after call. */
typedef struct series {
    trial next;
    bool is_over;
} series;

typedef struct slot {
    pid_t pid;
    unsigned series;
    meeting *meeting;
} slot;

enum { SERIES = SCENES * THING_KINDS };

static series all[SERIES];
static slot slots[AT_A_TIME];
static unsigned step, busy, runs, wrong;

/* A semaphore's number of permits stays, as it is to. */
static void begin(slot *s, unsigned at)
{
    trial t = all[at].next;

    (void)snprintf(t.name, sizeof(t.name), "%s-%u",
                   t.kind == THING_SEMAPHORE ? "stays" : "ends", runs);
    t.meeting = s->meeting;
    memset(s->meeting, 0, sizeof(*s->meeting));
    all[at].next.n += step;
    all[at].is_over |= all[at].next.n > CALLS_MOST;
    s->series = at;
    s->pid = fork();
    assert_true(s->pid >= 0);
    if (s->pid == 0) {
        (void)alarm((unsigned)(LONGEST_S * wait_scale()));
        _exit((int)run(&t));
    }
    runs++;
    busy++;
}

static void begin_some(void)
{
    static unsigned turn;

    for (unsigned i = 0; i < AT_A_TIME; i++) {
        for (unsigned tries = 0; tries < SERIES && slots[i].pid == 0; tries++) {
            unsigned at = turn++ % SERIES;

            if (!all[at].is_over)
                begin(&slots[i], at);
        }
    }
}

static void reap(void)
{
    int status = 0;
    pid_t pid = waitpid(-1, &status, 0);

    for (unsigned i = 0; i < AT_A_TIME; i++) {
        if (slots[i].pid != pid)
            continue;
        slots[i].pid = 0;
        busy--;
        if (WIFEXITED(status) && WEXITSTATUS(status) == FINE)
            continue;
        if (!WIFEXITED(status) || WEXITSTATUS(status) != BEYOND) {
            wrong++;
            print_message("a run ended with %#x\n", (unsigned)status);
        }
        all[slots[i].series].is_over = true;
    }
}

static void series_begin(void)
{
    for (unsigned i = 0; i < SERIES; i++) {
        trial *t = &all[i].next;

        t->scene = i % SCENES;
        t->kind = (thing_kind)(i / SCENES);
        t->n = 1 + 5 * i % step;
        all[i].is_over = t->kind == THING_SIGLOCK && t->scene == 2;
    }
    for (unsigned i = 0; i < AT_A_TIME; i++) {
        slots[i].meeting = mmap(NULL, sizeof(meeting), PROT_READ | PROT_WRITE,
                                MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        assert_true(slots[i].meeting != MAP_FAILED);
    }
}

static void assert_nothing_stays(void)
{
    redisReply *keys = server_command(redis, "KEYS *");

    for (size_t i = 0; i < keys->elements; i++) {
        const char *key = keys->element[i]->str;

        if (strstr(key, "stays") == NULL &&
            server_integer(redis, "PTTL %s", key) == -1)
            fail_msg("%s stays", key);
    }
    freeReplyObject(keys);
}

CHECK_TEST(whoever_dies_in_a_call_keeps_nobody_waiting)
{
    step = getenv("LK_LONG") != NULL ? 1 : STEP;
    series_begin();
    begin_some();
    while (busy > 0) {
        reap();
        if (wrong < WRONG_MOST)
            begin_some();
    }
    print_message("%u runs\n", runs);
    assert_int_equal(wrong, 0);
    assert_true(runs > SERIES);
    assert_nothing_stays();
}

CHECK_GROUP(one_server_start, one_server_stop)
