/* SPDX-License-Identifier: MIT */

/* A process that wants names, over and over, and writes down what it is told. */

#include <latchkey/latchkey.h>

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fault/play.h"

enum { MS = 1000000, SHUTDOWN_MS = 5000 };

typedef struct worker {
    history_log *log;
    play_shared *shared;
    uint32_t process;
    lk_client *client;
    lk_client *nodes[PLAY_REDLOCK];
    void *handles[PLAY_NAMES];
    _Atomic uint64_t operations;
} worker;

/* A thread of it. */
typedef struct hand {
    worker *worker;
    uint64_t owner;
    play_random random;
    pthread_t thread;
} hand;

/* One hold, and what is known of it. The callback may come as long as it has
   not been released. */
typedef struct grip {
    hand *hand;
    lk_hold *hold;
    unsigned name;
    history_mode mode;
    uint64_t id, fence;
    uint64_t lease_ms; /* the longest that it was ever named */
    bool is_renewed;
} grip;

/* ---- writing down ---- */

static void put(const worker *w, const history_event *event)
{
    if (!history_log_write(w->log, event)) {
        (void)fprintf(stderr, "a worker's history is full\n");
        abort();
    }
}

static history_event begin(hand *h, unsigned name, history_call call)
{
    history_event event = play_event(name, HISTORY_INVOKE, call);
    worker *w = h->worker;

    event.operation =
        (uint64_t)w->process << 32 | (atomic_fetch_add(&w->operations, 1) + 1);
    event.owner = h->owner;
    event.client = w->process;
    return event;
}

static void begun(const hand *h, history_event *event, int64_t within_ms)
{
    event->at = history_now();
    event->deadline = event->at + (uint64_t)within_ms * MS;
    put(h->worker, event);
}

static void
ended(const hand *h, history_event event, history_phase phase, lk_status status)
{
    event.at = 0;
    event.deadline = 0;
    event.phase = (uint8_t)phase;
    event.status = status;
    if (phase == HISTORY_UNKNOWN)
        (void)atomic_fetch_add(&h->worker->shared->unknowns, 1);
    put(h->worker, &event);
}

static history_phase phase_of(lk_status status)
{
    if (status == LK_OK)
        return HISTORY_OK;
    return status == LK_EINDOUBT ? HISTORY_UNKNOWN : HISTORY_FAIL;
}

/* Until when the hold is valid, as it says now; 0: it does not. */
static uint64_t deadline_of(const lk_hold *hold, uint64_t now)
{
    uint64_t left = lk_hold_remaining_ms(hold);

    return left > 0 ? now + left * MS : 0;
}

static void work(hand *h, uint64_t most_us)
{
    const struct timespec time = {
        .tv_nsec = (long)(play_draw(&h->random, most_us) * 1000)};

    (void)nanosleep(&time, NULL);
}

/* ---- what is done with a hold ---- */

static void on_lost(lk_hold *hold, uint64_t remaining_ms, void *data)
{
    const grip *g = data;
    history_event event = play_event(g->name, HISTORY_EVENT, HISTORY_LOST);

    if (remaining_ms > 0)
        return;
    event.at = history_now();
    event.deadline = event.at - lk_hold_lost_for_ms(hold) * MS;
    event.hold = g->id;
    event.owner = g->hand->owner;
    (void)atomic_fetch_add(&g->hand->worker->shared->losses, 1);
    put(g->hand->worker, &event);
}

static bool check(const grip *g)
{
    history_event event = play_event(g->name, HISTORY_EVENT, HISTORY_CHECKED);

    event.at = history_now();
    if (lk_hold_check(g->hold) != LK_OK)
        return false;
    event.deadline = deadline_of(g->hold, event.at);
    event.hold = g->id;
    event.owner = g->hand->owner;
    put(g->hand->worker, &event);
    return true;
}

