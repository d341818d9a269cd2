/* SPDX-License-Identifier: MIT */
#include "support/resolver.h"

#include <dlfcn.h>
#include <netdb.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "support/wait.h"

enum { NAMES_MAX = 8, ADDRESSES_MAX = 4 };

typedef int (*lookup)(const char *host, const char *service,
                      const struct addrinfo *hints, struct addrinfo **ret_list);

static struct {
    const char *name;
    const char *addresses[ADDRESSES_MAX];
} names[NAMES_MAX];

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t opened = PTHREAD_COND_INITIALIZER;
static bool closed;
static unsigned hanging; /* look-ups at the gate */

void resolver_name(const char *name, const char *const *addresses)
{
    size_t i, k;

    (void)pthread_mutex_lock(&mutex);
    for (i = 0; names[i].name != NULL && strcmp(names[i].name, name) != 0; i++)
        if (i == NAMES_MAX - 1)
            abort();
    names[i].name = name;
    memset(names[i].addresses, 0, sizeof(names[i].addresses));
    for (k = 0; k < ADDRESSES_MAX && addresses[k] != NULL; k++)
        names[i].addresses[k] = addresses[k];
    (void)pthread_mutex_unlock(&mutex);
}

void resolver_close_gate(void)
{
    (void)pthread_mutex_lock(&mutex);
    closed = true;
    (void)pthread_mutex_unlock(&mutex);
}

void resolver_open_gate(void)
{
    (void)pthread_mutex_lock(&mutex);
    closed = false;
    (void)pthread_cond_broadcast(&opened);
    (void)pthread_mutex_unlock(&mutex);
}

static bool is_hanging(void *data)
{
    bool hangs;

    (void)data;
    (void)pthread_mutex_lock(&mutex);
    hangs = hanging > 0;
    (void)pthread_mutex_unlock(&mutex);
    return hangs;
}

bool resolver_wait_hanging(void)
{
    return wait_until(is_hanging, NULL, 10000);
}

static lookup real_lookup(void)
{
    lookup real;
    void *symbol = dlsym(RTLD_NEXT, "getaddrinfo");

    memcpy(&real, &symbol, sizeof(real));
    return real;
}

/* The addresses of one name as one list. */
static int list_make(size_t at, const char *service, struct addrinfo **ret_list)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
                                   .ai_flags = AI_NUMERICHOST};
    struct addrinfo *list = NULL, **end = &list;
    lookup real = real_lookup();
    size_t i;

    for (i = 0; i < ADDRESSES_MAX && names[at].addresses[i] != NULL; i++) {
        if (real(names[at].addresses[i], service, &hints, end) != 0)
            abort();
        end = &(*end)->ai_next;
    }
    if (list == NULL)
        return EAI_NONAME;
    *ret_list = list;
    return 0;
}

int resolver_lookup(const char *host, const char *service,
                    const struct addrinfo *hints, struct addrinfo **ret_list)
{
    size_t i;
    int error;

    if (hints != NULL && (hints->ai_flags & AI_NUMERICHOST))
        return real_lookup()(host, service, hints, ret_list);
    for (i = 0; i < NAMES_MAX && names[i].name != NULL; i++) {
        if (host == NULL || strcmp(names[i].name, host) != 0)
            continue;
        (void)pthread_mutex_lock(&mutex);
        hanging++;
        while (closed)
            (void)pthread_cond_wait(&opened, &mutex);
        hanging--;
        error = list_make(i, service, ret_list);
        (void)pthread_mutex_unlock(&mutex);
        return error;
    }
    return real_lookup()(host, service, hints, ret_list);
}
