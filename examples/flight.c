/* SPDX-License-Identifier: MIT */

/*
 * A report that takes two seconds to make. Started many times at once, it is
 * made by one process, and all of them print it.
 *
 *   cc flight.c $(pkg-config --cflags --libs latchkey)
 *   for i in 1 2 3; do ./a.out redis://127.0.0.1 monday & done; wait
 */

#include <latchkey/latchkey.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Runs in one process. Twice would do no harm. */
static lk_status make_report(lk_flight_ticket *ticket, void *data)
{
    const char *day = data;
    const struct timespec two_seconds = {.tv_sec = 2};
    char text[128];

    printf("process %ld makes the report\n", (long)getpid());
    nanosleep(&two_seconds, NULL);
    snprintf(text, sizeof(text), "the report of %s, by process %ld", day,
             (long)getpid());
    return lk_flight_ticket_set(ticket, text, strlen(text));
}

int main(int argc, char **argv)
{
    const lk_flight_options options = {LK_FLIGHT_OPTIONS_INIT, .ttl_ms = 10000};
    lk_client *client = NULL;
    lk_flight *flight = NULL;
    lk_flight_value *value = NULL;
    lk_status status;

    if (argc != 3) {
        fprintf(stderr, "usage: %s URL DAY\n", argv[0]);
        return EXIT_FAILURE;
    }
    status = lk_client_open(&client, argv[1], NULL);
    if (status == LK_OK)
        status = lk_flight_new(&flight, client, "reports", &options);
    if (status == LK_OK)
        status = lk_flight_do(flight, argv[2], 10000, NULL, make_report,
                              argv[2], &value);
    if (status == LK_OK)
        printf("%s\n", (const char *)value->bytes);
    else
        fprintf(stderr, "reports: %s (%s)\n", lk_status_text(status),
                lk_last_error());
    lk_flight_value_free(value);
    lk_flight_free(flight);
    lk_client_free(client);
    return status == LK_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
