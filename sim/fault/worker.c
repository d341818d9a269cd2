/* SPDX-License-Identifier: MIT */

/* A process that wants names, over and over, and writes down what it is told. */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fault/hand.h"

enum { SHUTDOWN_MS = 5000, MOST_HANDS = PLAY_HANDS + PLAY_BRISK_HANDS };

static int64_t draw_wait(hand *h)
{
    static const int64_t waits[] = {0, 100, 1000, 3000};

    return waits[play_draw(&h->random, 4)];
}

static void hold_round(hand *h, unsigned name)
{
    grip g = grip_new(h, name, grip_draw_mode(h, name), NULL);

    if (grip_acquire(&g, draw_wait(h)))
        grip_use(h, &g);
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
    history_event event = hand_begin(h, name, call);
    history_phase phase;
    lk_status status;

    event.count = call == HISTORY_COUNT ? 1 : PLAY_LATCH;
    hand_begun(h, &event, PLAY_COMMAND_MS);
    status = latch_call(h->worker->handles[name], &event);
    phase = hand_phase_of(status);
    if (call == HISTORY_DELETE && status == LK_EUNSET)
        phase = HISTORY_OK; /* it is unset */
    hand_ended(h, event, phase, status);
}

static void latch_wait(hand *h, unsigned name, int64_t wait_ms)
{
    history_event event = hand_begin(h, name, HISTORY_ACQUIRE);
    lk_status status;

    hand_begun(h, &event, hand_longest(name, wait_ms));
    status = lk_latch_wait(h->worker->handles[name], wait_ms, NULL);
    hand_ended(h, event, hand_phase_of(status), status);
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

static unsigned names_of(const worker *w)
{
    return w->has_failovers ? PLAY_NAMES : PLAY_SINGLE_NAMES;
}

static void last_of(hand *h, unsigned name)
{
    grip g = grip_new(h, name, grip_draw_mode(h, name), NULL);

    if (grip_acquire(&g, PLAY_FINAL_MS))
        grip_release(&g);
}

/* The calm after the faults: each name is had once more. */
static void last_round(hand *h)
{
    for (unsigned name = 0; name < names_of(h->worker); name++) {
        if (play_names[name].kind == HISTORY_LATCH)
            latch_change(h, name, HISTORY_ASK);
        else if (play_names[name].kind == HISTORY_PLAIN)
            plain_round(h, name, PLAY_FINAL_MS);
        else if (play_names[name].kind == HISTORY_FLIGHT)
            flight_round(h, name, PLAY_FINAL_MS);
        else
            last_of(h, name);
    }
}

static void any_round(hand *h, unsigned name)
{
    if (play_names[name].kind == HISTORY_LATCH)
        latch_round(h, name);
    else if (play_names[name].kind == HISTORY_PLAIN)
        plain_round(h, name, draw_wait(h));
    else if (play_names[name].kind == HISTORY_FLIGHT)
        flight_round(h, name, draw_wait(h));
    else
        hold_round(h, name);
}

static void *hand_run(void *data)
{
    hand *h = data;

    while (!atomic_load(&h->worker->shared->ends)) {
        any_round(h, (unsigned)play_draw(&h->random, names_of(h->worker)));
        hand_work(h, 5000);
    }
    last_round(h);
    lk_plain_semaphore_free(h->plain);
    return NULL;
}

static void *brisk_run(void *data)
{
    hand *h = data;

    while (!atomic_load(&h->worker->shared->ends))
        brisk_round(h);
    brisk_last(h);
    return NULL;
}

/* Over names of its own, which have slots of their own. */
static lk_status
make_multilock(worker *w, lk_multilock **ret_multilock, const char *text)
{
    lk_status status = lk_multilock_new(ret_multilock);
    char name[32];

    for (unsigned i = 0; status == LK_OK && i < PLAY_MEMBERS; i++) {
        (void)snprintf(name, sizeof(name), "%s-%u", text, i);
        status = lk_lock_new(&w->members[i], w->client, name, NULL);
        if (status == LK_OK)
            status = lk_multilock_add_lock(*ret_multilock, w->members[i]);
    }
    return status;
}

static lk_status make(worker *w, unsigned name)
{
    const char *text = play_names[name].name;
    const lk_semaphore_options permits = {LK_SEMAPHORE_OPTIONS_INIT,
                                          .permits = PLAY_PERMITS};
    const lk_redlock_options votes = {LK_REDLOCK_OPTIONS_INIT,
                                      .lease_ms = PLAY_WATCHDOG_MS,
                                      .node_timeout_ms = PLAY_NODE_MS};
    const lk_flight_options values = {LK_FLIGHT_OPTIONS_INIT,
                                      .ttl_ms = PLAY_TTL_MS};
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
    case HISTORY_LEADER:
        return lk_leader_new((lk_leader **)handle, w->client, text, NULL);
    case HISTORY_MULTILOCK:
        return make_multilock(w, (lk_multilock **)handle, text);
    case HISTORY_STRIPES:
        return lk_stripes_new((lk_stripes **)handle, w->client, text, NULL);
    case HISTORY_FLIGHT:
        return lk_flight_new((lk_flight **)handle, w->client, text, &values);
    case HISTORY_PLAIN:
        return LK_OK; /* each thread has its own */
    case HISTORY_NO_KIND:
    case HISTORY_KINDS:
    default:
        return LK_EINVAL;
    }
}

