/* SPDX-License-Identifier: MIT */

/*
 * The commands of a probe. Of one server each is sent once. In a cluster one
 * follows its slot, and one that cannot be asked waits, and is sent again.
 */

#include <stdio.h>
#include <string.h>

#include "base/container.h"
#include "base/mem.h"
#include "base/slot.h"
#include "claims/ask.h"
#include "claims/cluster.h"
#include "claims/node.h"
#include "claims/work.h"
#include "inspect/probe.h"

#define MS UINT64_C(1000000)

enum {
    AGAIN_MS = 50, /* a command that could not be asked is sent again, */
    TURNS_MOST = 4 /* and at once if it is only to go elsewhere */
};

static bool is_cluster(const lk__probe *probe)
{
    return probe->call.client->work->cluster != NULL;
}

static lk__node *node_of(const lk__probing *probing)
{
    const lk_client *client = probing->probe->call.client;

    return probing->node != NULL
               ? probing->node
               : lk__cluster_node_of(client, probing->args[1].bytes,
                                     probing->args[1].size);
}

static void args_drop(lk__probing *probing)
{
    lk__free(probing->args);
    probing->args = NULL;
}

/* ---- what is missing ---------------------------------------------------------- */

struct lk__missed {
    struct lk__missed *next;
    const lk__node *node; /* NULL: words alone */
    char words[320];
};

void lk__probe_forget_missed(lk__probe *probe)
{
    struct lk__missed *missed;

    while ((missed = probe->missed) != NULL) {
        probe->missed = missed->next;
        lk__free(missed);
    }
}

void lk__probe_sift_missed(lk__probe *probe)
{
    struct lk__missed **at = &probe->missed;

    while (*at != NULL) {
        struct lk__missed *missed = *at;

        if (missed->node == NULL || missed->node->slot_count > 0) {
            at = &missed->next;
            continue;
        }
        *at = missed->next;
        lk__free(missed);
    }
}

static bool is_noted(const lk__probe *probe, const lk__node *node)
{
    for (const struct lk__missed *missed = probe->missed; missed != NULL;
         missed = missed->next) {
        if (node != NULL && missed->node == node)
            return true;
    }
    return false;
}

void lk__probe_note(lk__probe *probe, const lk__node *node, const char *words)
{
    const lk_client *client = probe->call.client;
    struct lk__missed *missed;
    char address[LK__NODE_ADDRESS];

    if (is_noted(probe, node))
        return;
    missed = lk__alloc(sizeof(*missed));
    if (missed == NULL) {
        lk__probe_end(probe, LK_ENOMEM, NULL);
        return;
    }
    missed->node = node;
    missed->next = probe->missed;
    probe->missed = missed;
    if (node == NULL) {
        snprintf(missed->words, sizeof(missed->words), "%s", words);
    } else if (node == client->node) {
        snprintf(missed->words, sizeof(missed->words),
                 "slots that no master serves");
    } else {
        if (words == NULL)
            words =
                lk__node_is_ready(node) ? node->refusal : node->command.words;
        lk__node_address(node, address);
        snprintf(missed->words, sizeof(missed->words), "%s (%s)", address,
                 words);
    }
}

char *lk__probe_missing(const lk__probe *probe)
{
    size_t size = 1, used = 0;
    char *text;

    for (const struct lk__missed *missed = probe->missed; missed != NULL;
         missed = missed->next)
        size += strlen(missed->words) + 2;
    text = lk__alloc(size);
    for (const struct lk__missed *missed = probe->missed;
         text != NULL && missed != NULL; missed = missed->next)
        used +=
            (size_t)snprintf(text + used, size - used, "%s%s", missed->words,
                             missed->next != NULL ? ", " : "");
    return text;
}

/* ---- sending -------------------------------------------------------------------- */

static void broken(lk__probe *probe)
{
    if (probe->call.client->state != LK__CLIENT_OPEN)
        lk__probe_end(probe, LK_ECLOSED, NULL);
    else
        lk__probe_end(probe, LK_EOFFLINE,
                      "the connection broke before the answer came");
}

