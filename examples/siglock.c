/* SPDX-License-Identifier: MIT */

/*
 * Shares a lock with Python: waits for it, holds it for a moment, releases it.
 *
 *   cc siglock.c $(pkg-config --cflags --libs latchkey)
 *   ./a.out redis://127.0.0.1 report 5
 *
 * and at the same time, with python-redis-lock:
 *
 *   with redis_lock.Lock(redis.StrictRedis(), "report", expire=30):
 *       write_the_report()
 */

#include <latchkey/latchkey.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* The layout has no fence, so all that is sure is the time that is left. */
static lk_status work(lk_hold *hold, void *data)
{
    const unsigned *seconds = data;

    printf("process %ld has it, for %" PRIu64 " ms unless renewed\n",
           (long)getpid(), lk_hold_remaining_ms(hold));
    fflush(stdout);
    sleep(*seconds);
    return lk_hold_check(hold);
}

int main(int argc, char **argv)
{
    const char *url = argc > 1 ? argv[1] : getenv("LATCHKEY_URL");
    const char *name = argc > 2 ? argv[2] : "report";
    unsigned seconds = argc > 3 ? (unsigned)strtoul(argv[3], NULL, 10) : 1;
    lk_client *client = NULL;
    lk_siglock *lock = NULL;
    lk_status status = lk_client_open(&client, url, NULL);

    if (status == LK_OK)
        status = lk_siglock_new(&lock, client, name, NULL);
    if (status == LK_OK)
        status = lk_siglock_run(lock, LK_FOREVER, NULL, work, &seconds);
    if (status != LK_OK)
        fprintf(stderr, "siglock: %s (%s)\n", lk_status_text(status),
                lk_last_error());

    lk_siglock_free(lock);
    lk_client_free(client);
    return status == LK_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