/* In a cluster some have theirs in another slot, where the fence alone is looked at.
   A lock without a tag has its cell in its own slot, where the claim is as well. */
static bool make_cell(worker *w, unsigned name)
{
    const bool is_away = play_guards_away(name);
    const char *of = play_names[name].name;
    char text[64];

    if (!w->has_failovers || (is_away && !w->is_cluster) ||
        (!is_away && play_names[name].kind != HISTORY_LOCK))
        return true;
    if (is_away)
        (void)snprintf(text, sizeof(text), PLAY_AWAY, name);
    else
        (void)snprintf(text, sizeof(text), "{%s}:cell", of);
    w->has_away[name] = is_away;
    return lk_cell_new(&w->cells[name], w->client, text, NULL) == LK_OK &&
           (!is_away || late_make(w, name, of));
}

static unsigned handles_of(const worker *w)
{
    return w->shared->brisk ? PLAY_ALL_NAMES : PLAY_NAMES;
}

static bool open_all(worker *w, char **urls)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .watchdog_ms = w->watchdog_ms,
                                       .command_timeout_ms = PLAY_COMMAND_MS,
                                       .connect_timeout_ms = 500,
                                       .offline_ms = 2000};

    if (lk_client_open(&w->client, urls[0], &options) != LK_OK)
        return false;
    if (w->is_cluster && lk_client_open(&w->late, urls[0], &options) != LK_OK)
        return false;
    for (int i = 0; i < PLAY_REDLOCK; i++)
        if (lk_client_open(&w->nodes[i], urls[i + 1], &options) != LK_OK)
            return false;
    for (unsigned name = 0; name < handles_of(w); name++)
        if (make(w, name) != LK_OK || !make_cell(w, name))
            return false;
    return true;
}

static void close_all(worker *w)
{
    (void)lk_client_shutdown(w->client, SHUTDOWN_MS);
    (void)lk_client_shutdown(w->late, SHUTDOWN_MS);
    for (int i = 0; i < PLAY_REDLOCK; i++)
        (void)lk_client_shutdown(w->nodes[i], SHUTDOWN_MS);
}

/* What the first ones draw is the same with brisk hands and without. */
static hand new_hand(worker *w, unsigned i, uint64_t seed)
{
    hand h = {.worker = w,
              .owner = (uint64_t)w->process * MOST_HANDS + i,
              .random = {seed * PLAY_HANDS + i}};

    if (i >= PLAY_HANDS) {
        h.random.state = ~(seed * PLAY_BRISK_HANDS + i);
        h.home =
            PLAY_NAMES + (w->process * PLAY_BRISK_HANDS + i) % PLAY_BRISK_NAMES;
    }
    return h;
}

static bool run(worker *w, uint64_t seed)
{
    hand hands[MOST_HANDS];
    const unsigned count = w->shared->brisk ? MOST_HANDS : PLAY_HANDS;

    for (unsigned i = 0; i < count; i++) {
        hands[i] = new_hand(w, i, seed);
        if (pthread_create(&hands[i].thread, NULL,
                           i < PLAY_HANDS ? hand_run : brisk_run,
                           &hands[i]) != 0)
            return false;
    }
    for (unsigned i = 0; i < count; i++)
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
    w.log =
        history_log_open(path, w.process,
                         w.shared != NULL && w.shared->brisk ? PLAY_BRISK_EVENTS
                                                             : PLAY_EVENTS);
    w.is_cluster = strstr(arguments[3], "+cluster:") != NULL;
    w.has_failovers =
        w.is_cluster || strstr(arguments[3], "+sentinel:") != NULL;
    w.watchdog_ms = w.has_failovers ? PLAY_OUTLIVES_MS : PLAY_WATCHDOG_MS;
    if (w.shared == NULL || w.log == NULL ||
        !play_pulse_start(w.log, w.shared, w.process) ||
        !open_all(&w, arguments + 3) ||
        !run(&w, strtoull(arguments[1], NULL, 10)))
        return 3;
    close_all(&w);
    return 0;
}
