/* SPDX-License-Identifier: MIT */

/* The primitives under measurement, by one interface. */

#include "subject.h"

#include <err.h>

#include "measure.h"
#include "server.h"

enum { PERMITS = 8, READY_MS = 5000, WRITES = 20 };

static void must(lk_status status)
{
    if (status != LK_OK)
        errx(1, "%s: %s", lk_status_text(status), lk_last_error());
}

static void plain_open(subject *s)
{
    lk_status status;

    must(lk_plain_semaphore_new(&s->plain, s->client, "plain"));
    status = lk_plain_semaphore_try_set(s->plain, PERMITS, 0);
    if (status != LK_EALREADY)
        must(status);
}

static void semaphore_open(subject *s)
{
    const lk_semaphore_options options = {LK_SEMAPHORE_OPTIONS_INIT,
                                          .permits = PERMITS};

    must(lk_semaphore_new(&s->semaphore, s->client, "permits", &options));
}

subject subject_open(subject_kind kind, unsigned index, unsigned count)
{
    subject s = {.kind = kind, .turn = index * 7};

    if (kind >= SUBJECT_BARE) {
        s.bare = bare_open((bare_kind)(kind - SUBJECT_BARE), index, count);
        return s;
    }
    must(lk_client_open(&s.client, server_url(), NULL));
    must(lk_client_wait_ready(s.client, READY_MS));
    switch (kind) {
    case SUBJECT_LOCK:
        must(lk_lock_new(&s.lock, s.client, "orders", NULL));
        break;
    case SUBJECT_FAIRLOCK:
        must(lk_fairlock_new(&s.fairlock, s.client, "orders", NULL));
        break;
    case SUBJECT_READ:
    case SUBJECT_WRITE:
    case SUBJECT_MIX:
        must(lk_rwlock_new(&s.rwlock, s.client, "catalogue", NULL));
        break;
    case SUBJECT_SEMAPHORE:
        semaphore_open(&s);
        break;
    case SUBJECT_PLAIN:
        plain_open(&s);
        break;
    case SUBJECT_BARE:
        break;
    }
    return s;
}

void subject_close(subject *s)
{
    if (s->bare != NULL)
        bare_close(s->bare);
    lk_lock_free(s->lock);
    lk_fairlock_free(s->fairlock);
    lk_rwlock_free(s->rwlock);
    lk_semaphore_free(s->semaphore);
    lk_plain_semaphore_free(s->plain);
    lk_client_free(s->client);
}

static lk_status take_of_mix(const subject *s, lk_hold **ret_hold)
{
    static _Thread_local unsigned cycles;

    return (s->turn + cycles++) % WRITES == 0
               ? lk_rwlock_acquire_write(s->rwlock, LK_FOREVER, NULL, ret_hold)
               : lk_rwlock_acquire_read(s->rwlock, LK_FOREVER, NULL, ret_hold);
}

static lk_status take(const subject *s, lk_hold **ret_hold)
{
    switch (s->kind) {
    case SUBJECT_LOCK:
        return lk_lock_acquire(s->lock, LK_FOREVER, NULL, ret_hold);
    case SUBJECT_FAIRLOCK:
        return lk_fairlock_acquire(s->fairlock, LK_FOREVER, NULL, ret_hold);
    case SUBJECT_READ:
        return lk_rwlock_acquire_read(s->rwlock, LK_FOREVER, NULL, ret_hold);
    case SUBJECT_WRITE:
        return lk_rwlock_acquire_write(s->rwlock, LK_FOREVER, NULL, ret_hold);
    case SUBJECT_SEMAPHORE:
        return lk_semaphore_acquire(s->semaphore, 1, LK_FOREVER, NULL,
                                    ret_hold);
    case SUBJECT_MIX:
        return take_of_mix(s, ret_hold);
    case SUBJECT_PLAIN:
    case SUBJECT_BARE:
        break;
    }
    return lk_plain_semaphore_acquire(s->plain, 1, LK_FOREVER, NULL);
}

void subject_once(const subject *s)
{
    lk_hold *hold = NULL;

    if (s->bare != NULL) {
        bare_once(s->bare);
        return;
    }
    must(take(s, &hold));
    must(hold != NULL ? lk_hold_release(hold)
                      : lk_plain_semaphore_release(s->plain, 1));
}

uint64_t subject_commands(const subject *s)
{
    lk_client_stats stats = {.size = sizeof(stats)};

    if (s->bare != NULL)
        return bare_commands(s->bare);
    must(lk_client_stats_get(s->client, &stats));
    return stats.commands;
}
