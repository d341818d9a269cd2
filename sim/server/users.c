/* SPDX-License-Identifier: MIT */

/* Users and what they may do. */

#include <stdlib.h>
#include <string.h>

#include "server/commands.h"

struct sim_user {
    sim_text *name;
    bool is_on, needs_none; /* needs_none: any password is right */
    bool all_keys, all_channels;
    sim_map passwords, keys, channels;
    bool *may; /* by the commands of the table */
};

sim_user *sim_user_add(sim_server *server, sim_str name)
{
    sim_user *user = sim_alloc(sizeof(*user));

    user->name = sim_text_new(name);
    user->may = sim_alloc(sim_command_count() * sizeof(bool));
    sim_map_add(&server->users, name)->pointer = user;
    return user;
}

static void user_free(void *data)
{
    sim_user *user = data;

    sim_map_clear(&user->passwords, NULL);
    sim_map_clear(&user->keys, NULL);
    sim_map_clear(&user->channels, NULL);
    free(user->name);
    free(user->may);
    free(user);
}

void sim_users_free(sim_server *server)
{
    sim_map_clear(&server->users, user_free);
}

bool sim_user_needs_no_password(const sim_user *user)
{
    return user->needs_none && user->is_on;
}

/* ---- what is allowed ---------------------------------------------------- */

static bool matches_one(const sim_map *patterns, sim_str str)
{
    for (const sim_entry *at = patterns->first; at != NULL; at = at->next) {
        if (sim_str_matches(str, sim_entry_key(at)))
            return true;
    }
    return false;
}

/* The keys are arguments first to last, in steps. */
static void keys_of(const sim_call *call, int *ret_first, int *ret_last)
{
    const sim_command *command = call->command;
    int64_t count;

    *ret_first = command->first;
    *ret_last = command->last < 0 ? call->argc + command->last : command->last;
    if ((command->flags & SIM_NUMBERED_KEYS) == 0)
        return;
    *ret_first = 3;
    *ret_last = 2;
    count = sim_integer_begin(call->argv[2]);
    if (count > 0 && count <= call->argc - 3)
        *ret_last += (int)count;
}

static bool may_use_keys(const sim_user *user, const sim_call *call)
{
    int first, last;

    keys_of(call, &first, &last);
    if (user->all_keys || first == 0)
        return true;
    for (int i = first; i <= last; i += call->command->step) {
        if (!matches_one(&user->keys, call->argv[i]))
            return false;
    }
    return true;
}

static bool may_use_channels(const sim_user *user, const sim_call *call)
{
    unsigned flags = call->command->flags;
    int last = (flags & SIM_CHANNELS) != 0  ? call->argc - 1
               : (flags & SIM_CHANNEL) != 0 ? 1
                                            : 0;

    for (int i = 1; !user->all_channels && i <= last; i++) {
        if (!matches_one(&user->channels, call->argv[i]))
            return false;
    }
    return true;
}

sim_denial sim_user_check(const sim_call *call)
{
    const sim_user *user = call->session->user;

    if (user == NULL)
        return SIM_ALLOWED;
    if (!user->may[sim_command_index(call->command)] &&
        (call->command->flags & SIM_NO_AUTH) == 0)
        return SIM_DENIED_COMMAND;
    if (!may_use_keys(user, call))
        return SIM_DENIED_KEY;
    if (!may_use_channels(user, call))
        return SIM_DENIED_CHANNEL;
    return SIM_ALLOWED;
}

/* ---- ACL ---------------------------------------------------------------- */

