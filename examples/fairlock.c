/* SPDX-License-Identifier: MIT */

/*
 * Takes turns: whoever comes again stands behind all who wait. Run it two or
 * three times at once, and no process has two turns in a row.
 *
 *   cc fairlock.c $(pkg-config --cflags --libs latchkey)
 *   ./a.out redis://127.0.0.1 & ./a.out redis://127.0.0.1
 */

#include <latchkey/latchkey.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { TURNS = 5, WORK_S = 1, WAIT_MS = 60000 };

/* Runs while nobody else does. */
static lk_status work(lk_hold *hold, void *data)
{
    const int *turn = data;

    printf("process %ld, turn %d, fence %" PRIu64 "\n", (long)getpid(), *turn,
           lk_hold_fence(hold));
    fflush(stdout);
    sleep(WORK_S);
    return lk_hold_check(hold);
}

int main(int argc, char **argv)
{
    const char *url = argc > 1 ? argv[1] : getenv("LATCHKEY_URL");
    lk_client *client = NULL;
    lk_fairlock *lock = NULL;
    lk_status status = lk_client_open(&client, url, NULL);

    if (status == LK_OK)
        status = lk_fairlock_new(&lock, client, "printer:3", NULL);
    for (int turn = 1; turn <= TURNS && status == LK_OK; turn++)
        status = lk_fairlock_run(lock, WAIT_MS, NULL, work, &turn);
    if (status != LK_OK)
        fprintf(stderr, "fairlock: %s (%s)\n", lk_status_text(status),
                lk_last_error());

    lk_fairlock_free(lock);
    lk_client_free(client);
    return status == LK_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