/* What the name guards takes nothing from whoever is late. */
static void write_guarded(const grip *g)
{
    history_event event = begin(g->hand, g->name, HISTORY_WRITE);
    _Atomic uint64_t *guarded = &g->hand->worker->shared->written[g->name];
    uint64_t before;

    event.fence = g->fence;
    put(g->hand->worker, &event);
    before = atomic_load(guarded);
    while (before <= g->fence &&
           !atomic_compare_exchange_weak(guarded, &before, g->fence))
        ;
    ended(g->hand, event, before <= g->fence ? HISTORY_OK : HISTORY_FAIL,
          before <= g->fence ? LK_OK : LK_ESTALE);
}

static void extend(grip *g)
{
    history_event event = begin(g->hand, g->name, HISTORY_EXTEND);
    const int64_t most =
        g->name < PLAY_NAMES && play_names[g->name].kind == HISTORY_REDLOCK
            ? PLAY_NODE_MS
            : PLAY_COMMAND_MS;
    lk_status status;

    event.hold = g->id;
    event.lease_ms = 200 + play_draw(&g->hand->random, 800);
    begun(g->hand, &event, most);
    status = lk_hold_extend(g->hold, event.lease_ms);
    if (status != LK_ELOST && event.lease_ms > g->lease_ms)
        g->lease_ms = event.lease_ms;
    ended(g->hand, event, phase_of(status), status);
}

static void downgrade(grip *g)
{
    history_event event = begin(g->hand, g->name, HISTORY_DOWNGRADE);
    lk_status status;

    event.hold = g->id;
    begun(g->hand, &event, PLAY_COMMAND_MS);
    status = lk_rwlock_downgrade(g->hold);
    ended(g->hand, event, phase_of(status), status);
    if (status == LK_OK)
        g->mode = HISTORY_READ;
}

static void release(const grip *g)
{
    history_event event = begin(g->hand, g->name, HISTORY_RELEASE);
    const int64_t most = play_names[g->name].kind == HISTORY_REDLOCK
                             ? PLAY_NODE_MS
                             : PLAY_COMMAND_MS;
    history_phase phase = HISTORY_UNKNOWN; /* it goes on */
    lk_status status;

    event.hold = g->id;
    event.mode = (uint8_t)g->mode;
    begun(g->hand, &event, most);
    status = lk_hold_release(g->hold);
    if (status == LK_OK)
        phase = HISTORY_OK;
    else if (status == LK_ELOST)
        phase = HISTORY_FAIL;
    ended(g->hand, event, phase, status);
}

/* ---- acquiring ---- */

static lk_status ask(worker *w, const history_event *event, int64_t wait_ms,
                     const lk_acquire_options *options, lk_hold **ret_hold,
                     unsigned name)
{
    void *handle = w->handles[name];

    switch (play_names[name].kind) {
    case HISTORY_LOCK:
        return lk_lock_acquire(handle, wait_ms, options, ret_hold);
    case HISTORY_FAIRLOCK:
        return lk_fairlock_acquire(handle, wait_ms, options, ret_hold);
    case HISTORY_SEMAPHORE:
        return lk_semaphore_acquire(handle, event->count, wait_ms, options,
                                    ret_hold);
    case HISTORY_REDLOCK:
        return lk_redlock_acquire(handle, wait_ms, options, ret_hold);
    case HISTORY_SIGLOCK:
        return lk_siglock_acquire(handle, wait_ms, options, ret_hold);
    case HISTORY_RWLOCK:
        if (event->mode == HISTORY_READ)
            return lk_rwlock_acquire_read(handle, wait_ms, options, ret_hold);
        if (event->mode == HISTORY_UPGRADEABLE)
            return lk_rwlock_acquire_upgradeable(handle, wait_ms, options,
                                                 ret_hold);
        return lk_rwlock_acquire_write(handle, wait_ms, options, ret_hold);
    case HISTORY_NO_KIND:
    case HISTORY_PLAIN:
    case HISTORY_LATCH:
    case HISTORY_LEADER:
    case HISTORY_STRIPES:
    case HISTORY_KINDS:
    default:
        return LK_EINVAL;
    }
}

