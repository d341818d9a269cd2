/* SPDX-License-Identifier: MIT */

/* What a client does for its user; see work.h. */

#include "claims/work.h"

#include "base/mem.h"
#include "claims/cluster.h"
#include "claims/node.h"
#include "claims/wait.h"
#include "claims/watchdog.h"

static void settle(lk_client *client)
{
    for (lk__node *node = client->node; node != NULL; node = node->next) {
        if (node->due.first != NULL)
            lk__watchdog_flush(node);
        if (node->pace.first != NULL)
            lk__pace_go(node);
    }
}

static void send_queued(lk_client *client)
{
    for (lk__node *node = client->node; node != NULL; node = node->next)
        lk__node_flush(node);
    lk__cluster_flush(client->work->cluster);
}

static void read_own(lk_client *client, lk__parking *parking, const bool *done,
                     uint64_t until)
{
    lk__node *asked = NULL;

    for (lk__node *node = client->node; node != NULL; node = node->next) {
        if (node->command.first == NULL)
            continue;
        if (asked != NULL)
            return; /* whose answer it waits for is not known here */
        asked = node;
    }
    if (asked != NULL)
        lk__conn_read(&asked->command, parking, done, until);
}

static void cancel(lk_client *client)
{
    lk__waits_cancel(client);
    for (lk__node *node = client->node; node != NULL; node = node->next)
        lk__needs_cancel(node);
}

static void explain(const lk_client *client, lk_status status,
                    const char *words, char *text, size_t size)
{
    lk__node_words(lk__node_that_said(client, words), status, words, text,
                   size);
}

static void free_work(lk_client *client)
{
    lk__work *work = client->work;

    while (client->node != NULL) {
        lk__node *node = client->node;

        client->node = node->next;
        lk__node_free(node);
    }
    if (work == NULL)
        return;
    lk__cluster_free(work->cluster);
    lk__table_done(&work->claims);
    lk__table_done(&work->topics);
    lk__table_done(&work->places_by_name);
    lk__free(work->kinds);
    lk__question_done(&work->question);
    lk__free(work);
}

static const lk__upper upper = {.settle = settle,
                                .send = send_queued,
                                .read = read_own,
                                .cancel = cancel,
                                .free = free_work,
                                .explain = explain};

bool lk__work_new(lk_client *client)
{
    client->upper = &upper;
    client->work = lk__alloc(sizeof(*client->work));
    client->node = client->work != NULL ? lk__node_new(client, NULL) : NULL;
    return client->node != NULL && lk__cluster_new(client);
}
