/* SPDX-License-Identifier: MIT */

/*
 * Holds a lock on most of several independent servers, and tells what each of
 * them said. Kill one of them meanwhile: nothing happens. Kill most of them,
 * and the holder is told to stop.
 *
 *   cc redlock.c $(pkg-config --cflags --libs latchkey)
 *   ./a.out redis://host1 redis://host2 redis://host3
 */

#include <latchkey/latchkey.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { WAIT_MS = 10000, WORK_S = 5 };

static void tell_outcomes(lk_redlock *lock, size_t count)
{
    static const char *const answers[] = {"pending",     "granted",
                                          "busy",        "unreachable",
                                          "quarantined", "duplicate",
                                          "error"};

    for (size_t i = 0; i < count; i++) {
        lk_redlock_outcome outcome = {.size = sizeof(outcome)};

        if (lk_redlock_outcome_get(lock, i, &outcome) == LK_OK)
            printf("server %zu: %s %s\n", i, answers[outcome.answer],
                   outcome.words);
    }
}

/* In small pieces, with a look before each. */
static lk_status work(lk_hold *hold, void *data)
{
    (void)data;
    for (int i = 0; i < WORK_S; i++) {
        if (lk_hold_check(hold) != LK_OK)
            return LK_ELOST;
        printf("valid for %" PRIu64 " ms\n", lk_hold_remaining_ms(hold));
        sleep(1);
    }
    return LK_OK;
}

int main(int argc, char **argv)
{
    /* The servers of this example may be young and are worth nothing. */
    const lk_redlock_options options = {LK_REDLOCK_OPTIONS_INIT, .durable = 1};
    lk_client *clients[LK_REDLOCK_NODES_MAX] = {NULL};
    size_t count = argc > 1 ? (size_t)argc - 1 : 0;
    lk_redlock *lock = NULL;
    lk_status status = LK_OK;

    if (count > LK_REDLOCK_NODES_MAX)
        count = LK_REDLOCK_NODES_MAX;
    for (size_t i = 0; i < count && status == LK_OK; i++)
        status = lk_client_open(&clients[i], argv[i + 1], NULL);
    if (status == LK_OK)
        status = lk_redlock_new(&lock, clients, count, "report", &options);
    if (status == LK_OK)
        status = lk_redlock_run(lock, WAIT_MS, NULL, work, NULL);
    if (status != LK_OK)
        fprintf(stderr, "redlock: %s (%s)\n", lk_status_text(status),
                lk_last_error());
    if (lock != NULL)
        tell_outcomes(lock, count);

    lk_redlock_free(lock);
    for (size_t i = 0; i < count; i++)
        lk_client_free(clients[i]);
    return status == LK_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
