/* SPDX-License-Identifier: MIT */

/*
 * `latchkey doctor --acl` for a Redis Cluster: what it prints is enough on each
 * node, also while a slot moves.
 */

#include <latchkey/latchkey.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/rights.h"
#include "support/ringed.h"
#include "support/tool.h"
#include "support/wait.h"

static char url[256];
static tool_how how = {.url = url};

/* What the tool prints, without the newline; what it calls not needed. */
static char rules[4096], helps[2048];

static void order_all(const char *text)
{
    for (size_t i = 0; i < ringed()->count; i++) {
        redisReply *reply = server_command(ringed()->nodes[i], text);

        if (reply->type == REDIS_REPLY_ERROR)
            fail_msg("%s: %s", text, reply->str);
        freeReplyObject(reply);
    }
}

static int start(void **state)
{
    char order[sizeof(rules) + 64];
    tool *t;

    if (ringed_start(state) != 0)
        return -1;
    (void)snprintf(url, sizeof(url), "redis+cluster://127.0.0.1:%u",
                   server_port(ringed()->nodes[0]));
    t = tool_start(&how, "doctor", "--acl", "--prefix", "app:", NULL);
    assert_int_equal(tool_wait(t, RINGED_LONG_MS), 0);
    (void)snprintf(rules, sizeof(rules), "%s", tool_out(t));
    rules[strcspn(rules, "\n")] = '\0';
    (void)snprintf(helps, sizeof(helps), "%s", tool_err(t));
    tool_free(t);
    (void)snprintf(order, sizeof(order), "ACL SETUSER app reset on >secret %s",
                   rules);
    order_all(order);
    return 0;
}

static int stop(void **state)
{
    tool_free_all();
    return ringed_stop(state);
}

static bool only_helps(const char *command)
{
    char said[64];

    (void)snprintf(said, sizeof(said), "not needed: +%s;", command);
    return strstr(helps, said) != NULL;
}

static void assert_helps(const redisReply *entry)
{
    const char *reason = entry->element[3]->str;
    const char *object = entry->element[7]->str;

    if (strcmp(reason, "command") != 0 || !only_helps(object))
        fail_msg("denied: %s %s", reason, object);
}

static void assert_nothing_was_denied(void)
{
    for (size_t i = 0; i < ringed()->count; i++) {
        redisReply *log = server_command(ringed()->nodes[i], "ACL LOG");

        assert_int_equal(log->type, REDIS_REPLY_ARRAY);
        for (size_t k = 0; k < log->elements; k++)
            assert_helps(log->element[k]);
        freeReplyObject(log);
    }
}

static lk_client *open_as_user(void)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT, .user = "app",
                                       .password = "secret",
                                       .watchdog_ms = wait_lease_ms()};

    return ringed_open(&options);
}

MADE_TEST(the_rights_of_a_cluster_are_printed)
{
    assert_non_null(strstr(rules, " +asking "));
    assert_non_null(strstr(rules, " +cluster|slots "));
    assert_tool(NULL, 0, NULL, NULL, "doctor", "--acl", NULL);
    {
        tool *t = tool_start(NULL, "doctor", "--acl", NULL);

        assert_int_equal(tool_wait(t, RINGED_LONG_MS), 0);
        assert_null(strstr(tool_out(t), "+asking"));
        tool_free(t);
    }
    assert_tool(&how, 0, "\"asking\",", "", "doctor", "--acl", "--json", NULL);
}

/* Holding, renewing, waiting and handing over, at each master, and in a slot that
   moves, half of it for a while. */
MADE_TEST(they_are_enough)
{
    lk_client *holder = open_as_user(), *waiter = open_as_user();

    order_all("ACL LOG RESET");
    for (size_t i = 0; i < RINGED_MASTERS; i++) {
        char name[RINGED_NAME];
        lk_lock *held =
            made_lock(holder, ringed_name(name, "app:", ringed()->nodes[i]));
        lk_lock *wanted = made_lock(waiter, name);
        lk_hold *hold = made_hold(held);
        server *to = ringed_other(name);
        lk_info *info = NULL;
        call c = {0};

        ringed_take(&c, wanted);
        ringed_wait_line(ringed()->nodes[i], name, 1);
        assert_status(lk_lock_info(held, &info), LK_OK);
        assert_int_equal(info->waiter_count, 1);
        lk_info_free(info);
        cluster_move_begin(ringed(), ringed_slot(name), to);
        (void)cluster_move_keys(ringed(), ringed_slot(name), to, 1000);
        ringed_wait_renewals(holder, 3);
        cluster_move_end(ringed(), ringed_slot(name), to);
        ringed_wait_renewals(holder, 3);
        assert_status(lk_hold_release(hold), LK_OK);
        assert_status(call_wait(&c, waiter), LK_OK);
        assert_status(lk_hold_release(c.hold), LK_OK);
        cluster_move(ringed(), ringed_slot(name), ringed()->nodes[i]);
    }
    (void)made_end(NULL); /* they say goodbye, too */
    assert_nothing_was_denied();
}

