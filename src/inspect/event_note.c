/* SPDX-License-Identifier: MIT */

/* Noting an event of a name: two plain commands, one after the other. */

#include <latchkey/inspect.h>

#include <string.h>

#include "base/deadline.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/names.h"
#include "claims/ask.h"
#include "claims/node.h"
#include "inspect/event.h"

struct noting {
    lk__ask ask; /* first */
    char *key;
    bool is_noted; /* the question under way is of its time */
    lk_done_cb cb;
    void *data;
};

static struct noting *noting_of(lk__ask *ask)
{
    return (struct noting *)(void *)ask;
}

static void cleanup(lk__ask *ask)
{
    lk__free(noting_of(ask)->key);
}

/* The stream ends a week after what was noted last. The event stands before that
   is said: where it cannot be said, a later event says it, or the stream stays. */
static lk_status take(lk__ask *ask, const redisReply *reply, bool *ret_more)
{
    struct noting *noting = noting_of(ask);
    const lk__arg args[3] = {lk__arg_text("EXPIRE"), lk__arg_text(noting->key),
                             lk__arg_number(LK__EVENT_KEEP_S)};

    (void)reply;
    *ret_more = !noting->is_noted;
    if (noting->is_noted)
        return LK_OK;
    noting->is_noted = true;
    ask->is_settled = true;
    ask->settled = LK_OK;
    return lk__ask_command(ask, 3, args);
}

static lk_status texts_check(const char *name, const char *what,
                             const char *owner, const char *text)
{
    lk_status status = lk__name_check(name);

    if (status == LK_OK)
        status = lk__owner_check(owner);
    if (status != LK_OK)
        return status;
    if (what == NULL || what[0] == '\0' || strlen(what) > LK__EVENT_WHAT_MAX)
        return lk__fail(LK_EINVAL, "what was done has 1 to %d bytes",
                        LK__EVENT_WHAT_MAX);
    if (text == NULL)
        return lk__fail(LK_EINVAL, "the text is NULL");
    return LK_OK;
}

static lk_status entry_set(lk__ask *ask, const char *name, const char *what,
                           const char *owner, const char *text)
{
    const lk__arg args[] = {
        lk__arg_text("XADD"),
        lk__arg_text(noting_of(ask)->key),
        lk__arg_text("MAXLEN"),
        lk__arg_number(LK_EVENTS_KEPT),
        lk__arg_text("*"),
        lk__arg_text(LK__EVENT_NAME),
        lk__arg_text(name),
        lk__arg_text(LK__EVENT_WHAT),
        lk__arg_text(what),
        lk__arg_text(LK__EVENT_OWNER),
        lk__arg_text(owner),
        lk__arg_text(LK__EVENT_TEXT),
        lk__arg_bytes(text, strnlen(text, LK__EVENT_TEXT_MAX)),
        lk__arg_text(LK__EVENT_BY),
        lk__arg_text(ask->call.client->node->record),
    };

    return lk__ask_command(ask, sizeof(args) / sizeof(args[0]), args);
}

/* Inside the monitor. */
static lk_status noting_new(struct noting **ret_noting, lk_client *client,
                            const char *name, const char *what,
                            const char *owner, const char *text,
                            void (*deliver)(lk__call *call))
{
    struct noting *noting =
        (struct noting *)(void *)lk__ask_new(sizeof(*noting), client, NULL,
                                             deliver);

    if (noting == NULL)
        return LK_ENOMEM;
    noting->ask.take = take;
    noting->ask.cleanup = cleanup;
    noting->ask.doubt = LK_EPENDING; /* said again it would stand there twice */
    noting->key = lk__key_make(LK__EVENT_FORM, name);
    if (noting->key == NULL ||
        entry_set(&noting->ask, name, what, owner, text) != LK_OK) {
        lk__ask_release(&noting->ask);
        return LK_ENOMEM;
    }
    *ret_noting = noting;
    return LK_OK;
}

lk_status lk_event_note(lk_client *client, const char *name, const char *what,
                        const char *owner, const char *text)
{
    struct noting *noting;
    lk_status status = lk__client_check(client);

    if (status == LK_OK)
        status = texts_check(name, what, owner, text);
    if (status == LK_OK)
        status = lk__client_enter_blocking(client);
    if (status != LK_OK)
        return status;
    status = noting_new(&noting, client, name, what, owner, text, NULL);
    if (status == LK_OK) {
        lk__ask_begin(&noting->ask);
        status = lk__ask_sleep(&noting->ask);
        lk__ask_release(&noting->ask);
    }
    lk__client_leave_blocking(client);
    return status;
}

static void deliver(lk__call *call)
{
    struct noting *noting = noting_of(lk__ask_of_call(call));

    noting->cb(call->status, noting->data);
    lk__ask_finish(&noting->ask);
}

lk_status lk_event_note_async(lk_client *client, const char *name,
                              const char *what, const char *owner,
                              const char *text, lk_done_cb cb, void *data)
{
    struct noting *noting;
    lk_status status = lk__client_check(client);

    if (status == LK_OK)
        status = texts_check(name, what, owner, text);
    if (status == LK_OK && cb == NULL)
        status = lk__fail(LK_EINVAL, "the callback is NULL");
    if (status == LK_OK)
        status = lk__client_enter(client);
    if (status != LK_OK)
        return status;
    status = noting_new(&noting, client, name, what, owner, text, deliver);
    if (status == LK_OK) {
        noting->cb = cb;
        noting->data = data;
        lk__ask_begin(&noting->ask);
    }
    lk__client_leave(client);
    return status;
}
