/* SPDX-License-Identifier: MIT */

/* What is said of a server to people. */

#include <stdio.h>
#include <string.h>

#include "claims/node.h"
#include "claims/work.h"
#include "engine/client.h"

void lk__node_address(const lk__node *node, char text[LK__NODE_ADDRESS])
{
    const lk__address *address = &node->address;
    bool colons = address->host != NULL && strchr(address->host, ':') != NULL;

    if (address->path != NULL)
        snprintf(text, LK__NODE_ADDRESS, "unix:%.100s", address->path);
    else if (address->host == NULL && node->client->work->cluster != NULL)
        snprintf(text, LK__NODE_ADDRESS, "the cluster's master");
    else if (address->host == NULL)
        snprintf(text, LK__NODE_ADDRESS, "Sentinel's master '%.90s'",
                 node->client->settings.master);
    else
        snprintf(text, LK__NODE_ADDRESS, "%s%.100s%s:%u", colons ? "[" : "",
                 address->host, colons ? "]" : "", (unsigned)address->port);
}

const char *lk__node_why_not(const lk__node *node)
{
    if (!lk__node_is_ready(node) || lk__node_gives(node))
        return NULL;
    return "the master has changed or begun again, or a majority of sentinels, "
           "or of the cluster's masters, does not name it: nothing new is "
           "taken "
           "from it yet";
}

/* The server was not reached, and that is why it ended. */
static bool
is_out_of_reach(const lk__conn *conn, lk_status status, const char *words)
{
    return (status == LK_EOFFLINE || status == LK_ETIMEDOUT ||
            status == LK_EPENDING) &&
           conn->state != LK__CONN_READY &&
           (words == NULL || words == conn->words);
}

/* The server names a command that it denies, but no key and no channel. Words that
   were told of once may come again, as of a wait that an answer ends. */
static bool is_vague(lk_status status, const char *words)
{
    return status == LK_EDENIED && words != NULL &&
           strstr(words, "permissions to run the '") == NULL &&
           strstr(words, "; ACL LOG ") == NULL;
}

const lk__node *lk__node_that_said(const lk_client *client, const char *words)
{
    for (const lk__node *node = client->node; node != NULL; node = node->next) {
        if (words == node->command.words)
            return node;
    }
    return client->node;
}

void lk__node_words(const lk__node *node, lk_status status, const char *words,
                    char *text, size_t size)
{
    const lk__conn *conn = &node->command;
    char address[LK__NODE_ADDRESS];

    if (is_vague(status, words)) {
        snprintf(text, size, "%.150s; ACL LOG at the server tells what", words);
        return;
    }
    if (!is_out_of_reach(conn, status, words)) {
        snprintf(text, size, "%s",
                 words != NULL ? words : lk_status_text(status));
        return;
    }
    lk__node_address(node, address);
    if (status != LK_EOFFLINE)
        snprintf(text, size, "%s: %s cannot be %s: %s", lk_status_text(status),
                 address, conn->why == LK_EOFFLINE ? "reached" : "used",
                 conn->words);
    else
        snprintf(text, size, "%s cannot be reached: %s", address, conn->words);
}