MADE_TEST(the_doctor_misses_none_of_them)
{
    char as_user[300];
    tool_how user = {.url = as_user};
    tool *t;

    (void)snprintf(as_user, sizeof(as_user),
                   "redis+cluster://app:secret@127.0.0.1:%u",
                   server_port(ringed()->nodes[1]));
    t = tool_start(&user, "doctor", "--quiet", "--watch", "0", NULL);
    assert_int_equal(tool_wait(t, RINGED_LONG_MS), 0);
    if (strstr(tool_out(t), "rights") != NULL)
        fail_msg("%s", tool_out(t));
    tool_free(t);
    order_all("ACL SETUSER app -asking");
    order_all("ACL SETUSER app -zadd");
    assert_tool(&user, 69, "+asking is denied", NULL, "doctor", "--quiet",
                "--watch", "0", NULL);
    assert_tool(&user, 0, "+asking is denied", NULL, "doctor", "--quiet",
                "--for", "cell", "--watch", "0", NULL);
}

/* ---- one right less --------------------------------------------------------------- */

/* The first step that did not succeed; NULL: all did. */
typedef struct outcome {
    const char *step;
    lk_status status;
    char words[256];
} outcome;

static bool
told(outcome *o, const char *step, lk_status status, const char *words)
{
    if (status != LK_OK && o->step == NULL) {
        o->step = step;
        o->status = status;
        (void)snprintf(o->words, sizeof(o->words), "%s", words);
    }
    return status == LK_OK;
}

static void give(outcome *o, lk_hold *hold)
{
    lk_status status = lk_hold_release(hold);

    (void)told(o, "release", status, lk_last_error());
}

/* A node has denied a command of the rules, or a channel. */
static bool was_denied(const char *word)
{
    const char *kind = word[0] == '+' ? "command" : "channel";
    bool was = false;

    for (size_t i = 0; i < ringed()->count; i++) {
        redisReply *log = server_command(ringed()->nodes[i], "ACL LOG");

        for (size_t k = 0; k < log->elements; k++)
            was |= strcmp(log->element[k]->element[3]->str, kind) == 0 &&
                   (word[0] != '+' ||
                    strcmp(log->element[k]->element[7]->str, word + 1) == 0);
        freeReplyObject(log);
    }
    return was;
}

typedef struct line_end {
    server *at;
    const char *name;
    call *call;
} line_end;

static bool has_come(void *data)
{
    const line_end *end = data;

    return atomic_load(&end->call->ends) > 0 ||
           server_integer(end->at,
                          strchr(end->name, '{') != NULL
                              ? "EXISTS latchkey::%s:q"
                              : "EXISTS latchkey:{%s}:q",
                          end->name) == 1;
}

typedef struct renewed {
    lk_client *client;
    lk_hold *hold;
    uint64_t least;
} renewed;

static uint64_t renewals_of(lk_client *client)
{
    lk_client_stats stats = {.size = sizeof(stats)};

    assert_status(lk_client_stats_get(client, &stats), LK_OK);
    return stats.renewals;
}

static bool is_renewed(void *data)
{
    const renewed *r = data;

    return lk_hold_check(r->hold) != LK_OK ||
           renewals_of(r->client) >= r->least;
}

/* Half of it for a while, in which the hold is renewed, unless it may not be. */
static void move_slot(const char *name, lk_client *holder, lk_hold *hold)
{
    server *to = ringed_other(name);
    renewed r = {holder, hold, renewals_of(holder) + 1};

    cluster_move_begin(ringed(), ringed_slot(name), to);
    (void)cluster_move_keys(ringed(), ringed_slot(name), to, 1000);
    (void)wait_until(is_renewed, &r, 2 * wait_lease_ms());
    (void)cluster_move_keys(ringed(), ringed_slot(name), to, 1000);
    cluster_move_end(ringed(), ringed_slot(name), to);
}

