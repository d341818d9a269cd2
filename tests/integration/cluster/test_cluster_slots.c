/* SPDX-License-Identifier: MIT */

/*
 * The map of slots and the redirections, out of what real nodes say. Of the map
 * they tell in another form, CLUSTER NODES, as well: both have to agree.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/slot.h"
#include "server/redirect.h"
#include "server/slots.h"
#include "support/check.h"
#include "support/cluster.h"
#include "support/wait.h"

enum { SOON_MS = 60000 };

static cluster *c;

static int start(NO_STATE)
{
    c = cluster_start(2, 0);
    return c != NULL ? 0 : -1;
}

static int stop(NO_STATE)
{
    cluster_stop(c);
    return 0;
}

static unsigned slot(void)
{
    return lk__slot_of("{t}", strlen("{t}"));
}

static lk__slots *map_of(server *node)
{
    redisReply *reply = server_command(node, "CLUSTER SLOTS");
    lk__slots *slots = NULL;
    const char *words = NULL;
    lk_status status = lk__slots_new(&slots, reply, "127.0.0.1", &words);

    if (status != LK_OK)
        fail_msg("%s: %s", lk_status_name(status), words);
    freeReplyObject(reply);
    return slots;
}

static bool is_at(const lk__endpoint *master, const server *node)
{
    return master != NULL && master->port == server_port(node) &&
           strcmp(master->host, "127.0.0.1") == 0;
}

/* ---- the same by CLUSTER NODES ------------------------------------------------ */

/* Which port serves each slot; 0: none. */
typedef struct ports {
    unsigned of[LK__SLOTS];
} ports;

/* One word behind the eight of a line: a slot, a range, or "[slot->-id]". */
static void word_note(ports *p, const char *word, unsigned port)
{
    char *rest;
    unsigned long first = strtoul(word, &rest, 10);
    unsigned long last = *rest == '-' ? strtoul(rest + 1, NULL, 10) : first;

    if (word[0] == '[')
        return;
    assert_in_range(last, first, LK__SLOTS - 1);
    for (unsigned long i = first; i <= last; i++)
        p->of[i] = port;
}

/* "id host:port@bus flags master ping pong epoch link slots ..." */
static void line_note(ports *p, char *line)
{
    char *rest = NULL;
    unsigned port = 0, count = 0;

    for (const char *word = strtok_r(line, " ", &rest); word != NULL;
         word = strtok_r(NULL, " ", &rest)) {
        if (++count == 2)
            port = (unsigned)strtoul(strchr(word, ':') + 1, NULL, 10);
        if (count > 8)
            word_note(p, word, port);
    }
}

static ports *ports_of(server *node)
{
    ports *p = calloc(1, sizeof(*p));
    char *text = server_string(node, "CLUSTER NODES");
    char *rest = NULL;

    assert_non_null(p);
    for (char *line = strtok_r(text, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest))
        line_note(p, line);
    free(text);
    return p;
}

static void assert_agrees(server *node)
{
    lk__slots *slots = map_of(node);
    ports *p = ports_of(node);

    for (unsigned i = 0; i < LK__SLOTS; i++) {
        const lk__endpoint *master = lk__slots_owner(slots, i);

        assert_int_equal(master != NULL ? master->port : 0, p->of[i]);
    }
    free(p);
    lk__slots_free(slots);
}

/* ---- redirections ----------------------------------------------------------- */

static lk__redirect redirect_of(server *node, unsigned of, const char *command)
{
    redisReply *reply = server_command(node, command);
    lk__redirect redirect;

    lk__redirect_read(&redirect, reply, of, "127.0.0.1");
    if (redirect.kind == LK__REDIRECT_BAD)
        fail_msg("not understood: %s", reply->str);
    freeReplyObject(reply);
    return redirect;
}

static lk__redirect_kind kind_of(server *node, const char *command)
{
    return redirect_of(node, LK__SLOTS, command).kind;
}

/* ---- tests -------------------------------------------------------------------- */

CHECK_TEST(every_node_tells_every_master)
{
    for (size_t i = 0; i < c->count; i++) {
        lk__slots *slots = map_of(c->nodes[i]);

        assert_agrees(c->nodes[i]);
        assert_true(is_at(lk__slots_owner(slots, 0), c->nodes[0]));
        assert_true(is_at(lk__slots_owner(slots, LK__SLOTS - 1), c->nodes[1]));
        assert_int_equal(slots->master_count, 2);
        lk__slots_free(slots);
    }
}

/* Whether each slot has the same master in both. */
static bool is_same(const lk__slots *a, const lk__slots *b)
{
    for (unsigned i = 0; i < LK__SLOTS; i++) {
        const lk__endpoint *of_a = lk__slots_owner(a, i);
        const lk__endpoint *of_b = lk__slots_owner(b, i);

        if (of_a == NULL || of_b == NULL ? of_a != of_b
                                         : !lk__endpoint_same(of_a, of_b))
            return false;
    }
    return true;
}