static history_mode draw_mode(hand *h, unsigned name)
{
    if (play_names[name].kind == HISTORY_SEMAPHORE)
        return HISTORY_PERMITS;
    if (play_names[name].kind != HISTORY_RWLOCK)
        return HISTORY_EXCLUSIVE;
    switch (play_draw(&h->random, 6)) {
    case 0:
    case 1:
        return HISTORY_WRITER;
    case 2:
        return HISTORY_UPGRADEABLE;
    default:
        return HISTORY_READ;
    }
}

/* How long a call with this wait may take. */
static int64_t longest(unsigned name, int64_t wait_ms)
{
    const int64_t try_ms = play_names[name].kind == HISTORY_REDLOCK
                               ? PLAY_NODE_MS
                               : PLAY_COMMAND_MS;

    return wait_ms == 0 ? try_ms : wait_ms;
}

static void got(grip *g, history_event event)
{
    uint64_t now = history_now();

    event.phase = HISTORY_OK;
    event.status = LK_OK;
    event.hold = g->id = event.operation;
    event.fence = g->fence = lk_hold_fence(g->hold);
    event.deadline = deadline_of(g->hold, now);
    event.at = now;
    (void)atomic_fetch_add(&g->hand->worker->shared->grants[g->name], 1);
    put(g->hand->worker, &event);
    if (lk_hold_on_lost(g->hold, 0, on_lost, g) != LK_OK)
        abort();
}

/* What it is to have; first: the hold that it has again, whose lease stays;
   NULL: none. */
static grip
grip_new(hand *h, unsigned name, history_mode mode, const grip *first)
{
    grip g = {.hand = h, .name = name, .mode = mode};

    if (first != NULL && first->mode == mode) {
        g.lease_ms = first->lease_ms;
        g.is_renewed = first->is_renewed;
    } else if (play_draw(&h->random, 2) == 0) {
        g.lease_ms = 200 + play_draw(&h->random, 800);
    } else {
        g.lease_ms = PLAY_WATCHDOG_MS;
        g.is_renewed = true;
    }
    return g;
}

/* False: it was not had. */
static bool acquire(grip *g, int64_t wait_ms)
{
    hand *h = g->hand;
    history_event event = begin(h, g->name, HISTORY_ACQUIRE);
    lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT};
    char reason[32];
    lk_status status;

    (void)snprintf(reason, sizeof(reason), "%" PRIu64, event.operation);
    options.reason = reason; /* by which it is known in the queue */
    options.lease_ms = g->is_renewed ? 0 : g->lease_ms;
    event.lease_ms = g->lease_ms;
    event.flags = HISTORY_WATCHED | (g->is_renewed ? HISTORY_RENEWED : 0U);
    event.mode = (uint8_t)g->mode;
    if (g->mode == HISTORY_PERMITS)
        event.count = 1 + play_draw(&h->random, 2);
    begun(h, &event, longest(g->name, wait_ms));
    status = ask(h->worker, &event, wait_ms, &options, &g->hold, g->name);
    if (status == LK_OK)
        got(g, event);
    else
        ended(h, event, phase_of(status), status);
    return status == LK_OK;
}

static bool is_fenced(const grip *g)
{
    return g->fence != 0 && g->mode != HISTORY_READ &&
           g->mode != HISTORY_UPGRADEABLE && g->mode != HISTORY_PERMITS;
}

/* Again what this thread has: the same, or to write above its reads. */
static void enter(hand *h, const grip *outer)
{
    const history_kind kind = play_names[outer->name].kind;
    const bool upgrades = outer->mode == HISTORY_UPGRADEABLE;
    grip inner;

    if (kind != HISTORY_LOCK && kind != HISTORY_FAIRLOCK && !upgrades)
        return;
    inner = grip_new(h, outer->name,
                     upgrades ? HISTORY_WRITER : HISTORY_EXCLUSIVE, outer);
    if (!acquire(&inner, 300))
        return;
    work(h, 3000);
    if (check(&inner) && is_fenced(&inner))
        write_guarded(&inner);
    release(&inner);
}

