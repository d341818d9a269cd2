/* SPDX-License-Identifier: MIT */

/* What is checked before a command is run, in the server's order. */

#include <stdio.h>

#include "server/inside.h"

/* The name of the command is of no use; the reply says so. */
static void refuse_unknown(sim_call *call)
{
    char args[256] = "";
    size_t size = 0;

    if (sim_command_is_family(call->argv[0])) {
        sim_reply_error(call, "unknown subcommand '%.*s'. Try %.*s HELP.",
                        (int)call->argv[1].size, call->argv[1].bytes,
                        (int)call->argv[0].size, call->argv[0].bytes);
        return;
    }
    for (int i = 1; i < call->argc && size < 128; i++) {
        int most = 128 - (int)size;
        int length = (int)call->argv[i].size;

        size += (size_t)snprintf(args + size, sizeof(args) - size, "'%.*s' ",
                                 length < most ? length : most,
                                 call->argv[i].bytes);
    }
    sim_reply_error(call,
                    "unknown command '%.*s', with args beginning with: "
                    "%s",
                    call->argv[0].size > 128 ? 128 : (int)call->argv[0].size,
                    call->argv[0].bytes, args);
}

static bool is_arity(const sim_command *command, int argc)
{
    return command->arity < 0 ? argc >= -command->arity
                              : argc == command->arity;
}

static bool may_run(sim_call *call)
{
    const sim_user *user = call->server->default_user;
    unsigned flags = call->command->flags;

    if (!call->session->is_authenticated && !sim_user_needs_no_password(user) &&
        (flags & SIM_NO_AUTH) == 0) {
        sim_reply_error(call, "-NOAUTH Authentication required.");
        return false;
    }
    switch (sim_user_check(call)) {
    case SIM_DENIED_COMMAND:
        sim_reply_error(call,
                        "-NOPERM this user has no permissions to run the "
                        "'%s' command",
                        call->command->name);
        return false;
    case SIM_DENIED_KEY:
        sim_reply_error(call, "-NOPERM this user has no permissions to access "
                              "one of the keys used as arguments");
        return false;
    case SIM_DENIED_CHANNEL:
        sim_reply_error(call, "-NOPERM this user has no permissions to access "
                              "one of the channels used as arguments");
        return false;
    case SIM_ALLOWED:
        break;
    }
    return true;
}

bool sim_server_lacks_followers(const sim_server *server)
{
    return server->refusal == SIM_REFUSES_NOREPLICAS ||
           (!server->is_replica &&
            server->needs_followers > (int64_t)server->followers);
}

/* A replica leaves it to its master to have room. */
static bool is_out_of_memory(const sim_server *server)
{
    return server->is_full && !server->is_replica;
}

/* NULL: the server lets it pass. */
static const char *refusal(const sim_call *call)
{
    const sim_server *server = call->server;
    unsigned flags = call->command->flags;
    bool writes = (flags & SIM_WRITE) != 0;
    bool names_keys =
        call->command->first != 0 || (flags & SIM_NUMBERED_KEYS) != 0;

    if (server->refusal == SIM_REFUSES_CLUSTERDOWN && names_keys)
        return "-CLUSTERDOWN The cluster is down";
    if (is_out_of_memory(server) && (flags & SIM_DENY_OOM) != 0)
        return SIM_OOM;
    if (server->refusal == SIM_REFUSES_MISCONF &&
        (writes || sim_str_is(sim_str_of(call->command->name), "ping")))
        return SIM_MISCONF;
    if (writes && sim_server_lacks_followers(server))
        return SIM_NOREPLICAS;
    if (server->is_replica && writes)
        return SIM_READONLY;
    return NULL;
}

/* The same, of what is checked later. */
static const char *late_refusal(const sim_call *call)
{
    unsigned flags = call->command->flags;

    switch (call->server->refusal) {
    case SIM_REFUSES_MASTERDOWN:
        return (flags & SIM_STALE) != 0
                   ? NULL
                   : "-MASTERDOWN Link with MASTER is down and "
                     "replica-serve-stale-data is set to 'no'.";
    case SIM_REFUSES_LOADING:
        return (flags & SIM_LOADING) != 0
                   ? NULL
                   : "-LOADING Redis is loading the dataset in memory";
    case SIM_REFUSES_BUSY:
        return (flags & SIM_BUSY) != 0
                   ? NULL
                   : "-BUSY Redis is busy running a script. You can only call "
                     "SCRIPT KILL or SHUTDOWN NOSAVE.";
    case SIM_REFUSES_NOTHING:
    case SIM_REFUSES_MISCONF:
    case SIM_REFUSES_NOREPLICAS:
    case SIM_REFUSES_CLUSTERDOWN:
    case SIM_REFUSES_CLIENTS:
        break;
    }
    return NULL;
}

static bool is_for_subscriber(sim_call *call)
{
    if (call->session->channels.count == 0 ||
        (call->command->flags & SIM_SUBSCRIBED) != 0)
        return true;
    sim_reply_error(call,
                    "Can't execute '%s': only (P|S)SUBSCRIBE / "
                    "(P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in "
                    "this context",
                    call->command->name);
    return false;
}

void sim_call_gate(sim_call *call)
{
    const char *words;

    call->command = sim_command_of(call->argc, call->argv);
    if (call->command == NULL) {
        refuse_unknown(call);
        return;
    }
    if (!is_arity(call->command, call->argc)) {
        sim_reply_arity_error(call);
        return;
    }
    if (call->session == call->server->admin) {
        call->command->run(call);
        return;
    }
    if (!may_run(call))
        return;
    words = refusal(call);
    if (words == NULL && !is_for_subscriber(call))
        return;
    if (words == NULL)
        words = late_refusal(call);
    if (words != NULL)
        sim_reply_error(call, "%s", words);
    else
        call->command->run(call);
}

/* NULL: it may be called from a script. */
static const char *script_refusal(const sim_call *call)
{
    const sim_server *server = call->server;
    unsigned flags = call->command->flags;

    if ((flags & SIM_NO_SCRIPT) != 0)
        return "This Redis command is not allowed from script";
    switch (sim_user_check(call)) {
    case SIM_DENIED_COMMAND:
        return "The user executing the script can't run this command or "
               "subcommand";
    case SIM_DENIED_KEY:
        return "The user executing the script can't access at least one of "
               "the keys mentioned in the command arguments";
    case SIM_DENIED_CHANNEL:
        return "The user executing the script can't publish to the channel "
               "mentioned in the command";
    case SIM_ALLOWED:
        break;
    }
    if (server->script_wrote || call->session == server->admin)
        return NULL;
    if ((flags & SIM_WRITE) != 0 && server->is_replica)
        return SIM_READONLY;
    if ((flags & SIM_WRITE) != 0 && server->refusal == SIM_REFUSES_MISCONF)
        return SIM_MISCONF;
    if ((flags & SIM_WRITE) != 0 && sim_server_lacks_followers(server))
        return SIM_NOREPLICAS;
    return is_out_of_memory(server) && (flags & SIM_DENY_OOM) != 0 ? SIM_OOM
                                                                   : NULL;
}

const char *sim_call_from_script(sim_call *call)
{
    const char *words;

    call->command = sim_command_of(call->argc, call->argv);
    if (call->command == NULL)
        return "Unknown Redis command called from script";
    if (!is_arity(call->command, call->argc))
        return "Wrong number of args calling Redis command from script";
    words = script_refusal(call);
    if (words != NULL)
        return words;
    if ((call->command->flags & SIM_WRITE) != 0)
        call->server->script_wrote = true;
    call->command->run(call);
    return NULL;
}
