/* SPDX-License-Identifier: MIT */

/*
 * An account that several processes change: `add 5` reads the balance, adds,
 * and writes it if nobody has written in between, else begins again. `close`
 * takes the account's lock and empties it under its fence: if this process is
 * stopped for too long, the write is refused, whatever it believes.
 *
 *   cc cell.c $(pkg-config --cflags --libs latchkey)
 *   ./a.out redis://127.0.0.1 add 5; ./a.out redis://127.0.0.1 close
 */

#include <latchkey/latchkey.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* May run several times: it does nothing but think. */
static lk_status add(const lk_cell_value *old, lk_cell_draft *draft, void *data)
{
    long long balance = old == NULL ? 0 : strtoll(old->bytes, NULL, 10);
    const long long *amount = data;
    char text[32];

    snprintf(text, sizeof(text), "%lld", balance + *amount);
    return lk_cell_draft_set(draft, text, strlen(text));
}

/* The lock is in the cell's slot, so the server sees whether it is held. */
static lk_status close_account(lk_client *client, lk_cell *cell)
{
    lk_lock *lock = NULL;
    lk_hold *hold = NULL;
    lk_status status = lk_lock_new(&lock, client, "account:7", NULL);

    if (status == LK_OK)
        status = lk_lock_acquire(lock, 10000, NULL, &hold);
    if (status == LK_OK) {
        lk_status released;

        status = lk_cell_write_guarded(cell, hold, LK_CELL_ANY, "0", 1, NULL);
        released = lk_hold_release(hold);
        if (status == LK_OK)
            status = released;
    }
    lk_lock_free(lock);
    return status;
}

static lk_status show(lk_cell *cell)
{
    lk_cell_value *value = NULL;
    lk_status status = lk_cell_read(cell, &value);

    if (status == LK_OK)
        printf("balance %s\n", (const char *)value->bytes);
    lk_cell_value_free(value);
    return status;
}

static lk_status act(lk_client *client, lk_cell *cell, int argc, char **argv)
{
    long long amount = argc > 3 ? strtoll(argv[3], NULL, 10) : 0;
    lk_status status;

    if (strcmp(argv[2], "add") == 0)
        status = lk_cell_update(cell, NULL, add, &amount, NULL);
    else
        status = close_account(client, cell);
    return status == LK_OK ? show(cell) : status;
}

int main(int argc, char **argv)
{
    lk_client *client = NULL;
    lk_cell *cell = NULL;
    lk_status status;

    if (argc < 3) {
        fprintf(stderr, "usage: %s URL add AMOUNT | close\n", argv[0]);
        return EXIT_FAILURE;
    }
    status = lk_client_open(&client, argv[1], NULL);
    if (status == LK_OK)
        status = lk_cell_new(&cell, client, "{account:7}:balance", NULL);
    if (status == LK_OK)
        status = act(client, cell, argc, argv);
    if (status != LK_OK)
        fprintf(stderr, "account: %s (%s)\n", lk_status_text(status),
                lk_last_error());
    lk_cell_free(cell);
    lk_client_free(client);
    return status == LK_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
