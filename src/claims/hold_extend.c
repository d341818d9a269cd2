/* SPDX-License-Identifier: MIT */

/* Another lease for a hold, asked of the server. */

#include "base/deadline.h"
#include "base/error.h"
#include "base/names.h"
#include "claims/ask.h"
#include "claims/hold.h"
#include "claims/node.h"
#include "claims/place.h"
#include "claims/protocol.h"

#define MS UINT64_C(1000000)

struct extension {
    lk__ask ask; /* first */
    lk__claim *claim;
    uint64_t lease_ms;
    lk_done_cb cb;
    void *data;
};

static void extension_cleanup(lk__ask *ask)
{
    lk__claim_unref(((struct extension *)(void *)ask)->claim);
}

static lk_status
extension_take(lk__ask *ask, const redisReply *reply, bool *ret_more)
{
    struct extension *extension = (struct extension *)(void *)ask;
    lk__claim *claim = extension->claim;
    lk__keep_answer answer = {.is_held = false};
    uint64_t lease_ms;
    lk_status status;

    *ret_more = false;
    if (claim->state != LK__CLAIM_HELD)
        return LK_ELOST;
    status = lk__claim_protocol(claim)->read_keep(reply, claim->fence, &answer);
    if (status != LK_OK)
        return status;
    if (!answer.is_held) {
        lk__claim_lose(claim, answer.loss);
        return LK_ELOST;
    }
    lease_ms = lk__claim_kept_ms(claim, &answer, ask->request.sent_at,
                                 extension->lease_ms);
    lk__claim_prolong(claim, lk__deadline_ns(ask->request.sent_at, lease_ms));
    if (!lk__node_gives(claim->place->node))
        return LK_EINDOUBT;
    return lk__claim_is_valid(claim) ? LK_OK : LK_ELOST;
}

static void extension_deliver(lk__call *call)
{
    struct extension *extension =
        (struct extension *)(void *)lk__ask_of_call(call);

    extension->cb(call->status, extension->data);
    lk__ask_finish(&extension->ask);
}

/* NULL: out of memory. Inside the monitor. */
static struct extension *
extension_new(lk_hold *hold, uint64_t lease_ms, void (*deliver)(lk__call *call))
{
    lk__claim *claim = hold->claim;
    struct extension *extension =
        (struct extension *)(void *)lk__ask_new(sizeof(*extension),
                                                hold->client, claim->place,
                                                deliver);

    if (extension == NULL)
        return NULL;
    extension->claim = lk__claim_ref(claim);
    lk__claim_asked(claim,
                    lk__client_now(hold->client) +
                        hold->client->settings.command_timeout_ms * MS,
                    lease_ms);
    extension->lease_ms = lease_ms;
    extension->ask.takes = true;
    extension->ask.take = extension_take;
    extension->ask.cleanup = extension_cleanup;
    if (lk__ask_question(&extension->ask,
                         lk__claim_protocol(claim)->keep(claim, lease_ms, 0)) !=
        LK_OK) {
        lk__ask_release(&extension->ask);
        return NULL;
    }
    return extension;
}

/* Enters the monitor if the hold can be extended. */
static lk_status extend_enter(lk_hold *hold, bool blocking)
{
    lk_status status = blocking ? lk__client_enter_blocking(hold->client)
                                : lk__client_enter(hold->client);

    if (status != LK_OK || hold->claim->state == LK__CLAIM_HELD)
        return status;
    status = lk__fail(LK_ELOST, "%s", lk__loss_text(hold->class->loss(hold)));
    if (blocking)
        lk__client_leave_blocking(hold->client);
    else
        lk__client_leave(hold->client);
    return status;
}

lk_status lk__hold_extend(lk_hold *hold, uint64_t lease_ms)
{
    lk_client *client = hold->client; /* the hold may be released meanwhile */
    struct extension *extension;
    lk_status status = lk__lease_check(lease_ms);

    if (status == LK_OK)
        status = extend_enter(hold, true);
    if (status != LK_OK)
        return status;
    extension = extension_new(hold, lease_ms, NULL);
    if (extension == NULL) {
        status = LK_ENOMEM;
    } else {
        lk__ask_begin(&extension->ask);
        status = lk__ask_sleep(&extension->ask);
        lk__ask_release(&extension->ask);
    }
    lk__client_leave_blocking(client);
    return status;
}

lk_status lk__hold_extend_async(lk_hold *hold, uint64_t lease_ms, lk_done_cb cb,
                                void *data)
{
    struct extension *extension;
    lk_status status = lk__lease_check(lease_ms);

    if (status == LK_OK && cb == NULL)
        status = lk__fail(LK_EINVAL, "the callback is NULL");
    if (status == LK_OK)
        status = extend_enter(hold, false);
    if (status != LK_OK)
        return status;
    extension = extension_new(hold, lease_ms, extension_deliver);
    if (extension == NULL) {
        status = LK_ENOMEM;
    } else {
        extension->cb = cb;
        extension->data = data;
        extension->ask.call.post.inner = hold->inner;
        lk__ask_begin(&extension->ask);
    }
    lk__client_leave(hold->client);
    return status;
}