CHECK_TEST(a_slot_that_moves_is_its_old_masters_until_the_end)
{
    server *from = cluster_master_of(c, slot());
    server *to = c->nodes[from == c->nodes[0]];
    lk__slots *before = map_of(from), *during, *after;
    lk__redirect redirect;

    freeReplyObject(server_command(from, "MSET {t}1 x {t}2 x"));
    redirect = redirect_of(to, slot(), "GET {t}1");
    assert_int_equal(redirect.kind, LK__REDIRECT_MOVED);
    assert_true(is_at(&redirect.to, from));

    cluster_move_begin(c, slot(), to);
    assert_int_equal(cluster_move_keys(c, slot(), to, 1), 1);
    assert_agrees(from);
    assert_agrees(to);
    during = map_of(from);
    assert_true(is_same(before, during));
    redirect = redirect_of(from, slot(), "GET {t}new");
    assert_int_equal(redirect.kind, LK__REDIRECT_ASK);
    assert_true(is_at(&redirect.to, to));
    freeReplyObject(server_command(to, "ASKING"));
    assert_int_equal(kind_of(to, "MGET {t}1 {t}2"), LK__REDIRECT_TRYAGAIN);
    assert_int_equal(kind_of(from, "MGET {t}1 {u}1"), LK__REDIRECT_CROSSSLOT);

    assert_int_equal(cluster_move_keys(c, slot(), to, 10), 1);
    cluster_move_end(c, slot(), to);
    assert_agrees(from);
    after = map_of(from);
    assert_false(is_same(before, after));
    assert_true(is_at(lk__slots_owner(after, slot()), to));
    cluster_move(c, slot(), from);
    lk__slots_free(before);
    lk__slots_free(during);
    lk__slots_free(after);
}

CHECK_TEST(a_script_with_a_key_of_another_node_is_told_apart)
{
    server *node = cluster_master_of(c, slot());
    redisReply *reply;
    lk__redirect redirect;
    char key[16] = "0";

    for (int i = 1; cluster_master_of(c, lk__slot_of(key, strlen(key))) == node;
         i++)
        (void)snprintf(key, sizeof(key), "%d", i);
    reply = server_command(node, "EVAL %s 1 {t} %s",
                           "return redis.call('GET', ARGV[1])", key);
    lk__redirect_read(&redirect, reply, slot(), "127.0.0.1");
    assert_int_equal(redirect.kind, LK__REDIRECT_FOREIGN);
    freeReplyObject(reply);
}

static bool forgets(void *data)
{
    redisReply *reply = server_ask(data, "CLUSTER DELSLOTS 7");
    lk__slots *slots = map_of(data);
    bool has_none = lk__slots_owner(slots, 7) == NULL;

    freeReplyObject(reply);
    lk__slots_free(slots);
    return has_none;
}

CHECK_TEST(a_slot_may_be_nobodys)
{
    server *owner = cluster_master_of(c, 7);

    assert_true(wait_until(forgets, owner, SOON_MS));
    assert_agrees(owner);
    assert_int_equal(redirect_of(owner, 7, "GET 41432").kind,
                     LK__REDIRECT_DOWN);
    assert_true(node_own(owner, 7, 7));
    cluster_wait_whole(c);
}

static void told(server *node, const char *setting, const char *value)
{
    char *ok = server_string(node, "CONFIG SET %s %s", setting, value);

    assert_string_equal(ok, "OK");
    free(ok);
}

/* By setting, and where a host has no name to tell. */
CHECK_TEST(a_node_without_a_host_is_the_one_that_was_asked)
{
    static const char setting[] = "cluster-preferred-endpoint-type";
    redisReply *known = server_command(c->nodes[0], "CONFIG GET %s", setting);
    bool has_it = known->elements == 2;
    lk__slots *before;

    freeReplyObject(known);
    if (!has_it)
        skip(); /* Redis 6 */
    before = map_of(c->nodes[0]);
    for (size_t i = 0; i < 2; i++) {
        lk__redirect redirect;
        lk__slots *slots;

        told(c->nodes[0], setting, i == 0 ? "unknown-endpoint" : "hostname");
        slots = map_of(c->nodes[0]);
        assert_true(is_same(before, slots));
        redirect = redirect_of(c->nodes[0], slot(), "GET {t}");
        assert_true(is_at(&redirect.to, c->nodes[1]));
        lk__slots_free(slots);
    }
    told(c->nodes[0], setting, "ip");
    lk__slots_free(before);
}

CHECK_GROUP(start, stop)
