/* SPDX-License-Identifier: MIT */

/*
 * Takes a lock, works under it, gives it back.
 *
 *   cc lock.c $(pkg-config --cflags --libs latchkey)
 *   ./a.out redis://127.0.0.1 & ./a.out redis://127.0.0.1
 */

#include <latchkey/latchkey.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    const char *url = argc > 1 ? argv[1] : getenv("LATCHKEY_URL");
    lk_client *client = NULL;
    lk_lock *lock = NULL;
    lk_hold *hold = NULL;
    lk_status status = lk_client_open(&client, url, NULL);

    if (status == LK_OK)
        status = lk_lock_new(&lock, client, "orders:1234", NULL);
    if (status == LK_OK)
        status = lk_lock_acquire(lock, 10000, NULL, &hold);
    if (status == LK_OK) {
        /* Before every write: is it still ours? With every write: the fence. */
        for (int line = 1; line <= 3 && lk_hold_check(hold) == LK_OK; line++)
            printf("line %d, fence %" PRIu64 "\n", line, lk_hold_fence(hold));
        status = lk_hold_release(hold);
    }
    if (status != LK_OK)
        fprintf(stderr, "lock: %s (%s)\n", lk_status_text(status),
                lk_last_error());

    lk_lock_free(lock);
    lk_client_free(client);
    return status == LK_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