static void use(hand *h, grip *g)
{
    for (uint64_t steps = play_draw(&h->random, 6); steps > 0; steps--) {
        if (check(g) && is_fenced(g))
            write_guarded(g);
        work(h, play_draw(&h->random, 20) == 0 ? 300000 : 3000);
        switch (play_draw(&h->random, 12)) {
        case 0:
            extend(g);
            break;
        case 1:
            enter(h, g);
            break;
        case 2:
            if (g->mode == HISTORY_WRITER)
                downgrade(g);
            break;
        default:
            break;
        }
    }
    (void)check(g);
    release(g);
}

static void hold_round(hand *h, unsigned name)
{
    static const int64_t waits[] = {0, 100, 1000, 3000};
    grip g = grip_new(h, name, draw_mode(h, name), NULL);

    if (acquire(&g, waits[play_draw(&h->random, 4)]))
        use(h, &g);
}

/* ---- the latch ---- */

static lk_status latch_call(lk_latch *latch, history_event *event)
{
    if (event->call == HISTORY_ARM)
        return lk_latch_try_set_count(latch, event->count);
    if (event->call == HISTORY_RESET)
        return lk_latch_reset(latch, event->count);
    if (event->call == HISTORY_DELETE)
        return lk_latch_delete(latch);
    if (event->call == HISTORY_ASK)
        return lk_latch_count(latch, &event->count);
    return lk_latch_count_down(latch, event->count);
}

static void latch_change(hand *h, unsigned name, history_call call)
{
    history_event event = begin(h, name, call);
    history_phase phase;
    lk_status status;

    event.count = call == HISTORY_COUNT ? 1 : PLAY_LATCH;
    begun(h, &event, PLAY_COMMAND_MS);
    status = latch_call(h->worker->handles[name], &event);
    phase = phase_of(status);
    if (call == HISTORY_DELETE && status == LK_EUNSET)
        phase = HISTORY_OK; /* it is unset */
    ended(h, event, phase, status);
}

static void latch_wait(hand *h, unsigned name, int64_t wait_ms)
{
    history_event event = begin(h, name, HISTORY_ACQUIRE);
    lk_status status;

    begun(h, &event, longest(name, wait_ms));
    status = lk_latch_wait(h->worker->handles[name], wait_ms, NULL);
    ended(h, event, phase_of(status), status);
}

static void latch_round(hand *h, unsigned name)
{
    switch (play_draw(&h->random, 12)) {
    case 0:
        latch_change(h, name, HISTORY_ARM);
        break;
    case 1:
        latch_change(h, name, HISTORY_RESET);
        break;
    case 2:
        latch_change(h, name,
                     play_draw(&h->random, 4) == 0 ? HISTORY_DELETE
                                                   : HISTORY_RESET);
        break;
    case 3:
    case 4:
        latch_change(h, name, HISTORY_ASK);
        break;
    case 5:
    case 6:
        latch_wait(h, name, (int64_t)play_draw(&h->random, 1500));
        break;
    default:
        latch_change(h, name, HISTORY_COUNT);
    }
}

/* ---- a worker's life ---- */

/* The calm after the faults: each name is had once more. */
static void last_round(hand *h)
{
    for (unsigned name = 0; name < PLAY_NAMES; name++) {
        grip g = grip_new(h, name, draw_mode(h, name), NULL);

        if (play_names[name].kind == HISTORY_LATCH)
            latch_change(h, name, HISTORY_ASK);
        else if (acquire(&g, PLAY_FINAL_MS))
            release(&g);
    }
}

static void *hand_run(void *data)
{
    hand *h = data;

    while (!atomic_load(&h->worker->shared->ends)) {
        unsigned name = (unsigned)play_draw(&h->random, PLAY_NAMES);

        if (play_names[name].kind == HISTORY_LATCH)
            latch_round(h, name);
        else
            hold_round(h, name);
        work(h, 5000);
    }
    last_round(h);
    return NULL;
}

