/* SPDX-License-Identifier: MIT */

/*
 * Lists the names in use on a server, and who has them.
 *
 *   cc inspect.c $(pkg-config --cflags --libs latchkey)
 *   ./a.out redis://127.0.0.1 'orders:*'
 */

#include <latchkey/latchkey.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static void print_entry(const lk_entry *entry)
{
    const lk_party *holder = entry->holder;

    printf("%s: %s, %" PRIu64 " hold, %" PRIu64 " wait", entry->name,
           lk_kind_text(entry->kind), entry->holder_count, entry->waiter_count);
    if (entry->has_value)
        printf(", %" PRId64 " left", entry->value);
    if (holder != NULL)
        printf(", %s on %s, pid %" PRIu64 ", for %" PRIu64 " ms",
               holder->command, holder->host, holder->pid, holder->since_ms);
    printf("\n");
}

int main(int argc, char **argv)
{
    const char *url = argc > 1 ? argv[1] : getenv("LATCHKEY_URL");
    lk_list_options options = {LK_LIST_OPTIONS_INIT,
                               .pattern = argc > 2 ? argv[2] : NULL};
    lk_client *client = NULL;
    lk_listing *listing = NULL;
    lk_status status = lk_client_open(&client, url, NULL);

    if (status == LK_OK)
        status = lk_list(client, 10000, &options, &listing);
    if (status == LK_OK) {
        for (size_t i = 0; i < listing->count; i++)
            print_entry(listing->entries[i]);
        lk_listing_free(listing);
    } else {
        fprintf(stderr, "inspect: %s (%s)\n", lk_status_text(status),
                lk_last_error());
    }
    lk_client_free(client);
    return status == LK_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
