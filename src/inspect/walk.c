/* SPDX-License-Identifier: MIT */

/* Going through the key space; see walk.h. */

#include "inspect/walk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/container.h"
#include "base/mem.h"
#include "claims/cluster.h"
#include "claims/node.h"
#include "claims/work.h"
#include "inspect/walk_map.h"
#include "server/reply.h"

#define MS UINT64_C(1000000)

enum {
    SCAN_COUNT = 300, /* keys that the server looks at in one step */
    ROUNDS_LEAST = 5, /* before what moves on and on is left out */
    CHECKS_MOST = 8,  /* for a master that is not known yet, */
    CHECK_MS = 250    /* so far apart */
};

struct part_scan {
    lk__probing probing; /* first */
    struct lk__walk_part *part;
    size_t find;
    char cursor[24]; /* of the step to come */
};

struct lk__walk_part {
    struct lk__walk_part *next;
    lk__walk *walk;
    lk__node *node;
    unsigned short number; /* from 1 */
    uint64_t ms;
    lk__probing time, nodes;
    char *line;     /* what it said of itself last; NULL: nothing */
    unsigned epoch; /* as the line says */
    bool is_wanted;
    struct part_scan scans[LK__WALK_FINDS];
};

static void step_over(lk__walk *walk);

static void one_over(lk__walk *walk)
{
    if (--walk->left == 0)
        step_over(walk);
}

/* ---- parts -------------------------------------------------------------------- */

static void time_take(lk__probing *probing, const redisReply *reply)
{
    struct lk__walk_part *part =
        LK__CONTAINER_OF(probing, struct lk__walk_part, time);

    part->ms = strtoull(lk__reply_text_at(reply, 0), NULL, 10) * 1000 +
               strtoull(lk__reply_text_at(reply, 1), NULL, 10) / 1000;
}

static void time_miss(lk__probing *probing)
{
    (void)probing; /* what else is asked there is missed, too */
}

/* NULL: no memory, and the probe has ended. */
static struct lk__walk_part *part_new(lk__walk *walk, lk__node *node)
{
    struct lk__walk_part *part = lk__alloc(sizeof(*part));
    lk__arg args[1] = {lk__arg_text("TIME")};

    if (part == NULL) {
        lk__probe_end(walk->probe, LK_ENOMEM, NULL);
        return NULL;
    }
    part->walk = walk;
    part->node = node;
    part->number = walk->first != NULL ? walk->first->number + 1 : 1;
    part->next = walk->first;
    walk->first = part;
    part->time.take = time_take;
    part->time.miss = time_miss;
    lk__probe_send_to(walk->probe, node, &part->time, 1, args);
    return part;
}

static struct lk__walk_part *
part_find(const lk__walk *walk, const lk__node *node)
{
    struct lk__walk_part *part = walk->first;

    while (part != NULL && part->node != node)
        part = part->next;
    return part;
}

static struct lk__walk_part *part_of(lk__walk *walk, lk__node *node)
{
    struct lk__walk_part *part = part_find(walk, node);

    return part != NULL ? part : part_new(walk, node);
}

/* A master of a cluster that has just begun, and still reads its data, has no
   keys to tell: the others go on, and it is said to be missing. */
static bool is_left_out(const struct lk__walk_part *part, lk_status status)
{
    if (status != LK_ELOADING || part->walk->map == NULL)
        return false;
    lk__probe_note(part->walk->probe, part->node, "it still loads its data");
    return true;
}

/* ---- scanning ------------------------------------------------------------------- */

static void scan_send(struct part_scan *scan)
{
    lk__walk *walk = scan->part->walk;
    lk__arg args[8] = {lk__arg_text("SCAN"),
                       lk__arg_text(scan->cursor),
                       lk__arg_text("MATCH"),
                       lk__arg_text(walk->finds[scan->find].match),
                       lk__arg_text("COUNT"),
                       lk__arg_number(SCAN_COUNT),
                       lk__arg_text("TYPE"),
                       lk__arg_text(walk->finds[scan->find].type)};

    lk__probe_send_to(walk->probe, scan->part->node, &scan->probing, 8, args);
}

static void scan_take(lk__probing *probing, const redisReply *reply)
{
    struct part_scan *scan = (struct part_scan *)(void *)probing;
    lk__walk *walk = scan->part->walk;
    const redisReply *keys = lk__reply_at(reply, 1);
    lk_status status = lk__reply_status(reply);

    if (is_left_out(scan->part, status)) {
        one_over(walk);
        return;
    }
    if (status != LK_OK || keys == NULL || keys->type != REDIS_REPLY_ARRAY) {
        lk__probe_end(walk->probe, status != LK_OK ? status : LK_EPROTO,
                      lk__reply_words(reply));
        return;
    }
    for (size_t i = 0; i < keys->elements; i++) {
        if (keys->element[i]->type == REDIS_REPLY_STRING)
            walk->found(walk, scan->find, keys->element[i]);
    }
    snprintf(scan->cursor, sizeof(scan->cursor), "%s",
             lk__reply_text_at(reply, 0));
    if (strcmp(scan->cursor, "0") != 0 && !walk->is_full)
        scan_send(scan);
    else
        one_over(walk);
}

