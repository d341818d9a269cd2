/* SPDX-License-Identifier: MIT */

/*
 * Names are looked up by a thread each, since the C library waits for the
 * network and cannot be interrupted. libuv has threads for that, too, but ends
 * the process when it cannot have them. Dials to one name share its look-up, so
 * that one which hangs costs one thread however often it is dialed.
 *
 * The thread has the look-up until it is over; then the loop has it, or, when
 * the loop has dropped it meanwhile, nobody, and the thread frees it.
 */

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/mem.h"
#include "world/world_uv.h"

struct lk__uv_lookup {
    pthread_mutex_t mutex; /* guards the next two; held for moments only */
    lk__uv_world *world;   /* NULL: the loop has dropped it */
    bool over;

    lk__uv_lookup *next; /* of the world's */
    lk__uv_dial *dials[8];
    size_t count;   /* dials that were not told yet */
    unsigned users; /* dials that have not left */
    bool taken;     /* out of the world's list: free with the last user */

    int error; /* the thread's, until it is over */
    struct addrinfo *found;
    char service[sizeof("65535")];
    char host[];
};

enum { DIALS_MAX = sizeof(((lk__uv_lookup *)0)->dials) / sizeof(void *) };

static void lookup_free(lk__uv_lookup *lookup)
{
    if (lookup->found != NULL)
        freeaddrinfo(lookup->found);
    (void)pthread_mutex_destroy(&lookup->mutex);
    lk__free(lookup);
}

/* ---- the thread --------------------------------------------------------- */

/* As libuv has them, whose words are used. */
static int error_of(int error)
{
    switch (error) {
    case 0:
        return 0;
    case EAI_AGAIN:
        return UV_EAI_AGAIN;
    case EAI_FAIL:
        return UV_EAI_FAIL;
    case EAI_MEMORY:
        return UV_EAI_MEMORY;
#ifdef EAI_NODATA
    case EAI_NODATA:
        return UV_EAI_NODATA;
#endif
    case EAI_NONAME:
        return UV_EAI_NONAME;
    case EAI_SYSTEM:
        return errno != 0 ? -errno : UV_EAI_FAIL;
    default:
        return UV_EAI_FAIL;
    }
}

static void *lookup_main(void *data)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
                                   .ai_flags = AI_NUMERICSERV};
    lk__uv_lookup *lookup = data;
    bool is_dropped;

    (void)pthread_setname_np(pthread_self(), "latchkey-name");
    lookup->error = error_of(
        getaddrinfo(lookup->host, lookup->service, &hints, &lookup->found));
    if (lookup->error != 0)
        lookup->found = NULL;
    (void)pthread_mutex_lock(&lookup->mutex);
    lookup->over = true;
    is_dropped = lookup->world == NULL;
    if (!is_dropped)
        (void)uv_async_send(&lookup->world->async);
    (void)pthread_mutex_unlock(&lookup->mutex);
    if (is_dropped)
        lookup_free(lookup);
    return NULL;
}

/* Detached. It inherits the loop's mask: no signal handler runs on it. */
static int thread_start(lk__uv_lookup *lookup)
{
    pthread_attr_t attr;
    pthread_t thread;
    int error = pthread_attr_init(&attr);

    if (error != 0)
        return -error;
    (void)pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    error = pthread_create(&thread, &attr, lookup_main, lookup);
    (void)pthread_attr_destroy(&attr);
    return -error;
}

/* ---- the loop ----------------------------------------------------------- */

static lk__uv_lookup *
lookup_find(const lk__uv_world *world, const char *host, const char *service)
{
    lk__uv_lookup *lookup = world->lookups;

    while (lookup != NULL && (strcmp(lookup->host, host) != 0 ||
                              strcmp(lookup->service, service) != 0 ||
                              lookup->count == DIALS_MAX))
        lookup = lookup->next;
    return lookup;
}

static lk__uv_lookup *lookup_new(lk__uv_world *world, const char *host,
                                 const char *service, int *ret_error)
{
    size_t size = strlen(host) + 1;
    lk__uv_lookup *lookup = lk__alloc(sizeof(*lookup) + size);

    *ret_error = -ENOMEM;
    if (lookup == NULL)
        return NULL;
    (void)pthread_mutex_init(&lookup->mutex, NULL);
    lookup->world = world;
    memcpy(lookup->service, service, strlen(service) + 1);
    memcpy(lookup->host, host, size);
    *ret_error = thread_start(lookup);
    if (*ret_error != 0) {
        lookup_free(lookup);
        return NULL;
    }
    lookup->next = world->lookups;
    world->lookups = lookup;
    return lookup;
}

lk__uv_lookup *lk__uv_lookup_start(lk__uv_world *world, lk__uv_dial *dial,
                                   const char *host, uint16_t port,
                                   int *ret_error)
{
    char service[sizeof("65535")];
    lk__uv_lookup *lookup;

    (void)snprintf(service, sizeof(service), "%u", (unsigned)port);
    lookup = lookup_find(world, host, service);
    if (lookup == NULL)
        lookup = lookup_new(world, host, service, ret_error);
    if (lookup == NULL)
        return NULL;
    lookup->dials[lookup->count++] = dial;
    lookup->users++;
    return lookup;
}

void lk__uv_lookup_leave(lk__uv_lookup *lookup, lk__uv_dial *dial)
{
    size_t i = 0;

    while (i < lookup->count && lookup->dials[i] != dial)
        i++;
    if (i < lookup->count)
        lookup->dials[i] = lookup->dials[--lookup->count];
    if (--lookup->users == 0 && lookup->taken)
        lookup_free(lookup);
}

static bool is_over(lk__uv_lookup *lookup)
{
    bool over;

    (void)pthread_mutex_lock(&lookup->mutex);
    over = lookup->over;
    (void)pthread_mutex_unlock(&lookup->mutex);
    return over;
}

/* Its own user meanwhile: a dial that is told may leave at once. */
static void lookup_tell(lk__uv_lookup *lookup)
{
    lookup->taken = true;
    lookup->users++;
    while (lookup->count > 0)
        lk__uv_dial_found(lookup->dials[--lookup->count], lookup->error,
                          lookup->found);
    lk__uv_lookup_leave(lookup, NULL);
}

void lk__uv_lookups_work(lk__uv_world *world)
{
    lk__uv_lookup **at = &world->lookups;

    while (*at != NULL) {
        lk__uv_lookup *lookup = *at;

        if (!is_over(lookup)) {
            at = &lookup->next;
            continue;
        }
        *at = lookup->next;
        lookup_tell(lookup);
        at = &world->lookups; /* a dial may have begun another */
    }
}

void lk__uv_lookups_drop(lk__uv_world *world)
{
    lk__uv_lookup *lookup;
    bool over;

    while ((lookup = world->lookups) != NULL) {
        world->lookups = lookup->next;
        (void)pthread_mutex_lock(&lookup->mutex);
        lookup->world = NULL;
        over = lookup->over;
        (void)pthread_mutex_unlock(&lookup->mutex);
        if (over)
            lookup_free(lookup);
    }
}