static void on_nap_over(lk__nap *nap);

static uint64_t timeout_of(const lk__probe *probe)
{
    return probe->call.client->settings.command_timeout_ms * MS;
}

uint64_t lk__probe_patience(const lk__probe *probe)
{
    uint64_t now = lk__client_now(probe->call.client);
    uint64_t most = timeout_of(probe);
    uint64_t left = probe->until > now ? probe->until - now : 0;

    return left / 2 < most ? left / 2 : most;
}

/* For how long it waits for its node. */
static uint64_t patience(const lk__probing *probing)
{
    return probing->miss != NULL ? lk__probe_patience(probing->probe)
                                 : timeout_of(probing->probe);
}

/* It is under way still, as far as the probe knows. */
static void wait(lk__probing *probing, bool broke)
{
    lk__probe *probe = probing->probe;
    lk_client *client = probe->call.client;
    uint64_t now = lk__client_now(client);

    if (probing->until == 0)
        probing->until = now + patience(probing);
    probing->broke = probing->broke || broke;
    probing->next = probe->waiting;
    probe->waiting = probing;
    probe->nap.client = client;
    probe->nap.over = on_nap_over;
    lk__nap_take(&probe->nap, AGAIN_MS * MS);
}

static void sent(lk__probing *probing, lk_status status)
{
    lk__probe *probe = probing->probe;

    if (status == LK_OK)
        return;
    if (status == LK_EOFFLINE && is_cluster(probe)) {
        wait(probing, true);
        return;
    }
    probe->busy--;
    args_drop(probing);
    if (status == LK_EOFFLINE)
        broken(probe);
    else
        lk__probe_end(probe, status, NULL);
}

static void send_again(lk__probing *probing)
{
    sent(probing, lk__node_command(node_of(probing), &probing->request,
                                   probing->count, probing->args));
}

/* The slot is half moved, and the key is there already, or nowhere. */
static void send_asking(lk__probing *probing, lk__node *to)
{
    lk_status status = lk__cluster_asking(to, &probing->asking);

    if (status == LK_OK) {
        probing->asks = true;
        status = lk__node_command(to, &probing->request, probing->count,
                                  probing->args);
        if (status != LK_OK) /* nothing else may stand behind the ASKING */
            lk__conn_break(&to->command, status, "no room behind ASKING");
    }
    sent(probing, status);
}

static void
on_reply(lk__request *request, lk_status status, const redisReply *reply);

static void submit(lk__probe *probe, lk__probing *probing, size_t count,
                   const lk__arg *args)
{
    lk__node *node = probing->node;

    if (probe->call.done)
        return;
    probing->probe = probe;
    probing->request.on_reply = on_reply;
    probing->turns = 0;
    probing->until = 0;
    probing->broke = probing->asks = false;
    if (is_cluster(probe)) {
        probing->args = lk__args_copy(count, args);
        probing->count = count;
        if (probing->args == NULL) {
            lk__probe_end(probe, LK_ENOMEM, NULL);
            return;
        }
        node = node_of(probing);
    } else if (node == NULL) {
        node = probe->call.client->node;
    }
    probe->busy++;
    sent(probing, lk__node_command(node, &probing->request, count, args));
}

void lk__probe_send(lk__probe *probe, lk__probing *probing, size_t count,
                    const lk__arg *args)
{
    probing->node = NULL;
    submit(probe, probing, count, args);
}

void lk__probe_send_to(lk__probe *probe, lk__node *node, lk__probing *probing,
                       size_t count, const lk__arg *args)
{
    probing->node = node;
    submit(probe, probing, count, args);
}

void lk__probe_flush(lk__probe *probe)
{
    for (lk__node *node = probe->call.client->node; node != NULL;
         node = node->next)
        lk__conn_flush(&node->command);
}

/* ---- those that wait -------------------------------------------------------------- */