static void scan_miss(lk__probing *probing)
{
    one_over(((struct part_scan *)(void *)probing)->part->walk);
}

/* A cursor means nothing to another process. */
static void scan_anew(lk__probing *probing)
{
    struct part_scan *scan = (struct part_scan *)(void *)probing;

    snprintf(scan->cursor, sizeof(scan->cursor), "0");
    scan_send(scan);
}

static void part_scans(struct lk__walk_part *part)
{
    for (size_t i = 0; i < part->walk->find_count; i++) {
        struct part_scan *scan = &part->scans[i];

        scan->part = part;
        scan->find = i;
        scan->probing.take = scan_take;
        scan->probing.miss = scan_miss;
        scan->probing.again = scan_anew;
        scan_anew(&scan->probing);
    }
}

/* Goes through all that are wanted. */
static void scan(lk__walk *walk)
{
    walk->left = 1; /* this step */
    for (struct lk__walk_part *part = walk->first; part != NULL;
         part = part->next) {
        if (!part->is_wanted)
            continue;
        walk->left += (unsigned)walk->find_count;
        part_scans(part);
    }
    one_over(walk);
}

/* ---- who has which slots ------------------------------------------------------------ */

static void check(lk__walk *walk);

static void on_nap_over(lk__nap *nap)
{
    lk__walk *walk = LK__CONTAINER_OF(nap, lk__walk, nap);
    lk__probe *probe = walk->probe;

    probe->busy--;
    if (probe->call.client->state != LK__CLIENT_OPEN)
        lk__probe_end(probe, LK_ECLOSED, NULL);
    if (!probe->call.done)
        check(walk);
    lk__probe_settle(probe);
}

static void nodes_take(lk__probing *probing, const redisReply *reply)
{
    struct lk__walk_part *part =
        LK__CONTAINER_OF(probing, struct lk__walk_part, nodes);
    lk__walk *walk = part->walk;
    lk_status status = lk__reply_status(reply);
    size_t size = 0;
    const char *line = reply->type == REDIS_REPLY_STRING
                           ? lk__own_line(reply->str, &size)
                           : NULL;

    if (is_left_out(part, status)) {
        one_over(walk);
        return;
    }
    if (status != LK_OK || line == NULL) {
        lk__probe_end(walk->probe, status != LK_OK ? status : LK_EPROTO,
                      lk__reply_words(reply));
        return;
    }
    part->line = lk__strndup(line, size);
    if (part->line == NULL)
        lk__probe_end(walk->probe, LK_ENOMEM, NULL);
    else
        one_over(walk);
}

static void nodes_miss(lk__probing *probing)
{
    one_over((LK__CONTAINER_OF(probing, struct lk__walk_part, nodes))->walk);
}

static void nodes_send(struct lk__walk_part *part)
{
    lk__arg args[2] = {lk__arg_text("CLUSTER"), lk__arg_text("NODES")};

    part->nodes.take = nodes_take;
    part->nodes.miss = nodes_miss;
    lk__probe_send_to(part->walk->probe, part->node, &part->nodes, 2, args);
}

/* Asks all masters. */
static void check(lk__walk *walk)
{
    const lk_client *client = walk->probe->call.client;

    for (struct lk__walk_part *part = walk->first; part != NULL;
         part = part->next) {
        lk__free(part->line);
        part->line = NULL;
    }
    walk->checks++;
    walk->left = 1;
    for (lk__node *node = lk__cluster_next(client, NULL); node != NULL;
         node = lk__cluster_next(client, node)) {
        struct lk__walk_part *part = part_of(walk, node);

        if (part == NULL)
            return;
        walk->left++;
        nodes_send(part);
    }
    one_over(walk);
}

/* ---- from step to step ----------------------------------------------------------------- */

static void
note_slots(void *data, lk__slot_word word, unsigned first, unsigned last)
{
    const struct lk__walk_part *part = data;
    lk__walk_slots *now = &part->walk->map->now;

    for (unsigned slot = first; slot <= last; slot++) {
        if (word != LK__SLOT_HAS) {
            now->moves[slot] = true;
            continue;
        }
        now->owners[slot] = part->number;
        now->epochs[slot] = part->epoch;
    }
}

/* Whether keys of an open slot come to it. */
static void
look_for_open(void *data, lk__slot_word word, unsigned first, unsigned last)
{
    struct lk__walk_part *part = data;

    (void)last;
    if (word == LK__SLOT_COMES && part->walk->map->open[first])
        part->is_wanted = true;
}