static bool is_in_group(const sim_command *command, sim_str group)
{
    static const struct {
        const char *word;
        sim_group group;
        unsigned flags;
    } groups[] = {{"keyspace", SIM_GROUP_KEYSPACE, 0},
                  {"string", SIM_GROUP_STRING, 0},
                  {"list", SIM_GROUP_LIST, 0},
                  {"set", SIM_GROUP_SET, 0},
                  {"sortedset", SIM_GROUP_ZSET, 0},
                  {"hash", SIM_GROUP_HASH, 0},
                  {"pubsub", SIM_GROUP_PUBSUB, 0},
                  {"scripting", SIM_GROUP_SCRIPTING, 0},
                  {"connection", SIM_GROUP_CONNECTION, 0},
                  {"read", SIM_GROUP_NONE, SIM_READS},
                  {"write", SIM_GROUP_NONE, SIM_WRITE},
                  {"fast", SIM_GROUP_NONE, SIM_FAST},
                  {"admin", SIM_GROUP_NONE, SIM_ADMIN},
                  {"dangerous", SIM_GROUP_NONE, SIM_DANGEROUS},
                  {"blocking", SIM_GROUP_NONE, SIM_BLOCKING}};

    for (unsigned i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
        if (sim_str_is(group, groups[i].word))
            return groups[i].flags != 0
                       ? (command->flags & groups[i].flags) != 0
                       : command->group == groups[i].group;
    }
    return sim_str_is(group, "all");
}

/* The command of that name, or one of its subcommands. */
static bool is_named(const sim_command *command, sim_str name)
{
    size_t length = strlen(command->name);
    sim_str whole = {command->name, length > name.size ? name.size : length};

    return length >= name.size &&
           (command->name[name.size] == '\0' ||
            command->name[name.size] == '|') &&
           sim_str_equal(whole, name);
}

/* False: no command is called so. */
static bool set_commands(sim_user *user, sim_str what, bool may)
{
    bool is_group = what.size > 0 && what.bytes[0] == '@';
    bool found = is_group;

    for (unsigned i = 0; i < sim_command_count(); i++) {
        const sim_command *command = sim_command_at(i);
        bool is_meant =
            is_group
                ? is_in_group(command, (sim_str){what.bytes + 1, what.size - 1})
                : is_named(command, what);

        if (is_meant)
            user->may[i] = may;
        found = found || is_meant;
    }
    return found;
}

/* A list of patterns, of which "*" stands for all. */
static void add_pattern(sim_map *patterns, bool *all, sim_str pattern)
{
    if (sim_str_equal(pattern, sim_str_of("*")))
        *all = true;
    else if (sim_map_find(patterns, pattern) == NULL)
        sim_map_add(patterns, pattern);
}

static void reset_patterns(sim_map *patterns, bool *all)
{
    sim_map_clear(patterns, NULL);
    *all = false;
}

static bool apply_word(sim_user *user, sim_str rule)
{
    if (sim_str_is(rule, "on") || sim_str_is(rule, "off"))
        user->is_on = sim_str_is(rule, "on");
    else if (sim_str_is(rule, "nopass"))
        user->needs_none = true;
    else if (sim_str_is(rule, "resetpass"))
        reset_patterns(&user->passwords, &user->needs_none);
    else if (sim_str_is(rule, "allkeys"))
        user->all_keys = true;
    else if (sim_str_is(rule, "resetkeys"))
        reset_patterns(&user->keys, &user->all_keys);
    else if (sim_str_is(rule, "allchannels"))
        user->all_channels = true;
    else if (sim_str_is(rule, "resetchannels"))
        reset_patterns(&user->channels, &user->all_channels);
    else if (sim_str_is(rule, "allcommands"))
        set_commands(user, sim_str_of("@all"), true);
    else if (sim_str_is(rule, "nocommands"))
        set_commands(user, sim_str_of("@all"), false);
    else
        return false;
    return true;
}

