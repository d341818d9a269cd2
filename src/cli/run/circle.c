/* SPDX-License-Identifier: MIT */

/* Circles of commands that wait for each other; see run_circle.h. */

#include "cli/run/circle.h"

#include <string.h>

#include "cli/clock.h"
#include "cli/output.h"
#include "cli/run/env.h"

enum {
    SURE_MS = 4000,   /* a waiter that died is heard of for 3 s */
    LONGEST_PATH = 32 /* names in a circle that is told of */
};

/* ---- the way around ------------------------------------------------------- */

/* The names from the one that is waited for to one that is held by a tool that
   this process runs under, and the holder of each but the last. */
typedef struct path {
    const see_node *nodes[LONGEST_PATH];
    const lk_party *holders[LONGEST_PATH];
    size_t count;
    bool is_tried[SEE_GRAPH_MOST]; /* of the graph's nodes: on it, or no way */
} path;

static bool is_ours(const see_node *node)
{
    for (size_t i = 0; i < node->info->holder_count; i++) {
        if (run_env_is_under(node->info->holders[i]->owner))
            return true;
    }
    return false;
}

/* Depth is bounded by LONGEST_PATH. */
static bool /* NOLINTNEXTLINE(misc-no-recursion) */
go_on(path *way, const see_graph *graph, const char *name)
{
    const see_node *node = see_graph_find(graph, name);

    if (node == NULL || !node->is_stuck || way->count == LONGEST_PATH ||
        way->is_tried[node - graph->nodes])
        return false;
    way->is_tried[node - graph->nodes] = true;
    way->nodes[way->count++] = node;
    if (is_ours(node))
        return true;
    for (size_t i = 0; i < node->info->holder_count; i++) {
        way->holders[way->count - 1] = node->info->holders[i];
        if (go_on(way, graph, node->info->holders[i]->waits_for))
            return true;
    }
    way->count--;
    return false;
}

/* ---- looking ---------------------------------------------------------------- */

static void judge(run_circle *circle)
{
    path way = {.count = 0};
    bool is_there = go_on(&way, &circle->graph, circle->name) &&
                    (circle->since_ns == 0 ||
                     see_graph_is_still_stuck(&circle->before, &circle->graph,
                                              circle->name));
    int64_t now = cli_now_ns();

    if (!is_there)
        circle->since_ns = 0;
    else if (circle->since_ns == 0)
        circle->since_ns = now;
    circle->is_found =
        is_there && now >= circle->since_ns + SURE_MS * CLI_NS_PER_MS;
}

/* Keeps what was seen for the next time, but of a circle that was found. */
static void end_look(run_circle *circle)
{
    circle->is_asking = false;
    if (circle->is_found)
        return;
    see_graph_done(&circle->before);
    circle->before = circle->graph;
    circle->graph = (see_graph){.count = 0};
}

static void on_who(lk_status status, lk_kind kind, lk_info *info, void *data);

static void go_ask(run_circle *circle, lk_status status)
{
    const char *next = NULL;

    if (status == LK_OK) {
        next = see_graph_next(&circle->graph);
        if (next == NULL)
            judge(circle);
        else
            status = lk_who_async(circle->client, next, on_who, circle);
    }
    if (status != LK_OK)
        circle->since_ns = 0;
    if (status != LK_OK || next == NULL)
        end_look(circle);
}

static void on_who(lk_status status, lk_kind kind, lk_info *info, void *data)
{
    run_circle *circle = data;

    go_ask(circle, see_graph_take(&circle->graph, status, kind, info));
}

void run_circle_look(run_circle *circle, lk_client *client, const char *name)
{
    if (circle->is_asking || circle->is_found)
        return;
    circle->is_asking = true;
    circle->client = client;
    circle->name = name;
    go_ask(circle, see_graph_add(&circle->graph, name));
}

/* ---- telling ---------------------------------------------------------------- */

static void put_name(FILE *to, const char *before, const see_node *node)
{
    char name[SEE_PART_SIZE];

    (void)fprintf(to, "%s%s", before, see_name_words(name, node->name));
}

void run_circle_put(FILE *to, const run_circle *circle)
{
    path way = {.count = 0};

    if (!go_on(&way, &circle->graph, circle->name))
        return;
    put_name(to, "a circle: you hold ", way.nodes[way.count - 1]);
    put_name(to, " and wait for ", way.nodes[0]);
    for (size_t i = 0; i + 1 < way.count; i++) {
        char party[SEE_PARTY_SIZE];

        see_party_words(party, way.holders[i]);
        (void)fprintf(to, "; %s", party);
        put_name(to, " holds ", way.nodes[i]);
        put_name(to, " and waits for ", way.nodes[i + 1]);
    }
}
