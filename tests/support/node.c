/* SPDX-License-Identifier: MIT */
#include "support/node.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/wait.h"

enum { OK_MS = 60000 };

/* Redis 6.2 takes no ranges. Free with free(). */
static char *own_command(unsigned first, unsigned last)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    if (out == NULL)
        return NULL;
    (void)fputs("CLUSTER ADDSLOTS", out);
    for (unsigned slot = first; slot <= last; slot++)
        (void)fprintf(out, " %u", slot);
    return fclose(out) == 0 ? text : NULL;
}

bool node_own(server *node, unsigned first, unsigned last)
{
    char *command = own_command(first, last);
    redisReply *reply = command != NULL ? server_ask(node, command) : NULL;
    bool is_done = reply != NULL && reply->type == REDIS_REPLY_STATUS;

    if (!is_done)
        (void)fprintf(stderr, "node: it does not get its slots: %s\n",
                      reply != NULL && reply->str != NULL ? reply->str : "");
    freeReplyObject(reply);
    free(command);
    return is_done;
}

bool node_says(server *node, const char *command, const char *words)
{
    redisReply *reply = server_ask(node, command);
    bool says = reply != NULL && reply->str != NULL &&
                strstr(reply->str, words) != NULL;

    freeReplyObject(reply);
    return says;
}

bool node_is_ok(server *node)
{
    return node_says(node, "CLUSTER INFO", "cluster_state:ok");
}

static bool is_ok(void *data)
{
    return node_is_ok(data);
}

bool node_wait_ok(server *node)
{
    if (wait_until(is_ok, node, OK_MS))
        return true;
    (void)fprintf(stderr, "node: it does not serve its slots\n");
    return false;
}

long long node_info(server *node, const char *field)
{
    char *text = server_string(node, "CLUSTER INFO");
    const char *at = text;
    long long number = 0;
    size_t size = strlen(field);

    for (; at != NULL; at = strchr(at, '\n')) {
        at += *at == '\n';
        if (strncmp(at, field, size) == 0 && at[size] == ':')
            number = strtoll(at + size + 1, NULL, 10);
    }
    free(text);
    return number;
}
