/* SPDX-License-Identifier: MIT */

/*
 * The members of a deployment start together or not at all: each says that it
 * is ready and starts when all have said so within a minute.
 *
 *   cc fleet_start.c $(pkg-config --cflags --libs latchkey)
 *   ./a.out release-42 web-1 2 redis://127.0.0.1 &
 *   ./a.out release-42 web-2 2 redis://127.0.0.1
 */

#include <latchkey/latch.h>

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { WAIT_MS = 60000, DAY_MS = 86400000 };

static int fail(const char *what, lk_status status)
{
    fprintf(stderr, "%s: %s (%s)\n", what, lk_status_text(status),
            lk_last_error());
    return EXIT_FAILURE;
}

static int start(const char *member)
{
    printf("%s starts with all the others\n", member);
    return EXIT_SUCCESS;
}

/*
 * A member that stops waiting takes its word back, so that the others do not start
 * without it. If they did in that very moment, it starts as well.
 */
static int give_up(lk_latch *latch, const char *member)
{
    bool is_open;
    lk_status status;

    do
        status = lk_latch_leave(latch, member, &is_open);
    while (lk_status_is_retriable(status));
    if (status != LK_OK)
        return fail("leave; the others may start", status);
    if (is_open)
        return start(member);
    fprintf(stderr, "%s: not everybody came; nobody starts\n", member);
    return EXIT_FAILURE;
}

static int start_together(lk_latch *latch, const char *member, uint64_t size)
{
    lk_status status;

    do /* a member counts once, however often it says so */
        status = lk_latch_arrive(latch, size, member);
    while (lk_status_is_retriable(status));
    if (status != LK_OK)
        return fail("arrive", status);

    status = lk_latch_wait(latch, WAIT_MS, NULL);
    if (status == LK_OK)
        return start(member);
    fprintf(stderr, "%s: %s\n", member, lk_status_text(status));
    return give_up(latch, member);
}

int main(int argc, char **argv)
{
    const char *url = argc > 4 ? argv[4] : getenv("LATCHKEY_URL");
    const lk_latch_options options = {LK_LATCH_OPTIONS_INIT, .ttl_ms = DAY_MS};
    lk_client *client = NULL;
    lk_latch *latch = NULL;
    lk_status status;
    int exit_code;

    if (argc < 4 || !url) {
        fprintf(stderr, "usage: fleet_start DEPLOYMENT MEMBER SIZE [URL]\n");
        return EXIT_FAILURE;
    }

    status = lk_client_open(&client, url, NULL);
    if (status == LK_OK)
        status = lk_latch_new(&latch, client, argv[1], &options);
    if (status == LK_OK)
        exit_code = start_together(latch, argv[2], strtoull(argv[3], NULL, 10));
    else
        exit_code = fail("open", status);

    lk_latch_free(latch);
    lk_client_free(client);
    return exit_code;
}
