/* SPDX-License-Identifier: MIT */

/* Commands on sessions. */

#include <stdlib.h>

#include "server/commands.h"

void sim_run_client_id(sim_call *call)
{
    sim_reply_integer(call, (int64_t)call->session->id);
}

static bool is_name(sim_str name)
{
    for (size_t i = 0; i < name.size; i++) {
        if (name.bytes[i] < '!' || name.bytes[i] > '~')
            return false;
    }
    return true;
}

void sim_run_client_setname(sim_call *call)
{
    sim_session *session = call->session;

    if (!is_name(call->argv[2])) {
        sim_reply_error(call, "Client names cannot contain spaces, newlines "
                              "or special characters.");
        return;
    }
    free(session->name);
    session->name =
        call->argv[2].size == 0 ? NULL : sim_text_new(call->argv[2]);
    sim_reply_status(call, "OK");
}

void sim_run_client_getname(sim_call *call)
{
    if (call->session->name == NULL)
        sim_reply_nil(call);
    else
        sim_reply_bulk(call, sim_text_str(call->session->name));
}

/* ---- CLIENT KILL -------------------------------------------------------- */

typedef struct kill_filter {
    int64_t id; /* 0: any */
    enum { ANY_TYPE, NORMAL, PUBSUB } type;
    const sim_user *user; /* NULL: any */
    bool skip_me;
} kill_filter;

static bool kill_type(kill_filter *filter, sim_str word)
{
    if (sim_str_is(word, "normal"))
        filter->type = NORMAL;
    else if (sim_str_is(word, "pubsub"))
        filter->type = PUBSUB;
    else
        return false;
    return true;
}

static bool kill_user(sim_call *call, kill_filter *filter, sim_str name)
{
    const sim_entry *user = sim_map_find(&call->server->users, name);

    filter->user = user == NULL ? NULL : user->pointer;
    if (user == NULL)
        sim_reply_error(call, "No such user '%.*s'", (int)name.size,
                        name.bytes);
    return user != NULL;
}

/* The pair of arguments at i. */
static bool kill_option(sim_call *call, kill_filter *filter, int i)
{
    sim_str value = call->argv[i + 1];

    if (sim_str_is(call->argv[i], "ID")) {
        if (sim_integer_read(value, &filter->id) && filter->id >= 1)
            return true;
        sim_reply_error(call, "client-id should be greater than 0");
    } else if (sim_str_is(call->argv[i], "TYPE")) {
        if (kill_type(filter, value))
            return true;
        sim_reply_error(call, "Unknown client type '%.*s'", (int)value.size,
                        value.bytes);
    } else if (sim_str_is(call->argv[i], "USER")) {
        return kill_user(call, filter, value);
    } else if (sim_str_is(call->argv[i], "SKIPME") &&
               (sim_str_is(value, "yes") || sim_str_is(value, "no"))) {
        filter->skip_me = sim_str_is(value, "yes");
        return true;
    } else {
        sim_reply_syntax_error(call);
    }
    return false;
}

static bool is_to_kill(const kill_filter *filter, const sim_session *session)
{
    bool is_subscriber = session->channels.count > 0;

    return !session->has_ended &&
           (filter->id == 0 || session->id == (uint64_t)filter->id) &&
           (filter->type == ANY_TYPE ||
            is_subscriber == (filter->type == PUBSUB)) &&
           (filter->user == NULL || session->user == filter->user);
}

void sim_run_client_kill(sim_call *call)
{
    kill_filter filter = {.skip_me = true};
    int64_t killed = 0;

    if (call->argc % 2 != 0) {
        sim_reply_syntax_error(call);
        return;
    }
    for (int i = 2; i < call->argc; i += 2) {
        if (!kill_option(call, &filter, i))
            return;
    }
    for (sim_session *at = call->server->first; at != NULL; at = at->next) {
        if (!is_to_kill(&filter, at) || (at == call->session && filter.skip_me))
            continue;
        killed++;
        if (at == call->session)
            at->closes = true;
        else
            sim_session_end(at);
    }
    sim_reply_integer(call, killed);
}

void sim_run_client_unblock(sim_call *call)
{
    int64_t id;
    bool with_error = call->argc == 4 && sim_str_is(call->argv[3], "ERROR");
    sim_session *session;

    if (call->argc > 4) {
        sim_reply_error(call,
                        "unknown subcommand or wrong number of arguments for "
                        "'%.*s'. Try CLIENT HELP.",
                        (int)call->argv[1].size, call->argv[1].bytes);
        return;
    }
    if (call->argc == 4 && !with_error &&
        !sim_str_is(call->argv[3], "TIMEOUT")) {
        sim_reply_error(call, "CLIENT UNBLOCK reason should be TIMEOUT or "
                              "ERROR");
        return;
    }
    if (!sim_arg_integer(call, 2, &id))
        return;
    session = sim_session_by_id(call->server, (uint64_t)id);
    if (session != NULL && session->block != SIM_FREE)
        sim_session_unblock(session, with_error ? SIM_BY_ERROR : SIM_BY_TIME);
    else
        session = NULL;
    sim_reply_integer(call, session != NULL);
}
