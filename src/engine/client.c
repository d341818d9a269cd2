/* SPDX-License-Identifier: MIT */

/* What a client is to its parts: time, chance, the log, and its own life. */

#include "engine/client.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "base/mem.h"

uint64_t lk__client_now(const lk_client *client)
{
    return client->world->class->now(client->world);
}

uint64_t lk__client_random(lk_client *client, uint64_t limit)
{
    uint64_t number = 0;

    if (!client->world->class->random(client->world, &number, sizeof(number)))
        number = lk__client_now(client); /* better than none */
    return limit == 0 ? 0 : number % limit;
}

void lk__client_log(lk_client *client, lk_log_level level, const char *format,
                    ...)
{
    char text[512];
    va_list args;

    if (client->settings.log == NULL || level > client->settings.log_level)
        return;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    for (char *at = text; *at != '\0'; at++) {
        if ((unsigned char)*at < 0x20 || *at == 0x7f)
            *at = '?'; /* a name may hold any bytes */
    }
    client->settings.log(level, text, client->settings.log_data);
}

/* The world has ended. */
static void destroy(void *data)
{
    lk_client *client = data;

    if (client->upper != NULL)
        client->upper->free(client);
    if (client->dispatch_fd >= 0)
        close(client->dispatch_fd);
    lk__settings_done(&client->settings);
    pthread_cond_destroy(&client->post_done);
    pthread_mutex_destroy(&client->mutex);
    lk__free(client);
}

lk_client *lk__client_ref(lk_client *client)
{
    client->refs++;
    return client;
}

void lk__client_unref(lk_client *client)
{
    lk__world *world = client->world;

    if (--client->refs > 0)
        return;
    if (world->class->is_any_loop(world)) {
        world->class->stop_later(world, destroy, client);
        return;
    }
    world->class->stop(world);
    destroy(client);
}
