/* SPDX-License-Identifier: MIT */

/*
 * `latchkey why`: why a name is not free: who holds it, what that one waits for,
 * and so on; and whether that ever ends.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/clock.h"
#include "cli/output.h"
#include "cli/see/graph.h"
#include "cli/see/rows.h"

enum { NAMES = 64 }; /* with waiters, that are followed without a NAME */

/* Clients look every second whether they still have to say that they wait. */
struct values {
    int64_t again_ms;
};

static const cli_option options[] = {
    {CLI_TIME, 0, "again", offsetof(struct values, again_ms), "TIME",
     "look again so long after a circle was seen; 2.5", 0},
    {CLI_TIME, 'd', "again", offsetof(struct values, again_ms), "TIME", NULL,
     0},
    {.kind = CLI_END},
};

/* ---- text --------------------------------------------------------------------- */

static void indent(FILE *to, int depth)
{
    (void)fprintf(to, "%*s", 2 * depth, "");
}

/* path: the names above this one. */
static void put_chain(FILE *to, const see_graph *graph, const char *name,
                      const char **path, int depth)
{
    const see_node *node = see_graph_find(graph, name);
    char time[CLI_TIME_SIZE];

    cli_put_clean(to, name);
    for (int i = 0; i < depth; i++) {
        if (strcmp(path[i], name) == 0) {
            (void)fprintf(to, ": see above, the circle is closed\n");
            return;
        }
    }
    if (node == NULL || node->info == NULL) {
        (void)fprintf(to, ": not followed, or not there any more\n");
        return;
    }
    (void)fprintf(to, ": %s, %zu holding, %zu waiting\n",
                  lk_kind_text(node->kind), node->info->holder_count,
                  node->info->waiter_count);
    path[depth] = name;
    for (size_t i = 0; i < node->info->holder_count; i++) {
        const lk_party *party = node->info->holders[i];

        indent(to, depth + 1);
        (void)fputs("held by ", to);
        see_put_party(to, party);
        if (!see_is_foreign(node->kind, party))
            (void)fprintf(to, ", since %s",
                          cli_time_words(time, party->since_ms));
        if (party->reason[0] != '\0') {
            (void)fputs(", ", to);
            cli_put_clean(to, party->reason);
        }
        (void)fprintf(to, "%s\n",
                      see_is_foreign(node->kind, party)
                          ? ", by Redisson: what it waits for is not "
                            "known"
                          : "");
        if (party->waits_for[0] == '\0')
            continue;
        indent(to, depth + 1);
        (void)fputs("who waits for ", to);
        put_chain(to, graph, party->waits_for, path, depth + 1);
    }
}

static void put_deadlock(const cli *c, FILE *to, const see_graph *graph)
{
    bool is_first = true;

    cli_paint(c, to, CLI_RED);
    (void)fputs("DEADLOCK: ", to);
    for (size_t i = 0; i < graph->count; i++) {
        if (!graph->nodes[i].is_stuck)
            continue;
        (void)fputs(is_first ? "" : ", ", to);
        cli_put_clean(to, graph->nodes[i].name);
        is_first = false;
    }
    cli_paint(c, to, CLI_PLAIN);
    (void)
        fputs(": whoever holds these waits for one of them, and none of these "
              "waits can end but by its time\n"
              "  to do: end one of the holders, or `latchkey break` one of the "
              "names; then have all take them in one order\n",
              to);
}

static const char *missing_of(const see_graph *graph)
{
    return graph->missing != NULL ? graph->missing : "";
}

/* ---- JSON ----------------------------------------------------------------------- */

static void put_json(const see_graph *graph, const char *name, bool is_dead)
{
    cli_json json = {.to = stdout};

    cli_json_open(&json, NULL, '{');
    see_json_text(&json, "name", name);
    cli_json_bool(&json, "deadlock", is_dead);
    cli_json_open(&json, "names", '[');
    for (size_t i = 0; i < graph->count; i++) {
        const see_node *node = &graph->nodes[i];

        if (node->info == NULL)
            continue;
        cli_json_open(&json, NULL, '{');
        see_json_info(&json, node->name, node->kind, node->info);
        cli_json_bool(&json, "stuck", is_dead && node->is_stuck);
        cli_json_close(&json, '}');
    }
    cli_json_close(&json, ']');
    cli_json_bool(&json, "truncated", graph->is_cut);
    see_json_text(&json, "missing", missing_of(graph));
    cli_json_close(&json, '}');
    cli_json_line(&json);
}

