/* SPDX-License-Identifier: MIT */
#include "support/witness.h"

#include "support/wait.h"

enum { DEADLINE_MS = 10000 };

/* ---- events ------------------------------------------------------------- */

static void event_begin(witness *w, witness_link *link)
{
    void (*hook)(witness * w, witness_link * link);

    (void)pthread_mutex_lock(&w->mutex);
    hook = w->hook;
    (void)pthread_mutex_unlock(&w->mutex);
    if (hook != NULL)
        hook(w, link);
    (void)pthread_mutex_lock(&w->mutex);
}

/* Enters the mutex; tells whether the link is still the witness's own. */
static bool link_begin(witness *w, witness_link *link, const lk__link *from)
{
    event_begin(w, link);
    if (link->link == from)
        return true;
    link->strays++;
    return false;
}

static void event_end(witness *w)
{
    (void)pthread_mutex_unlock(&w->mutex);
}

static void on_open(void *user, void *tag, lk__link *from, int error)
{
    witness_link *link = tag;

    if (link_begin(user, link, from)) {
        link->opens++;
        link->open_error = error;
    }
    event_end(user);
}

static void
on_data(void *user, void *tag, lk__link *from, const char *bytes, size_t size)
{
    witness_link *link = tag;

    if (link_begin(user, link, from)) {
        link->pieces++;
        link->sum = witness_sum(link->sum, link->received, bytes, size);
        link->received += size;
        if (link->witness->lends)
            link->witness->world->class->link_lend(from);
    }
    event_end(user);
}

static void on_end(void *user, void *tag, lk__link *from, int error)
{
    witness_link *link = tag;

    if (link_begin(user, link, from)) {
        link->ends++;
        link->end_error = error;
    }
    event_end(user);
}

static void on_writable(void *user, void *tag, lk__link *from)
{
    witness_link *link = tag;

    if (link_begin(user, link, from))
        link->writables++;
    event_end(user);
}

static void on_timer(void *user)
{
    witness *w = user;

    event_begin(w, NULL);
    w->timers++;
    w->last_timer = w->world->class->now(w->world);
    event_end(w);
}

static void on_wake(void *user)
{
    witness *w = user;

    event_begin(w, NULL);
    w->wakes++;
    event_end(w);
}

static const lk__events events = {
    .on_open = on_open,
    .on_data = on_data,
    .on_end = on_end,
    .on_writable = on_writable,
    .on_timer = on_timer,
    .on_wake = on_wake,
};

/* ---- use ---------------------------------------------------------------- */

bool witness_start(witness *w, lk__world *world)
{
    if (world == NULL)
        return false;
    w->world = world;
    (void)pthread_mutex_init(&w->mutex, NULL);
    return world->class->start(world, &events, w) == 0;
}

void witness_hook(witness *w, void (*hook)(witness *w, witness_link *link),
                  void *data)
{
    (void)pthread_mutex_lock(&w->mutex);
    w->hook = hook;
    w->data = data;
    (void)pthread_mutex_unlock(&w->mutex);
}

void witness_stop(witness *w)
{
    w->world->class->stop(w->world);
    w->world = NULL;
    (void)pthread_mutex_destroy(&w->mutex);
}

bool witness_open(witness *w, witness_link *link, const lk__address *address)
{
    bool opened;

    (void)pthread_mutex_lock(&w->mutex);
    *link = (witness_link){.witness = w};
    link->link = w->world->class->link_open(w->world, address, link);
    opened = link->link != NULL;
    (void)pthread_mutex_unlock(&w->mutex);
    return opened;
}

void witness_close(witness_link *link)
{
    witness *w = link->witness;

    (void)pthread_mutex_lock(&w->mutex);
    w->world->class->link_close(link->link);
    link->link = NULL;
    (void)pthread_mutex_unlock(&w->mutex);
}

ssize_t witness_send(witness_link *link, const void *bytes, size_t size)
{
    witness *w = link->witness;
    ssize_t sent;

    (void)pthread_mutex_lock(&w->mutex);
    sent = w->world->class->link_send(link->link, bytes, size);
    (void)pthread_mutex_unlock(&w->mutex);
    return sent;
}

uint64_t
witness_sum(uint64_t sum, uint64_t place, const char *bytes, size_t size)
{
    size_t i;

    for (i = 0; i < size; i++)
        sum += (place + i + 1) * (unsigned char)bytes[i];
    return sum;
}

/* ---- waiting ------------------------------------------------------------ */

int witness_count(witness *w, const int *counter)
{
    int count;

    (void)pthread_mutex_lock(&w->mutex);
    count = *counter;
    (void)pthread_mutex_unlock(&w->mutex);
    return count;
}

typedef struct expectation {
    witness *witness;
    const int *counter;
    int least;
} expectation;

static bool is_met(void *data)
{
    const expectation *e = data;

    return witness_count(e->witness, e->counter) >= e->least;
}

bool witness_sees(witness *w, const int *counter, int least)
{
    expectation e = {.witness = w, .counter = counter, .least = least};

    return wait_until(is_met, &e, DEADLINE_MS);
}

typedef struct amount {
    witness_link *link;
    uint64_t least;
} amount;

static bool is_received(void *data)
{
    const amount *a = data;
    bool received;

    (void)pthread_mutex_lock(&a->link->witness->mutex);
    received = a->link->received >= a->least;
    (void)pthread_mutex_unlock(&a->link->witness->mutex);
    return received;
}

bool witness_has_received(witness_link *link, uint64_t least)
{
    return wait_until(is_received, &(amount){link, least}, DEADLINE_MS);
}

bool witness_turn(witness *w)
{
    int before = witness_count(w, &w->wakes);

    w->world->class->wake(w->world);
    return witness_sees(w, &w->wakes, before + 1);
}
