/* SPDX-License-Identifier: MIT */
#include "fault/seeker.h"

#include <stdio.h>
#include <time.h>

enum { WAIT_MS = 500, PAUSE_NS = 20000000, OFFLINE_MS = 60000 };

static bool has_one(seeker *s, unsigned long long number)
{
    char name[48];
    lk_lock *lock = NULL;
    lk_hold *hold = NULL;
    bool has;

    (void)snprintf(name, sizeof(name), "%ssought%llu", atomic_load(&s->tag),
                   number);
    if (lk_lock_new(&lock, s->client, name, NULL) != LK_OK)
        return false;
    has = lk_lock_acquire(lock, WAIT_MS, NULL, &hold) == LK_OK;
    if (has) {
        (void)atomic_fetch_add(&s->found, 1);
        (void)lk_hold_release(hold);
    }
    lk_lock_free(lock);
    return has;
}

static void *seek(void *data)
{
    static const struct timespec pause = {.tv_nsec = PAUSE_NS};
    seeker *s = data;

    for (unsigned long long i = 0; !atomic_load(&s->ends); i++) {
        if (has_one(s, i))
            (void)nanosleep(&pause, NULL);
    }
    return NULL;
}

void seeker_turn(seeker *s, const char *tag)
{
    atomic_store(&s->tag, tag);
}

bool seeker_start(seeker *s, const char *url, const char *tag)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .command_timeout_ms = WAIT_MS,
                                       .offline_ms = OFFLINE_MS};

    seeker_turn(s, tag);
    if (lk_client_open(&s->client, url, &options) != LK_OK)
        return false;
    if (pthread_create(&s->thread, NULL, seek, s) == 0)
        return true;
    lk_client_free(s->client);
    s->client = NULL;
    return false;
}

void seeker_stop(seeker *s)
{
    if (s->client == NULL)
        return;
    atomic_store(&s->ends, true);
    (void)pthread_join(s->thread, NULL);
    lk_client_free(s->client);
    s->client = NULL;
}

unsigned long long seeker_found(const seeker *s)
{
    return atomic_load(&s->found);
}
