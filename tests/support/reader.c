/* SPDX-License-Identifier: MIT */
#include "support/reader.h"

#include <string.h>
#include <unistd.h>

#include "support/check.h"

const lk__world_class *reader_class(const pair *p)
{
    return p->w.world->class;
}

void reader_enter(pair *p)
{
    (void)pthread_mutex_lock(&p->w.mutex);
}

void reader_leave(pair *p)
{
    (void)pthread_mutex_unlock(&p->w.mutex);
}

reader reader_of(pair *p)
{
    reader r = {.p = p, .link = p->link.link, .until = LK__NEVER};

    reader_class(p)->parking_init(p->w.world, &r.parking);
    return r;
}

bool reader_borrow(reader *r)
{
    reader_enter(r->p);
    r->borrowed = reader_class(r->p)->link_borrow(r->link, &r->parking);
    reader_leave(r->p);
    return r->borrowed;
}

bool reader_sleep(reader *r)
{
    return reader_class(r->p)->link_await(r->link, r->until);
}

void reader_take(reader *r)
{
    const char *bytes = NULL;

    reader_enter(r->p);
    r->size = reader_class(r->p)->link_read(r->link, &bytes);
    if (r->size > 0)
        memcpy(r->bytes, bytes, (size_t)r->size);
    reader_leave(r->p);
}

void reader_await(reader *r)
{
    r->size = 0;
    if (reader_sleep(r))
        reader_take(r);
}

void reader_return(reader *r)
{
    reader_enter(r->p);
    reader_class(r->p)->link_return(r->link, &r->parking);
    r->over = true;
    reader_leave(r->p);
}

bool reader_unpark(reader *r)
{
    bool rung;

    reader_enter(r->p);
    reader_class(r->p)->unpark(r->p->w.world, &r->parking);
    (void)pthread_mutex_lock(&r->link->world->mutex);
    rung = r->link->loan.rung; /* it cannot return the stream yet */
    (void)pthread_mutex_unlock(&r->link->world->mutex);
    reader_leave(r->p);
    return rung;
}

static void *reader_main(void *data)
{
    reader *r = data;

    reader_await(r);
    reader_return(r);
    return NULL;
}

bool reader_sleeps(void *data)
{
    const reader *r = data;
    bool asleep;

    (void)pthread_mutex_lock(&r->link->world->mutex);
    asleep = r->link->loan.asleep;
    (void)pthread_mutex_unlock(&r->link->world->mutex);
    return asleep;
}

bool reader_lost(void *data)
{
    const reader *r = data;

    return atomic_load(&r->link->loan.turn) == LK__UV_LOOPS;
}

bool reader_is_waited_for(void *data)
{
    const reader *r = data;
    bool closes;

    (void)pthread_mutex_lock(&r->link->world->mutex);
    closes = r->link->loan.closes;
    (void)pthread_mutex_unlock(&r->link->world->mutex);
    return closes;
}

/* ---- lending --------------------------------------------------------------- */

void pair_lends(pair *p, bool is_on)
{
    reader_enter(p);
    p->w.lends = is_on;
    reader_leave(p);
}

void reader_lend(pair *p)
{
    uint64_t before;

    reader_enter(p);
    before = p->link.received;
    reader_leave(p);
    pair_lends(p, true);
    assert_int_equal(write(p->peer, "x", 1), 1);
    assert_true(witness_has_received(&p->link, before + 1));
    pair_lends(p, false);
}

void reader_borrows(reader *r)
{
    while (!reader_borrow(r))
        reader_lend(r->p);
}

void reader_start(reader *r)
{
    assert_int_equal(pthread_create(&r->thread, NULL, reader_main, r), 0);
}

void reader_join(reader *r)
{
    (void)pthread_join(r->thread, NULL);
}

bool reader_reads(reader *r, const char *text)
{
    size_t size = strlen(text);

    reader_borrows(r);
    assert_int_equal(write(r->p->peer, text, size), size);
    reader_await(r);
    reader_return(r);
    return r->size > 0;
}
