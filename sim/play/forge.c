/* SPDX-License-Identifier: MIT */

/* Messages that nobody should believe. */

#include "play/forge.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "claims/claim.h"
#include "claims/node.h"
#include "claims/place.h"
#include "claims/work.h"
#include "engine/client.h"
#include "world/random.h"

/* ---- what was said before --------------------------------------------------------- */

/* Adds to the number that is the n-th word. */
static void number_change(char *text, size_t room, unsigned n, uint64_t add)
{
    char copy[512], *word = copy, *end;

    (void)snprintf(copy, sizeof(copy), "%s", text);
    while (n-- > 0 && word != NULL) {
        word = strchr(word, ' ');
        word = word != NULL ? word + 1 : NULL;
    }
    if (word == NULL)
        return;
    end = strchr(word, ' ');
    (void)snprintf(text + (word - copy), room - (size_t)(word - copy),
                   "%" PRIu64 "%s", (uint64_t)strtoull(word, NULL, 10) + add,
                   end != NULL ? end : "");
}

/* "x" becomes "{x}", and the other way round. */
static void name_swap(char *name, size_t room)
{
    char copy[512];

    (void)snprintf(copy, sizeof(copy), "%s", name);
    if (copy[0] == '{')
        (void)snprintf(name, room, "%.*s", (int)strlen(copy) - 2, copy + 1);
    else
        (void)snprintf(name, room, "{%s}", copy);
}

static void name_change(char *text, size_t room)
{
    char *name = strrchr(text, ' ');

    if (name != NULL)
        name_swap(name + 1, room - (size_t)(name + 1 - text));
}

/* With another ticket or fence, of another name, of another database, cut off, or
   as it was. */
static void message_change(sim_message *message, uint64_t *random)
{
    const size_t room = sizeof(message->text);

    switch (sim_below(random, 7)) {
    case 0:
        number_change(message->text, room, 5, sim_between(random, 1, 3));
        break;
    case 1:
        name_change(message->text, room);
        break;
    case 2:
        message->text[sim_below(random, strlen(message->text) + 1)] = '\0';
        break;
    case 3:
        number_change(message->text, room, 1, 1);
        break;
    default:
        break;
    }
}

static bool repeat(const sim_host *host, sim_message *message, uint64_t *random)
{
    if (host->heard_count == 0)
        return false;
    *message = host->heard[sim_below(random, host->heard_count) % SIM_HEARD];
    message_change(message, random);
    return true;
}

/* ---- what nobody has said ----------------------------------------------------------- */

/* What of a grant is not so. */
typedef enum forge_flaw {
    FLAW_DATABASE,
    FLAW_FAMILY,
    FLAW_NONCE,
    FLAW_TICKET,
    FLAW_NAME,
    FLAWS
} forge_flaw;

enum { LEASE_MS = 60000 };

static bool is_waiter(const lk__claim *claim)
{
    return claim->state == LK__CLAIM_QUEUED && claim->seek->ticket != 0;
}

/* The n-th claim with a ticket in a client, from 0; NULL: there are fewer, and n
   is less by as many. */
static const lk__claim *waiter_in(const lk_client *client, uint64_t *n)
{
    for (const lk__place *place = client->work->places; place != NULL;
         place = place->next) {
        for (const lk__claim *claim = place->first_claim; claim != NULL;
             claim = claim->next) {
            if (is_waiter(claim) && (*n)-- == 0)
                return claim;
        }
    }
    return NULL;
}

/* The same at the host. */
static const lk__claim *
waiter_find(const sim_run *run, const sim_host *host, uint64_t n)
{
    const lk__claim *claim = NULL;

    for (size_t i = 0; i < run->client_count && claim == NULL; i++) {
        const sim_client *client = &run->clients[i];

        if (client->client != NULL && !client->process.dead &&
            client->host == host->peer.number)
            claim = waiter_in(client->client, &n);
    }
    return claim;
}

static const lk__claim *
waiter_draw(const sim_run *run, const sim_host *host, uint64_t *random)
{
    uint64_t count = 0;

    while (waiter_find(run, host, count) != NULL)
        count++;
    return count == 0 ? NULL : waiter_find(run, host, sim_below(random, count));
}

static const char *family_of(const lk__claim *claim, forge_flaw flaw)
{
    const char *family = claim->place->kind->family;

    if (flaw != FLAW_FAMILY)
        return family;
    return strcmp(family, "lock") == 0 ? "rwlock" : "lock";
}

/* A grant to the claim, with one flaw. */
static void grant_write(const lk__claim *claim, forge_flaw flaw, uint64_t fence,
                        char *text, size_t room)
{
    const lk__place *place = claim->place;
    const uint64_t ticket = claim->seek->ticket + (flaw == FLAW_TICKET);
    const char *family = family_of(claim, flaw);
    char name[128], nonce[LK__NONCE_SIZE];

    (void)snprintf(name, sizeof(name), "%s", place->name);
    if (flaw == FLAW_NAME)
        name_swap(name, sizeof(name));
    (void)snprintf(text, room,
                   "grant %u %s %s %s %" PRIu64 " %" PRIu64 " 0 %d %s",
                   (unsigned)place->client->settings.db +
                       (flaw == FLAW_DATABASE),
                   family, lk__claim_id(claim),
                   flaw == FLAW_NONCE ? "0123456789abcdef"
                                      : lk__claim_nonce(claim, nonce),
                   ticket, fence, LEASE_MS, name);
}

static bool invent(const sim_run *run, const sim_host *host,
                   sim_message *message, uint64_t *random)
{
    const lk__claim *claim = waiter_draw(run, host, random);
    const forge_flaw flaw = (forge_flaw)sim_below(random, FLAWS);
    uint64_t fence;

    if (claim == NULL)
        return false;
    fence = sim_clock_at(&host->clock, run->schedule.now) / SIM_US;
    (void)snprintf(message->channel, sizeof(message->channel), "%s",
                   claim->place->client->node->channel);
    grant_write(claim, flaw, fence, message->text, sizeof(message->text));
    return true;
}

/* What is invented is not said again: changed once more, it could come true. */
void sim_forge(sim_run *run, sim_host *host, uint64_t random)
{
    const bool invents = sim_chance(&random, 40);
    sim_message message;

    if (invents ? !invent(run, host, &message, &random)
                : !repeat(host, &message, &random))
        return;
    sim_tell(&run->schedule, "somebody", "says to %s: %s", message.channel,
             message.text);
    host->deaf = invents;
    sim_host_publish(host, message.channel, message.text);
    host->deaf = false;
}
