/* SPDX-License-Identifier: MIT */
#include "support/played_cluster.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"

enum { MAP_SIZE = 64 * 1024, INFO_SIZE = 256 };

static size_t number_of(const fake_link *link)
{
    const char *host = link->address.host;

    assert_int_equal(host[0], 'n');
    return strtoul(host + 1, NULL, 10);
}

/* How many parts from this one on have the same master. */
static size_t run_of(const played_node *node, size_t part)
{
    size_t end = part + 1;

    while (end < PLAYED_PARTS && node->named[end] == node->named[part])
        end++;
    return end - part;
}

static void answer_map(const played_node *node, fake_link *link)
{
    static char text[MAP_SIZE];
    size_t ranges = 0, size = 0, count;
    char host[8];

    for (size_t part = 0; part < PLAYED_PARTS; part += run_of(node, part))
        ranges += node->named[part] != PLAYED_NOBODY;
    size = (size_t)snprintf(text, sizeof(text), "*%zu\r\n", ranges);
    for (size_t part = 0; part < PLAYED_PARTS; part += count) {
        count = run_of(node, part);
        if (node->named[part] == PLAYED_NOBODY)
            continue;
        (void)snprintf(host, sizeof(host), "n%u", (unsigned)node->named[part]);
        size += (size_t)
            snprintf(text + size, sizeof(text) - size,
                     "*3\r\n:%zu\r\n:%zu\r\n*2\r\n$%zu\r\n%s\r\n:6379\r\n",
                     part * PLAYED_PART, (part + count) * PLAYED_PART - 1,
                     strlen(host), host);
    }
    fake_say_in(link, node->slow_ms * FAKE_MS, text);
}

static void
answer_info(const played_node *node, fake_link *link, const char *about)
{
    char words[INFO_SIZE], text[INFO_SIZE + 32];
    const char *before = node->is_young
                             ? "1234567890123456789012345678901234567890"
                             : "0000000000000000000000000000000000000000";

    if (strcmp(about, "server") == 0)
        (void)snprintf(words, sizeof(words),
                       "run_id:%s\r\nuptime_in_seconds:5000\r\n",
                       link->address.host);
    else
        (void)snprintf(words, sizeof(words),
                       "role:%s\r\nmaster_replid:%s-%u\r\n"
                       "master_replid2:%s\r\n",
                       node->is_replica ? "slave" : "master",
                       link->address.host, node->data, before);
    (void)snprintf(text, sizeof(text), "$%zu\r\n%s\r\n", strlen(words), words);
    fake_say(link, text);
}

static bool is_of_shards(const char *word)
{
    return strcmp(word, "SSUBSCRIBE") == 0 || strcmp(word, "SUNSUBSCRIBE") == 0;
}

static void answer_shards(played_node *node, fake_link *link, const char **argv)
{
    bool ends = strcmp(argv[0], "SUNSUBSCRIBE") == 0;
    const char *word = ends ? "sunsubscribe" : "ssubscribe";
    char text[INFO_SIZE];

    node->unsubscribed += ends;
    (void)snprintf(text, sizeof(text),
                   "*3\r\n$%zu\r\n%s\r\n$%zu\r\n%s\r\n:1\r\n", strlen(word),
                   word, strlen(argv[1]), argv[1]);
    fake_say_in(link, node->slow_ms * FAKE_MS, text);
}

/* What it refuses that with; NULL: it does not. */
static const char *
refusal_of(const played_node *node, const char *word, bool is_script)
{
    if (!is_script && strcmp(word, "PING") != 0)
        return NULL;
    if (node->loads)
        return "-LOADING Redis is loading the dataset in memory\r\n";
    if (node->is_replica && is_script)
        return "-READONLY You can't write against a read only replica.\r\n";
    return is_script ? node->says : NULL;
}

int played_node_connect(played *p, const fake_link *link)
{
    played_node *node = &p->nodes[number_of(link)];

    node->connects++;
    return node->connect_answer;
}

static void
note(played_node *node, fake_link *link, const char *word, bool is_script)
{
    node->scripts += is_script;
    if (is_script)
        node->script_link = link;
    node->askings += strcmp(word, "ASKING") == 0;
    node->maps += strcmp(word, "CLUSTER") == 0;
    node->waits += strcmp(word, "WAIT") == 0;
}

bool played_node_command(played *p, fake_link *link, int argc,
                         const char **argv)
{
    played_node *node = &p->nodes[number_of(link)];
    bool is_script = strncmp(argv[0], "EVAL", 4) == 0 && argv[2][0] != '0';
    const char *refusal = refusal_of(node, argv[0], is_script);

    note(node, link, argv[0], is_script);
    if (node->is_mute)
        return true;
    if (strcmp(argv[0], "CLUSTER") == 0 && node->hides_map)
        fake_say(link, "-NOPERM no right to run 'cluster|slots'\r\n");
    else if (strcmp(argv[0], "CLUSTER") == 0)
        answer_map(node, link);
    else if (strcmp(argv[0], "INFO") == 0 && argc > 1)
        answer_info(node, link, argv[1]);
    else if (refusal != NULL)
        fake_say_in(link, node->slow_ms * FAKE_MS, refusal);
    else if (strcmp(argv[0], "WAIT") == 0)
        fake_say(link, ":1\r\n");
    else if (node->has_shards && is_of_shards(argv[0]) && argc > 1)
        answer_shards(node, link, argv);
    else if (node->has_shards && is_of_shards(argv[0]))
        fake_say(link, "-ERR wrong number of arguments\r\n");
    else
        return false;
    return true;
}

void played_name(played *p, size_t node, size_t before, size_t now)
{
    uint16_t *named = p->nodes[node].named;

    for (size_t part = 0; part < PLAYED_PARTS; part++) {
        if (named[part] == before)
            named[part] = (uint16_t)now;
    }
}

void played_replace(played *p, size_t before, size_t now)
{
    for (size_t i = 0; i < p->node_count; i++)
        played_name(p, i, before, now);
}

unsigned played_slot(void)
{
    return lk__slot_of("n", 1);
}

lk_lock *played_lock_at(played *p, size_t node)
{
    static unsigned last;
    lk_lock *lock = NULL;
    char name[16];

    do
        (void)snprintf(name, sizeof(name), "m%u", last++);
    while (p->nodes[0].named[lk__slot_of(name, strlen(name)) / PLAYED_PART] !=
           node);
    assert_status(lk_lock_new(&lock, p->client, name, NULL), LK_OK);
    return lock;
}

void played_kill(played *p, size_t node)
{
    fake_link *link;

    p->nodes[node].connect_answer = -ECONNREFUSED;
    for (unsigned i = 0; (link = fake_world_link(p->world, i)) != NULL; i++) {
        if (number_of(link) == node)
            fake_break(link);
    }
}

played_node *played_nodes_new(size_t masters, size_t count)
{
    played_node *nodes = calloc(count, sizeof(*nodes));

    assert_non_null(nodes);
    for (size_t i = 0; i < count; i++) {
        nodes[i].is_young = true;
        for (size_t part = 0; part < PLAYED_PARTS; part++)
            nodes[i].named[part] = (uint16_t)(part * masters / PLAYED_PARTS);
    }
    return nodes;
}