static void want_firsts(lk__walk *walk)
{
    const lk__walk_map *map = walk->map;
    struct lk__walk_part *part;

    for (part = walk->first; part != NULL; part = part->next)
        part->is_wanted = false;
    for (unsigned slot = 0; slot < LK__SLOTS; slot++) {
        unsigned owner = map->open[slot] ? map->now.owners[slot] : 0;

        for (part = walk->first; owner != 0 && part != NULL; part = part->next)
            part->is_wanted = part->is_wanted || part->number == owner;
    }
}

static void want_seconds(lk__walk *walk)
{
    for (struct lk__walk_part *part = walk->first; part != NULL;
         part = part->next) {
        part->is_wanted = false;
        if (part->line != NULL)
            lk__line_read(part->line, look_for_open, part);
    }
}

static void want_all(lk__walk *walk)
{
    for (struct lk__walk_part *part = walk->first; part != NULL;
         part = part->next)
        part->is_wanted = part->line != NULL;
}

static void finish(lk__walk *walk, size_t open)
{
    lk__probe *probe = walk->probe;
    const lk_client *client = probe->call.client;

    lk__probe_sift_missed(probe);
    for (unsigned slot = 0; slot < LK__SLOTS; slot++) {
        if (walk->map->now.owners[slot] == 0)
            lk__probe_note(probe, lk__cluster_node(client, slot), NULL);
    }
    if (open > 0)
        lk__probe_note(probe, NULL, "slots that moved all the while");
    if (!probe->call.done)
        walk->over(walk);
}

static void map_read(lk__walk *walk)
{
    memset(&walk->map->now, 0, sizeof(walk->map->now));
    for (struct lk__walk_part *part = walk->first; part != NULL;
         part = part->next) {
        if (part->line == NULL)
            continue;
        part->epoch = lk__line_epoch(part->line);
        lk__line_read(part->line, note_slots, part);
    }
}

/* What moves faster than a round goes by is waited for as a master that is away.
   Rounds alone say nothing of how long it has moved. */
static bool is_given_up(lk__walk *walk)
{
    uint64_t now = lk__client_now(walk->probe->call.client);

    if (walk->round == 1)
        walk->until = now + lk__probe_patience(walk->probe);
    return walk->round >= ROUNDS_LEAST && now >= walk->until;
}

/* All have been asked. */
static void checked(lk__walk *walk)
{
    lk__walk_map *map = walk->map;
    size_t open = 0;

    map_read(walk);
    if (walk->round > 0)
        open = lk__walk_map_judge(map, walk->round == 1);
    if (open > 0 && lk__walk_map_has_hole(map) && walk->checks < CHECKS_MOST) {
        walk->probe->busy++;
        walk->nap.client = walk->probe->call.client;
        walk->nap.over = on_nap_over;
        lk__nap_take(&walk->nap, CHECK_MS * MS);
        return;
    }
    if (walk->round > 0 && (open == 0 || is_given_up(walk))) {
        finish(walk, open);
        return;
    }
    if (walk->round == 0)
        want_all(walk);
    else
        want_firsts(walk);
    map->before = map->now;
    walk->checks = 0;
    walk->seconds = walk->round == 0;
    scan(walk);
}

static void step_over(lk__walk *walk)
{
    if (walk->probe->call.done)
        return;
    if (walk->map == NULL || walk->is_full) {
        walk->over(walk);
    } else if (walk->checks > 0) {
        checked(walk);
    } else if (!walk->seconds) {
        walk->seconds = true;
        want_seconds(walk);
        scan(walk);
    } else {
        walk->round++;
        check(walk);
    }
}

/* ---- the walk -------------------------------------------------------------------------- */

void lk__walk_begin(lk__walk *walk, lk__probe *probe)
{
    const lk_client *client = probe->call.client;
    struct lk__walk_part *part;

    walk->probe = probe;
    if (client->work->cluster == NULL) {
        part = part_new(walk, client->node);
        if (part == NULL)
            return;
        part->is_wanted = true;
        scan(walk);
        return;
    }
    walk->map = lk__alloc(sizeof(*walk->map));
    if (walk->map == NULL)
        lk__probe_end(probe, LK_ENOMEM, NULL);
    else
        check(walk);
}

void lk__walk_done(lk__walk *walk)
{
    struct lk__walk_part *part;

    while ((part = walk->first) != NULL) {
        walk->first = part->next;
        lk__free(part->line);
        lk__free(part);
    }
    for (size_t i = 0; i < LK__WALK_FINDS; i++)
        lk__free(walk->finds[i].match);
    lk__free(walk->map);
}

uint64_t lk__walk_ms(const lk__walk *walk, const char *key)
{
    const lk__node *node =
        lk__cluster_node_of(walk->probe->call.client, key, strlen(key));
    const struct lk__walk_part *part = part_find(walk, node);

    return part != NULL ? part->ms : 0;
}
