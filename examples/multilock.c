/* SPDX-License-Identifier: MIT */

/*
 * Moves money between accounts. Each transfer holds both accounts, and reads
 * the rates that it goes by; run it several times at once with whatever
 * accounts in whatever order, and none waits for ever.
 *
 *   cc multilock.c $(pkg-config --cflags --libs latchkey)
 *   ./a.out alice bob & ./a.out bob alice & ./a.out carol alice
 *
 * LATCHKEY_URL names the server; redis://127.0.0.1 is the default.
 */

#include <latchkey/latchkey.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { TRANSFERS = 5, WAIT_MS = 60000 };

typedef struct transfer {
    const char *from, *to;
} transfer;

/* Runs while nobody else has either account, or changes the rates. */
static lk_status move(lk_hold *hold, void *data)
{
    const transfer *t = data;

    printf("process %ld: %s (fence %" PRIu64 ") to %s (fence %" PRIu64 ")\n",
           (long)getpid(), t->from, lk_multilock_fence(hold, 0), t->to,
           lk_multilock_fence(hold, 1));
    fflush(stdout);
    usleep(200000);
    return lk_hold_check(hold); /* before the write */
}

/* The order in which they are added does not matter. */
static lk_status
members_add(lk_multilock *both, lk_lock *from, lk_lock *to, lk_rwlock *rates)
{
    lk_status status = lk_multilock_add_lock(both, from);

    if (status == LK_OK)
        status = lk_multilock_add_lock(both, to);
    if (status == LK_OK)
        status = lk_multilock_add_read(both, rates);
    return status;
}

int main(int argc, char **argv)
{
    const char *url = getenv("LATCHKEY_URL");
    transfer t = {argc > 1 ? argv[1] : "alice", argc > 2 ? argv[2] : "bob"};
    lk_client *client = NULL;
    lk_lock *from = NULL, *to = NULL;
    lk_rwlock *rates = NULL;
    lk_multilock *both = NULL;
    lk_status status =
        lk_client_open(&client, url != NULL ? url : "redis://127.0.0.1", NULL);

    if (status == LK_OK)
        status = lk_lock_new(&from, client, t.from, NULL);
    if (status == LK_OK)
        status = lk_lock_new(&to, client, t.to, NULL);
    if (status == LK_OK)
        status = lk_rwlock_new(&rates, client, "rates", NULL);
    if (status == LK_OK)
        status = lk_multilock_new(&both);
    if (status == LK_OK)
        status = members_add(both, from, to, rates);
    for (int i = 0; i < TRANSFERS && status == LK_OK; i++)
        status = lk_multilock_run(both, WAIT_MS, NULL, move, &t);
    if (status != LK_OK)
        fprintf(stderr, "multilock: %s (%s)\n", lk_status_text(status),
                lk_last_error());

    lk_multilock_free(both);
    lk_rwlock_free(rates);
    lk_lock_free(from);
    lk_lock_free(to);
    lk_client_free(client);
    return status == LK_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