static lk_status make(worker *w, unsigned name)
{
    const char *text = play_names[name].name;
    const lk_semaphore_options permits = {LK_SEMAPHORE_OPTIONS_INIT,
                                          .permits = PLAY_PERMITS};
    const lk_redlock_options votes = {LK_REDLOCK_OPTIONS_INIT,
                                      .lease_ms = PLAY_WATCHDOG_MS,
                                      .node_timeout_ms = PLAY_NODE_MS};
    void **handle = &w->handles[name];

    switch (play_names[name].kind) {
    case HISTORY_LOCK:
        return lk_lock_new((lk_lock **)handle, w->client, text, NULL);
    case HISTORY_FAIRLOCK:
        return lk_fairlock_new((lk_fairlock **)handle, w->client, text, NULL);
    case HISTORY_RWLOCK:
        return lk_rwlock_new((lk_rwlock **)handle, w->client, text, NULL);
    case HISTORY_SEMAPHORE:
        return lk_semaphore_new((lk_semaphore **)handle, w->client, text,
                                &permits);
    case HISTORY_REDLOCK:
        return lk_redlock_new((lk_redlock **)handle, w->nodes, PLAY_REDLOCK,
                              text, &votes);
    case HISTORY_SIGLOCK:
        return lk_siglock_new((lk_siglock **)handle, w->client, text, NULL);
    case HISTORY_LATCH:
        return lk_latch_new((lk_latch **)handle, w->client, text, NULL);
    case HISTORY_NO_KIND:
    case HISTORY_PLAIN:
    case HISTORY_LEADER:
    case HISTORY_STRIPES:
    case HISTORY_KINDS:
    default:
        return LK_EINVAL;
    }
}

static bool open_all(worker *w, char **urls)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .watchdog_ms = PLAY_WATCHDOG_MS,
                                       .command_timeout_ms = PLAY_COMMAND_MS,
                                       .connect_timeout_ms = 500,
                                       .offline_ms = 2000};

    if (lk_client_open(&w->client, urls[0], &options) != LK_OK)
        return false;
    for (int i = 0; i < PLAY_REDLOCK; i++)
        if (lk_client_open(&w->nodes[i], urls[i + 1], &options) != LK_OK)
            return false;
    for (unsigned name = 0; name < PLAY_NAMES; name++)
        if (make(w, name) != LK_OK)
            return false;
    return true;
}

static void close_all(worker *w)
{
    (void)lk_client_shutdown(w->client, SHUTDOWN_MS);
    for (int i = 0; i < PLAY_REDLOCK; i++)
        (void)lk_client_shutdown(w->nodes[i], SHUTDOWN_MS);
}

static bool run(worker *w, uint64_t seed)
{
    hand hands[PLAY_HANDS];

    for (unsigned i = 0; i < PLAY_HANDS; i++) {
        hands[i] = (hand){.worker = w,
                          .owner = (uint64_t)w->process * PLAY_HANDS + i,
                          .random = {seed * PLAY_HANDS + i}};
        if (pthread_create(&hands[i].thread, NULL, hand_run, &hands[i]) != 0)
            return false;
    }
    for (unsigned i = 0; i < PLAY_HANDS; i++)
        (void)pthread_join(hands[i].thread, NULL);
    return true;
}

int play_worker(char **arguments)
{
    static worker w;
    char path[512];

    w.process = (uint32_t)strtoul(arguments[0], NULL, 10);
    (void)snprintf(path, sizeof(path), "%s/shared", arguments[2]);
    w.shared = play_shared_map(path, false);
    (void)snprintf(path, sizeof(path), "%s/%" PRIu32 ".history", arguments[2],
                   w.process);
    w.log = history_log_open(path, w.process, PLAY_EVENTS);
    if (w.shared == NULL || w.log == NULL ||
        !play_pulse_start(w.log, w.shared, w.process) ||
        !open_all(&w, arguments + 3) ||
        !run(&w, strtoull(arguments[1], NULL, 10)))
        return 3;
    close_all(&w);
    return 0;
}
