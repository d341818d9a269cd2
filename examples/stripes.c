/* SPDX-License-Identifier: MIT */

/*
 * Works on users, two at a time, with 64 locks for all there are. Run it
 * several times at once, with whatever users in whatever order.
 *
 *   cc stripes.c $(pkg-config --cflags --libs latchkey)
 *   ./a.out alice bob & ./a.out bob carol
 *
 * LATCHKEY_URL names the server; redis://127.0.0.1 is the default.
 */

#include <latchkey/latchkey.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { STRIPES = 64, WAIT_MS = 60000, ROUNDS = 5 };

static lk_status work(lk_stripes *stripes, const char *const users[2])
{
    lk_hold *hold = NULL;
    lk_status status =
        lk_stripes_acquire_many(stripes, users, 2, WAIT_MS, NULL, &hold);

    if (status != LK_OK)
        return status;
    for (size_t i = 0; i < 2; i++)
        printf("process %ld has %s, fence %" PRIu64 "\n", (long)getpid(),
               users[i], lk_multilock_fence(hold, i));
    fflush(stdout);
    usleep(200000);
    return lk_hold_release(hold);
}

int main(int argc, char **argv)
{
    const char *url = getenv("LATCHKEY_URL");
    const char *const users[2] = {argc > 1 ? argv[1] : "alice",
                                  argc > 2 ? argv[2] : "bob"};
    lk_stripes_options options = {LK_STRIPES_OPTIONS_INIT, .count = STRIPES};
    lk_client *client = NULL;
    lk_stripes *stripes = NULL;
    lk_status status =
        lk_client_open(&client, url != NULL ? url : "redis://127.0.0.1", NULL);

    if (status == LK_OK)
        status = lk_stripes_new(&stripes, client, "users", &options);
    for (int i = 0; i < ROUNDS && status == LK_OK; i++)
        status = work(stripes, users);
    if (status != LK_OK)
        fprintf(stderr, "stripes: %s (%s)\n", lk_status_text(status),
                lk_last_error());

    lk_stripes_free(stripes);
    lk_client_free(client);
    return status == LK_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
