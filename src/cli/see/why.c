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

/* What stands below one name: the names from that one down to where it is, and of
   the graph's nodes those that were told of. */
typedef struct chain {
    FILE *to;
    const see_graph *graph;
    const see_node **path;
    bool *is_told;
    int depth;
} chain;

/* What stands in the place of a name's holders; NULL: they are to be told. */
static const char *words_instead(const chain *in, const see_node *node)
{
    for (int i = 0; i < in->depth; i++) {
        if (in->path[i] == node)
            return "see above, the circle is closed";
    }
    if (node->unread != NULL)
        return node->unread;
    if (node->info == NULL)
        return "not there any more";
    return in->is_told[node - in->graph->nodes] ? "see above" : NULL;
}

static void put_node(chain *in, const char *name);

static void put_holder(chain *in, lk_kind kind, const lk_party *party)
{
    indent(in->to, in->depth);
    (void)fputs("held by ", in->to);
    see_put_told(in->to, kind, party, 0,
                 "[, since {held_ms}][, {reason}][, by {foreign}: what it "
                 "waits for is not known]\n");
    if (party->waits_for[0] == '\0')
        return;
    indent(in->to, in->depth);
    (void)fputs("who waits for ", in->to);
    put_node(in, party->waits_for);
}

/* Each name's holders once: ways that part and meet again would double with every
   name on them. */
static void put_node(chain *in, const char *name)
{
    const see_node *node = see_graph_find(in->graph, name);
    const char *instead =
        node != NULL ? words_instead(in, node) : "not followed";

    cli_put_clean(in->to, name);
    if (instead != NULL) {
        (void)fputs(node != NULL && node->unread != NULL ? ": cannot be read: "
                                                         : ": ",
                    in->to);
        cli_put_clean(in->to, instead);
        (void)fputc('\n', in->to);
        return;
    }
    (void)fprintf(in->to, ": %s, %zu holding, %zu waiting\n",
                  lk_kind_text(node->kind), node->info->holder_count,
                  node->info->waiter_count);
    in->is_told[node - in->graph->nodes] = true;
    in->path[in->depth++] = node;
    for (size_t i = 0; i < node->info->holder_count; i++)
        put_holder(in, node->kind, node->info->holders[i]);
    in->depth--;
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

static void json_unread(cli_json *json, const see_graph *graph)
{
    cli_json_open(json, "unread", '[');
    for (size_t i = 0; i < graph->count; i++) {
        const see_node *node = &graph->nodes[i];

        if (node->unread == NULL)
            continue;
        cli_json_open(json, NULL, '{');
        cli_json_text(json, "name", node->name);
        cli_json_text(json, "reason", node->unread);
        cli_json_close(json, '}');
    }
    cli_json_close(json, ']');
}

static void put_document(const see_graph *graph, const char *name, bool is_dead)
{
    cli_json json = {.to = stdout};

    cli_json_open(&json, NULL, '{');
    cli_json_words(&json, "name", name);
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
    json_unread(&json, graph);
    cli_json_bool(&json, "truncated", graph->is_cut);
    cli_json_words(&json, "missing", missing_of(graph));
    cli_json_close(&json, '}');
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
static int put_page(const cli *c, const see_graph *graph, const char *name)
{
    chain in = {.graph = graph,
                .path = calloc(graph->count + 1, sizeof(const see_node *)),
                .is_told = calloc(graph->count + 1, sizeof(*in.is_told))};
    bool is_whole = in.path != NULL && in.is_told != NULL;
    see_page page;
    FILE *to = see_page_begin(&page, c, stdout);

    in.to = to;
    for (size_t i = 0; is_whole && i < graph->count && (name == NULL || i == 0);
         i++)
        put_node(&in, graph->nodes[i].name);
    free(in.path);
    free(in.is_told);
    if (any_stuck(graph))
        put_deadlock(&page.c, to, graph);
    see_page_end(&page);
    if (graph->count == 0)
        cli_note(c, "nobody waits for anything");
    return is_whole ? 0 : cli_fail(c, CLI_INTERNAL, "out of memory");
}

/* What others wrote is told and changes no exit code, or whoever may write a name
   could make all looks fail. Rights are the user's own. */
static int denied(const cli *c, const see_graph *graph)
{
    for (size_t i = 0; i < graph->count; i++) {
        if (graph->nodes[i].status == LK_EDENIED)
            return cli_fail(c, CLI_DENIED,
                            "this user may not read some of the names");
    }
    return CLI_OK;
}

/* The exit code, having shown it. */
static int put_graph(const cli *c, const see_graph *graph, const char *name)
{
    int code = CLI_OK;

    if (c->json)
        put_document(graph, name != NULL ? name : "", any_stuck(graph));
    else
        code = put_page(c, graph, name);
    if (code == CLI_OK)
        code = denied(c, graph);
    return code == CLI_OK ? see_missing(c, missing_of(graph)) : code;
}

static int
show(const cli *c, lk_client *client, const cli_args *args, const void *values)
{
    const int64_t again_ms = ((const struct values *)values)->again_ms;
    const char *name = args->operand_count == 1 ? args->operands[0] : NULL;
    see_graph graph = {.count = 0};
    lk_status status = look(&graph, client, name);
    int code;

    if (status == LK_OK && any_stuck(&graph))
        status = confirm(&graph, client, name, again_ms);
    if (status == LK_OK && name != NULL && graph.nodes[0].unread != NULL)
        status = graph.nodes[0].status;
    if (status != LK_OK)
        code = cli_fail_call(c, status, name != NULL ? name : "looking");
    else if (name != NULL && graph.nodes[0].info == NULL)
        code =
            cli_fail(c, CLI_BUSY, "%s: nothing is known under this name", name);
    else
        code = put_graph(c, &graph, name);
    see_graph_done(&graph);
    return code;
}

static int run(cli *c, int argc, char **argv)
{
    struct values values = {.again_ms = 2500};
    cli_args args;

    cli_parse(c, argc, argv, &values, &args);
    return see_run(c, &args, &values, show);
}

const cli_command cli_command_why = {
    .name = "why",
    .group = CLI_SEE,
    .summary = "show who waits for whom, and which can never go on",
    .examples = "  latchkey why deploy\n"
                "  latchkey why                     all names that somebody "
                "waits for",
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