/* ---- looking ---------------------------------------------------------------------- */

static lk_status follow_all(see_graph *graph, lk_client *client)
{
    lk_listing *listing;
    lk_status status = lk_list(client, SEE_WAIT_MS, NULL, &listing);
    unsigned left = NAMES;

    if (status != LK_OK)
        return status;
    for (size_t i = 0; i < listing->count && status == LK_OK; i++) {
        if (listing->entries[i]->waiter_count == 0)
            continue;
        if (left-- == 0) {
            graph->is_cut = true;
            break;
        }
        status = see_graph_follow(graph, client, listing->entries[i]->name);
    }
    graph->missing = strdup(listing->missing);
    if (status == LK_OK && graph->missing == NULL)
        status = LK_ENOMEM;
    lk_listing_free(listing);
    return status;
}

static lk_status look(see_graph *graph, lk_client *client, const char *name)
{
    return name != NULL ? see_graph_follow(graph, client, name)
                        : follow_all(graph, client);
}

static bool any_stuck(const see_graph *graph)
{
    for (size_t i = 0; i < graph->count; i++) {
        if (graph->nodes[i].is_stuck)
            return true;
    }
    return false;
}

/* The records of clients are some seconds old, and each name was read at its own
   time. What is the same a while later is no accident of that. */
static lk_status
confirm(see_graph *graph, lk_client *client, const char *name, int64_t again_ms)
{
    see_graph before = *graph;
    lk_status status;

    cli_pass_ms((uint64_t)again_ms);
    *graph = (see_graph){.count = 0};
    status = look(graph, client, name);
    for (size_t i = 0; i < graph->count && status == LK_OK; i++)
        graph->nodes[i].is_stuck =
            see_graph_is_still_stuck(&before, graph, graph->nodes[i].name);
    see_graph_done(&before);
    return status;
}

/* 0, or has complained. */
static int put_text(const cli *c, const see_graph *graph, const char *name)
{
    const char **path = calloc(graph->count + 1, sizeof(*path));
    see_page page;
    FILE *to;

    if (path == NULL)
        return cli_fail(c, CLI_INTERNAL, "out of memory");
    to = see_page_begin(&page, c, stdout);
    for (size_t i = 0; i < graph->count && (name == NULL || i == 0); i++)
        put_chain(to, graph, graph->nodes[i].name, path, 0);
    free(path);
    if (any_stuck(graph))
        put_deadlock(&page.c, to, graph);
    see_page_end(&page);
    if (graph->count == 0)
        cli_note(c, "nobody waits for anything");
    return 0;
}

static int
show(const cli *c, lk_client *client, const char *name, int64_t again_ms)
{
    see_graph graph = {.count = 0};
    lk_status status = look(&graph, client, name);
    int code = CLI_OK;

    if (status == LK_OK && any_stuck(&graph))
        status = confirm(&graph, client, name, again_ms);
    if (status == LK_OK && name != NULL && graph.nodes[0].info == NULL) {
        see_graph_done(&graph);
        return cli_fail(c, CLI_BUSY, "%s: nothing is known under this name",
                        name);
    }
    if (status != LK_OK) {
        see_graph_done(&graph);
        return cli_fail_call(c, status, name != NULL ? name : "looking");
    }
    if (c->json)
        put_json(&graph, name != NULL ? name : "", any_stuck(&graph));
    else
        code = put_text(c, &graph, name);
    if (code == CLI_OK)
        code = see_missing(c, missing_of(&graph));
    see_graph_done(&graph);
    return code;
}

static int run(cli *c, int argc, char **argv)
{
    struct values values = {.again_ms = 2500};
    lk_client *client;
    cli_args args;
    int code;

    cli_parse(c, argc, argv, &values, &args);
    code = see_open(c, &client);
    if (code != 0)
        return code;
    code = show(c, client, args.operand_count == 1 ? args.operands[0] : NULL,
                values.again_ms);
    lk_client_free(client);
    return code;
}

const cli_command cli_command_why = {
    .name = "why",
    .summary = "show who waits for whom, and find deadlocks",
    .usage = "[OPTION]... [NAME]",
    .about =
        "Follows NAME to who holds it, to what that owner waits for itself, "
        "and\n"
        "so on; without NAME, every name that somebody waits for. Where all\n"
        "holders wait for each other in a circle it is a deadlock and called\n"
        "so, having been looked at twice. Only Latchkey's clients tell what\n"
        "their owners wait for, a second or two after the wait begins.",
    .options = options,
    .operands_max = 1,
    .run = run,
};
