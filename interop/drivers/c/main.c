/* SPDX-License-Identifier: MIT */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver.h"

int64_t number_of(const char *text, int64_t otherwise)
{
    char *end = NULL;
    long long number = text != NULL ? strtoll(text, &end, 10) : 0;

    return end != text && *end == '\0' ? number : otherwise;
}

static void on_log(lk_log_level level, const char *text, void *data)
{
    (void)level;
    (void)data;
    (void)fprintf(stderr, "latchkey: %s\n", text);
}

/* LATCHKEY_INTEROP=redisson has the option of that name. LOCK_WATCHDOG_MS is
   the lease of holds that name none. */
static lk_status
open_client(lk_client **client, const char *url, uint64_t lease_ms)
{
    const char *interop = getenv("LATCHKEY_INTEROP");
    lk_client_options options = {LK_CLIENT_OPTIONS_INIT, .log = on_log,
                                 .watchdog_ms = lease_ms};
    lk_status status;

    if (interop != NULL && strcmp(interop, "redisson") == 0)
        options.interop = LK_INTEROP_REDISSON;
    status = lk_client_open(client, url, &options);
    return status == LK_OK ? lk_client_wait_ready(*client, 10000) : status;
}

/* A client for each URL of a list with commas. */
static bool servers_open(servers *all, char *urls)
{
    const char *lease = getenv("LOCK_WATCHDOG_MS");
    const char *url;

    all->lease_ms = (uint64_t)number_of(lease, 0);
    while ((url = strtok_r(urls, ",", &urls)) != NULL) {
        if (all->count == SERVERS_MAX ||
            open_client(&all->clients[all->count], url, all->lease_ms) != LK_OK)
            return false;
        all->count++;
    }
    return all->count > 0;
}

int main(int argc, char **argv)
{
    servers all = {.count = 0};
    int code = 2;

    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    if (argc < 3 || !servers_open(&all, argv[2])) {
        (void)fprintf(stderr,
                      "usage: driver repl|loop URL[,URL]... [KEY=VALUE...]\n");
        return 2;
    }
    puts("ready");
    if (strcmp(argv[1], "repl") == 0)
        code = repl_run(&all);
    else if (strcmp(argv[1], "loop") == 0)
        code = loop_run(&all, argv + 3);
    for (size_t i = 0; i < all.count; i++) {
        (void)lk_client_shutdown(all.clients[i], 2000);
        lk_client_free(all.clients[i]);
    }
    return code;
}