/* False: it is no rule. */
static bool apply(sim_user *user, sim_str rule)
{
    sim_str rest = {rule.bytes + 1, rule.size - 1};

    if (apply_word(user, rule))
        return true;
    if (rule.size < 2)
        return false;
    if (rule.bytes[0] == '>') {
        user->needs_none = false;
        if (sim_map_find(&user->passwords, rest) == NULL)
            sim_map_add(&user->passwords, rest);
    } else if (rule.bytes[0] == '~') {
        add_pattern(&user->keys, &user->all_keys, rest);
    } else if (rule.bytes[0] == '&') {
        add_pattern(&user->channels, &user->all_channels, rest);
    } else {
        return (rule.bytes[0] == '+' || rule.bytes[0] == '-') &&
               set_commands(user, rest, rule.bytes[0] == '+');
    }
    return true;
}

static bool may_listen(const sim_session *session)
{
    for (const sim_entry *channel = session->channels.first; channel != NULL;
         channel = channel->next) {
        if (!matches_one(&session->user->channels, sim_entry_key(channel)))
            return false;
    }
    return true;
}

/* Sessions that listen to what is no longer allowed are ended. */
static void end_subscribers(const sim_server *server, const sim_user *user)
{
    for (sim_session *at = server->first; at != NULL; at = at->next) {
        if (at->user == user && !user->all_channels && !may_listen(at))
            sim_session_end(at);
    }
}

void sim_run_acl_setuser(sim_call *call)
{
    const sim_entry *entry = sim_map_find(&call->server->users, call->argv[2]);
    sim_user *user = entry == NULL ? sim_user_add(call->server, call->argv[2])
                                   : entry->pointer;

    for (int i = 3; i < call->argc; i++) {
        if (!apply(user, call->argv[i])) {
            sim_reply_error(call,
                            "Error in ACL SETUSER modifier '%.*s': Syntax "
                            "error",
                            (int)call->argv[i].size, call->argv[i].bytes);
            return;
        }
    }
    end_subscribers(call->server, user);
    sim_reply_status(call, "OK");
}

static void end_sessions(const sim_server *server, const sim_user *user)
{
    for (sim_session *at = server->first; at != NULL; at = at->next) {
        if (at->user == user) {
            sim_session_end(at);
            at->user = server->default_user;
        }
    }
}

void sim_run_acl_deluser(sim_call *call)
{
    sim_server *server = call->server;
    int64_t removed = 0;

    for (int i = 2; i < call->argc; i++) {
        sim_entry *entry = sim_map_find(&server->users, call->argv[i]);

        if (entry == NULL)
            continue;
        if (entry->pointer == server->default_user) {
            sim_reply_error(call, "The 'default' user cannot be removed");
            return;
        }
        end_sessions(server, entry->pointer);
        user_free(entry->pointer);
        sim_map_remove(&server->users, entry);
        removed++;
    }
    sim_reply_integer(call, removed);
}

void sim_run_acl_whoami(sim_call *call)
{
    const sim_user *user = call->session->user;

    sim_reply_bulk(call, user == NULL ? sim_str_of("administrator")
                                      : sim_text_str(user->name));
}

/* ---- AUTH --------------------------------------------------------------- */

void sim_run_auth(sim_call *call)
{
    sim_server *server = call->server;
    sim_str name = call->argc == 3 ? call->argv[1] : sim_str_of("default");
    const sim_entry *entry = sim_map_find(&server->users, name);
    sim_user *user = entry == NULL ? NULL : entry->pointer;

    if (call->argc > 3) {
        sim_reply_syntax_error(call);
    } else if (call->argc == 2 && server->default_user->needs_none) {
        sim_reply_error(call,
                        "AUTH <password> called without any password "
                        "configured for the default user. Are you sure your "
                        "configuration is correct?");
    } else if (user != NULL && user->is_on &&
               (user->needs_none ||
                sim_map_find(&user->passwords, call->argv[call->argc - 1]) !=
                    NULL)) {
        call->session->user = user;
        call->session->is_authenticated = true;
        sim_reply_status(call, "OK");
    } else {
        sim_reply_error(call, "-WRONGPASS invalid username-password pair or "
                              "user is disabled.");
    }
}
