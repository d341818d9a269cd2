/* SPDX-License-Identifier: MIT */

/* Who waits for whom. */

#include "cli/see/graph.h"

#include <stdlib.h>
#include <string.h>

void see_graph_done(see_graph *graph)
{
    for (size_t i = 0; i < graph->count; i++) {
        free(graph->nodes[i].name);
        free(graph->nodes[i].unread);
        lk_info_free(graph->nodes[i].info);
    }
    free(graph->nodes);
    free(graph->missing);
    *graph = (see_graph){.count = 0};
}

static see_node *find(const see_graph *graph, const char *name)
{
    for (size_t i = 0; i < graph->count; i++) {
        if (strcmp(graph->nodes[i].name, name) == 0)
            return &graph->nodes[i];
    }
    return NULL;
}

const see_node *see_graph_find(const see_graph *graph, const char *name)
{
    return find(graph, name);
}

lk_status see_graph_add(see_graph *graph, const char *name)
{
    if (find(graph, name) != NULL)
        return LK_OK;
    if (graph->count == SEE_GRAPH_MOST) {
        graph->is_cut = true;
        return LK_OK;
    }
    if (graph->count == graph->room) {
        size_t room = graph->room * 2 + 8;
        see_node *nodes = realloc(graph->nodes, room * sizeof(*nodes));

        if (nodes == NULL)
            return LK_ENOMEM;
        graph->nodes = nodes;
        graph->room = room;
    }
    graph->nodes[graph->count] = (see_node){.name = strdup(name)};
    if (graph->nodes[graph->count].name == NULL)
        return LK_ENOMEM;
    graph->count++;
    return LK_OK;
}

/* ---- what is stuck ---------------------------------------------------------------- */

/* What can be waited out is not stuck: nobody holds it, or permits are left, or
   a holder goes on. Of more holders than are listed nobody knows. */
static bool may_be_stuck(const see_node *node)
{
    return node->info != NULL && node->info->holder_count > 0 &&
           node->info->holder_count < 64 &&
           (node->kind == LK_KIND_LOCK || node->kind == LK_KIND_RWLOCK);
}

static bool is_held_up(const see_graph *graph, const see_node *node)
{
    for (size_t i = 0; i < node->info->holder_count; i++) {
        const char *next = node->info->holders[i]->waits_for;
        const see_node *found = next[0] != '\0' ? find(graph, next) : NULL;

        if (found == NULL || !found->is_stuck)
            return false;
    }
    return true;
}

/* Finds one more way out. False: there is none. */
static bool release_one(see_graph *graph)
{
    for (size_t i = 0; i < graph->count; i++) {
        see_node *node = &graph->nodes[i];

        if (node->is_stuck && !is_held_up(graph, node)) {
            node->is_stuck = false;
            return true;
        }
    }
    return false;
}

/* All are thought to be stuck until a way out is found: what is left then waits
   for nobody but each other. */
static void stuck_find(see_graph *graph)
{
    for (size_t i = 0; i < graph->count; i++)
        graph->nodes[i].is_stuck = may_be_stuck(&graph->nodes[i]);
    while (release_one(graph))
        continue;
}

/* ---- following --------------------------------------------------------------------- */

/* A name that is gone is a way out, and so is one that cannot be read. */
lk_status
see_graph_take(see_graph *graph, lk_status status, lk_kind kind, lk_info *info)
{
    see_node *node = &graph->nodes[graph->asked++];
    const char *unread = see_unread_words(status);

    node->status = status;
    if (unread != NULL) {
        node->unread = strdup(unread);
        return node->unread != NULL ? LK_OK : LK_ENOMEM;
    }
    if (status != LK_OK)
        return status == LK_ENOTHELD ? LK_OK : status;
    node->kind = kind;
    node->info = info;
    for (size_t i = 0; i < info->holder_count && status == LK_OK; i++) {
        if (info->holders[i]->waits_for[0] != '\0')
            status = see_graph_add(graph, info->holders[i]->waits_for);
    }
    return status;
}

const char *see_graph_next(see_graph *graph)
{
    if (graph->asked < graph->count)
        return graph->nodes[graph->asked].name;
    stuck_find(graph);
    return NULL;
}

lk_status
see_graph_follow(see_graph *graph, lk_client *client, const char *name)
{
    lk_status status = see_graph_add(graph, name);
    const char *next;

    while (status == LK_OK && (next = see_graph_next(graph)) != NULL) {
        lk_kind kind = LK_KIND_NONE;
        lk_info *info = NULL;

        status = lk_who(client, next, &kind, &info);
        status = see_graph_take(graph, status, kind, info);
    }
    return status;
}

static bool has_same_holders(const see_node *a, const see_node *b)
{
    if (a->info->holder_count != b->info->holder_count)
        return false;
    for (size_t i = 0; i < a->info->holder_count; i++) {
        bool found = false;

        for (size_t j = 0; j < b->info->holder_count; j++)
            found |= strcmp(a->info->holders[i]->owner,
                            b->info->holders[j]->owner) == 0;
        if (!found)
            return false;
    }
    return true;
}

bool see_graph_is_still_stuck(const see_graph *before, const see_graph *after,
                              const char *name)
{
    const see_node *first = find(before, name), *second = find(after, name);

    return first != NULL && second != NULL && first->is_stuck &&
           second->is_stuck && has_same_holders(first, second);
}
