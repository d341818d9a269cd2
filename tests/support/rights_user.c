/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/rights.h"
#include "support/tool.h"
#include "support/wait.h"

enum { READY_MS = 10000, RULES_SIZE = 8192 };

/* What the tool calls not needed. */
static char helps[2048];

char *rights_printed(const char *primitive, const char *prefix)
{
    return rights_printed_for(primitive, prefix, "");
}

char *rights_printed_for(const char *primitive, const char *prefix,
                         const char *tenant)
{
    const char *words[] = {"doctor",
                           "--acl",
                           "--prefix",
                           prefix,
                           "--tenant",
                           tenant,
                           primitive != NULL ? "--for" : NULL,
                           primitive,
                           NULL};
    tool *t = tool_start_list(NULL, words);
    char *rules;

    assert_int_equal(tool_wait(t, READY_MS), 0);
    (void)snprintf(helps, sizeof(helps), "%s", tool_err(t));
    rules = strdup(tool_out(t));
    tool_free(t);
    assert_non_null(rules);
    rules[strcspn(rules, "\n")] = '\0';
    return rules;
}

char *rights_without(const char *rules, const char *word)
{
    size_t size = strlen(word);
    const char *at = strstr(rules, word);
    char *less = malloc(strlen(rules) + 1);

    while (at != NULL && !((at == rules || at[-1] == ' ') &&
                           (at[size] == ' ' || at[size] == '\0')))
        at = strstr(at + size, word);
    if (at == NULL || less == NULL)
        fail_msg("no %s among: %s", word, rules);
    (void)snprintf(less, strlen(rules) + 1, "%.*s%s", (int)(at - rules), rules,
                   at + size);
    return less;
}

static lk_client *open_as(rights_play *p, const char *user, lk_interop interop)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .user = user,
                                       .password =
                                           user != NULL ? "secret" : NULL,
                                       .db = 1,
                                       .watchdog_ms = 10000,
                                       .interop = interop};
    lk_client *client = NULL;
    lk_status status;

    assert_status(lk_client_open(&client, server_url(p->redis), &options),
                  LK_OK);
    status = lk_client_wait_ready(client, READY_MS);
    if (user == NULL)
        assert_status(status, LK_OK);
    if (status != LK_OK && p->step == NULL) {
        p->step = "open";
        p->status = status;
        (void)snprintf(p->words, sizeof(p->words), "%s", lk_last_error());
    }
    return client;
}

static void order(server *redis, const char *text)
{
    redisReply *reply = server_command(redis, text);

    if (reply->type == REDIS_REPLY_ERROR)
        fail_msg("%s: %s", text, reply->str);
    freeReplyObject(reply);
}

void rights_open(rights_play *p, server *redis, const char *rules)
{
    char text[RULES_SIZE];

    (void)snprintf(text, sizeof(text), "ACL SETUSER app reset on >secret %s",
                   rules);
    order(redis, text);
    order(redis, "ACL LOG RESET");
    order(redis, "SELECT 1");
    *p = (rights_play){.redis = redis,
                       .name = "app:1",
                       .how = {LK_ACQUIRE_OPTIONS_INIT,
                               .lease_ms = 2 * (uint64_t)wait_lease_ms()}};
    p->wait_ms = 3 * (int64_t)p->how.lease_ms;
    p->all = open_as(p, NULL, LK_INTEROP_AUTO);
    p->a = open_as(p, "app", LK_INTEROP_AUTO);
    p->b = open_as(p, "app", LK_INTEROP_AUTO);
}

void rights_open_among(rights_play *p, const char *name, bool is_lock)
{
    static const char java[] = "01234567-89ab-cdef-0123-456789abcdef:71";

    rights_leave(p);
    if (is_lock) {
        p->first_ms = p->wait_ms;
        freeReplyObject(server_command(p->redis, "HSET %s %s 1", name, java));
        freeReplyObject(server_command(p->redis, "PEXPIRE %s 500", name));
    }
    p->a = open_as(p, "app", LK_INTEROP_REDISSON);
    p->b = open_as(p, "app", LK_INTEROP_REDISSON);
}

void rights_leave(rights_play *p)
{
    (void)lk_client_shutdown(p->a, READY_MS);
    (void)lk_client_shutdown(p->b, READY_MS);
    lk_client_free(p->a);
    lk_client_free(p->b);
    p->a = p->b = NULL;
}

void rights_close(rights_play *p, server *redis)
{
    lk_client_free(p->all);
    p->all = NULL;
    server_flush(redis);
}

static bool only_helps(const char *what)
{
    char said[64];

    (void)snprintf(said, sizeof(said), "not needed: +%s;", what);
    return strstr(helps, said) != NULL;
}

/* Of one entry of ACL LOG. */
static bool is_denial_of(const redisReply *entry, const char *word)
{
    const char *reason = entry->element[3]->str;
    const char *object = entry->element[7]->str;

    if (word == NULL)
        return strcmp(reason, "command") != 0 || !only_helps(object);
    if (word[0] == '+')
        return strcmp(object, word + 1) == 0;
    return strcmp(reason, word[0] == '~' ? "key" : "channel") == 0;
}

bool rights_denied(server *redis, const char *word)
{
    redisReply *log = server_command(redis, "ACL LOG");
    bool is_denied = false;

    assert_int_equal(log->type, REDIS_REPLY_ARRAY);
    for (size_t i = 0; i < log->elements; i++) {
        bool is_one = is_denial_of(log->element[i], word);

        if (word == NULL && is_one)
            print_message("denied: %s\n", log->element[i]->element[7]->str);
        is_denied = is_denied || is_one;
    }
    freeReplyObject(log);
    return is_denied;
}