void lk__probe_forget_waiting(lk__probe *probe)
{
    lk__probing *probing;

    while ((probing = probe->waiting) != NULL) {
        probe->waiting = probing->next;
        args_drop(probing);
        probe->busy--;
    }
    if (probe->nap.client != NULL)
        lk__nap_stop(&probe->nap);
}

static void missed(lk__probing *probing, const lk__node *node)
{
    lk__probe *probe = probing->probe;

    probe->busy--;
    args_drop(probing);
    if (probing->miss != NULL) {
        lk__probe_note(probe, node, NULL);
        if (!probe->call.done)
            probing->miss(probing);
    } else if (lk__node_is_ready(node)) {
        lk__probe_end(probe, LK_ESERVER, node->refusal);
    } else {
        lk__probe_end(probe, node->command.why, node->command.words);
    }
}

static void resume(lk__probing *probing)
{
    lk__probe *probe = probing->probe;
    lk__node *node;

    if (probe->call.done) {
        args_drop(probing);
        probe->busy--;
        return;
    }
    node = node_of(probing);
    if (lk__client_now(probe->call.client) >= probing->until ||
        lk__node_is_away(node)) {
        missed(probing, node);
    } else if (!lk__node_is_ready(node)) {
        wait(probing, true);
    } else if (probing->broke && probing->again != NULL) {
        probe->busy--;
        args_drop(probing);
        probing->again(probing);
    } else {
        probing->broke = false;
        send_again(probing);
    }
}

static void on_nap_over(lk__nap *nap)
{
    lk__probe *probe = LK__CONTAINER_OF(nap, lk__probe, nap);
    lk__probing *probing = probe->waiting;

    if (probe->call.client->state != LK__CLIENT_OPEN) {
        broken(probe);
        probing = NULL;
    } else {
        probe->waiting = NULL;
    }
    while (probing != NULL) {
        lk__probing *next = probing->next;

        resume(probing);
        probing = next;
    }
    lk__probe_settle(probe);
}

/* ---- answers ------------------------------------------------------------------------ */

/* What a cluster's node says in place of an answer about a key. True: it is sent
   elsewhere, or waits for that. */
static bool goes_elsewhere(lk__probing *probing, const redisReply *reply)
{
    lk_client *client = probing->probe->call.client;
    const lk__arg *key = &probing->args[1];
    unsigned slot = lk__slot_of(key->bytes, key->size);
    lk__node *to = lk__cluster_asks(client, slot, &probing->request, reply);

    if (to != NULL && probing->turns++ < TURNS_MOST) {
        send_asking(probing, to);
        return true;
    }
    if (lk__cluster_heard(client, slot, &probing->request, reply) == LK_OK)
        return false;
    if (probing->turns++ < TURNS_MOST)
        send_again(probing);
    else
        wait(probing, false);
    return true;
}

/* Whether it is an answer; else it is sent again, or waits for that. */
static bool
is_answer(lk__probing *probing, lk_status status, const redisReply *reply)
{
    lk__probe *probe = probing->probe;
    bool asked = probing->asks;

    probing->asks = false;
    if (probe->call.done || probe->call.client->state != LK__CLIENT_OPEN)
        return true;
    if (status != LK_OK) {
        wait(probing, true);
        return false;
    }
    if (probing->node == NULL && !asked && goes_elsewhere(probing, reply))
        return false;
    if (probing->node != NULL) /* whatever the node says is meant */
        return true;
    status = lk__node_check(&probing->request, reply);
    if (status != LK_ELOADING && status != LK_EREADONLY &&
        !lk__node_passes(&probing->request, reply))
        return true;
    wait(probing, false);
    return false;
}

static void
on_reply(lk__request *request, lk_status status, const redisReply *reply)
{
    lk__probing *probing = (lk__probing *)(void *)request;
    lk__probe *probe = probing->probe;

    if (is_cluster(probe) && !is_answer(probing, status, reply))
        return;
    args_drop(probing);
    probe->busy--;
    if (status != LK_OK)
        broken(probe);
    else if (!probe->call.done)
        probing->take(probing, reply);
    lk__probe_settle(probe);
}