/* One holds, another one waits, and the slot moves to another master meanwhile. */
static void play(outcome *o, const char *name)
{
    const int64_t most_ms = 4 * (int64_t)wait_lease_ms();
    lk_client *holder = open_as_user(), *waiter = open_as_user();
    lk_lock *held = made_lock(holder, name);
    lk_lock *wanted = made_lock(waiter, name);
    lk_hold *hold = NULL;
    call c = {0};
    line_end end = {ringed_master(name), name, &c};

    if (told(o, "acquire", lk_lock_acquire(held, most_ms, NULL, &hold),
             lk_last_error()) &&
        told(o, "wait",
             lk_lock_acquire_async(wanted, most_ms, NULL, call_on_acquire, &c),
             lk_last_error())) {
        (void)wait_until(has_come, &end, wait_lease_ms() / 2);
        move_slot(name, holder, hold);
        give(o, hold);
        hold = NULL;
        if (told(o, "wait", call_wait(&c, NULL), c.words))
            give(o, c.hold);
    }
    if (hold != NULL)
        give(o, hold);
    (void)lk_client_shutdown(holder, most_ms);
    (void)lk_client_shutdown(waiter, most_ms);
}

/* Nobody holds it for longer than a lease. */
static void assert_free(const char *name)
{
    lk_client *client = ringed_open(NULL);
    lk_lock *lock = made_lock(client, name);

    assert_status(lk_hold_release(made_hold(lock)), LK_OK);
}

/* Returns whether it goes on without. */
static bool goes_on_without(const char *word, const char *name)
{
    char order[sizeof(rules) + 64], first[32];
    char *less = rights_without(rules, word);
    outcome o = {.step = NULL};

    (void)snprintf(order, sizeof(order), "ACL SETUSER app reset on >secret %s",
                   less);
    free(less);
    order_all(order);
    order_all("ACL LOG RESET");
    play(&o, name);
    if (!was_denied(word))
        fail_msg("%s is not met", word);
    (void)snprintf(first, sizeof(first), "%s", word + 1);
    first[strcspn(first, "|")] = '\0';
    if (o.step != NULL && (o.status == LK_EDENIED || o.status == LK_ELOST) &&
        word[0] == '+' && strcasestr(o.words, first) == NULL &&
        strstr(o.words, "can't run this command") == NULL)
        fail_msg("%s: %s: %s", word, o.step, o.words);
    if (o.step != NULL && o.status != LK_EDENIED && o.status != LK_ETIMEDOUT &&
        o.status != LK_EINDOUBT && o.status != LK_ELOST)
        fail_msg("%s: %s: %s, %s", word, o.step, lk_status_name(o.status),
                 o.words);
    print_message("%s: %s%s%s\n", word, o.step != NULL ? o.step : "goes on",
                  o.step != NULL ? ": " : "", o.step != NULL ? o.words : "");
    assert_free(name);
    (void)made_end(NULL);
    return o.step == NULL;
}

/* What a cluster alone needs: what is not printed for a server. Two of them; with
   LK_LONG all. */
MADE_TEST(each_of_them_is_missed_by_name_or_not_needed)
{
    const unsigned step = getenv("LK_LONG") != NULL ? 1 : 4;
    char *plain = rights_printed(NULL, "app:"), *copy = strdup(rules), *rest;
    unsigned turn = 0, needed = 0;
    char name[RINGED_NAME];

    assert_non_null(copy);
    (void)ringed_name(name, "app:", ringed()->nodes[0]);
    for (char *word = strtok_r(copy, " ", &rest); word != NULL;
         word = strtok_r(NULL, " ", &rest)) {
        const char *at = strstr(plain, word);
        size_t size = strlen(word);

        while (at != NULL && at[size] != ' ' && at[size] != '\0')
            at = strstr(at + 1, word);
        if (at == NULL && turn++ % step == 0)
            needed +=
                !goes_on_without(word, strncmp(word, "&latchkey::", 11) == 0
                                           ? "app:{b}1"
                                           : name);
    }
    assert_true(turn >= 7);
    assert_true(needed > 0);
    free(copy);
    free(plain);
}

CHECK_GROUP(start, stop)
