/* SPDX-License-Identifier: MIT */
#include "support/siglocking.h"

#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/wait.h"

enum { SOON_MS = 5000 };

static void free_pylock(void *handle)
{
    pylock_free(handle);
}

static const kind kind_pylock = {.free = free_pylock};

pylock *sig_pylock(locking *f, const char *id, int expire_s)
{
    return locking_keep(f, &kind_pylock, NULL,
                        pylock_new(f->server, "n", id, expire_s));
}

typedef struct number {
    locking *f;
    long long expected, found;
} number;

static bool is_blocked(void *data)
{
    number *n = data;
    char *info = server_string(n->f->server, "INFO clients");
    const char *at = strstr(info, "\nblocked_clients:");

    n->found = at == NULL ? -1 : strtoll(at + 17, NULL, 10);
    free(info);
    return n->found == n->expected;
}

void sig_wait_blocked(locking *f, long long count)
{
    number n = {f, count, 0};

    if (!wait_until(is_blocked, &n, SOON_MS))
        fail_msg("%lld are blocked, not %lld", n.found, count);
}

char *sig_holder(locking *f)
{
    char *holder = server_string(f->server, "GET lock:n");

    return holder != NULL ? holder : strdup("");
}

void sig_assert_clean(locking *f)
{
    locking_wait_integer(f, 0, "EXISTS %s", "lock:n");
    for (size_t i = 0; i < f->client_count; i++) {
        if (f->clients[i] != NULL)
            locking_wait_waiting(f->clients[i], 0);
    }
}
