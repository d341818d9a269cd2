/* SPDX-License-Identifier: MIT */

/* `latchkey serve`: the names in use as a page for a browser. The page is
   serve.html; what it shows comes in events, one for each look. */

#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/clock.h"
#include "cli/connect.h"
#include "cli/http/run.h"
#include "cli/output.h"
#include "cli/see/changes.h"
#include "cli/see/graph.h"
#include "cli/see/sums.h"

extern const char cli_serve_page[];

/*
 * Bounds of a look: names that are looked at, shown, and asked about one by one;
 * holders and waiters of a name that are shown. So an event has a few hundred
 * KiB at most, but for names and reasons of a hostile length.
 */
enum { LOOKED_AT = 20000, SHOWN = 250, ASKED = 64, PARTIES = 16 };

enum {
    REACH_MS = 1000, /* an outage is told after so long */
    LOOK_MS = 5000,
    EVERY_MS = 1000,
    LEAST_MS = 100,
    CIRCLE_MS = 2500
};

struct values {
    const char *listen;
    int64_t every_ms;
};

static const cli_option options[] = {
    {CLI_TEXT, 0, "listen", offsetof(struct values, listen), "[ADDR:]PORT",
     "where; 127.0.0.1:9401", 0},
    {CLI_TIME, 0, "every", offsetof(struct values, every_ms), "TIME",
     "how often it looks; 1", 0},
    {.kind = CLI_END},
};

/* What was seen at a time. */
typedef struct sight {
    see_graph graph;
    uint64_t ms;
} sight;

typedef struct serving {
    const cli *c;
    lk_client *client;
    lk_list_options what;
    int64_t every_ms;
    see_changes changes;
    sight then, since; /* then: CIRCLE_MS ago, or more */
} serving;

/* ---- circles ------------------------------------------------------------------ */

/* What is stuck at one look may be a passing state: each name was read at a time
   of its own. What is stuck on the same holders a while later is not. */
static bool
is_circle(const serving *s, const see_graph *graph, const char *name)
{
    return see_graph_is_still_stuck(&s->then.graph, graph, name);
}

/* Takes the graph. */
static void graph_keep(serving *s, see_graph *graph)
{
    uint64_t now = cli_now_ms();

    if (now - s->since.ms < CIRCLE_MS) {
        see_graph_done(graph);
        return;
    }
    see_graph_done(&s->then.graph);
    s->then = s->since;
    s->since = (sight){.graph = *graph, .ms = now};
}

static void graphs_forget(serving *s)
{
    see_graph_done(&s->then.graph);
    see_graph_done(&s->since.graph);
}

/* ---- an event ------------------------------------------------------------------ */

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static void
json_parties(cli_json *json, const see_row *row, const see_node *node)
{
    const lk_info *info = node != NULL ? node->info : NULL;
    const lk_party *only = row->entry->holder;
    size_t holders = info != NULL ? least(info->holder_count, PARTIES) : 0;
    size_t waiters = info != NULL ? least(info->listed_count, PARTIES) : 0;

    cli_json_open(json, "holders", '[');
    for (size_t i = 0; i < holders; i++)
        see_json_party(json, NULL, node->kind, info->holders[i], 0);
    if (info == NULL && only != NULL)
        see_json_party(json, NULL, row->entry->kind, only, 0);
    cli_json_close(json, ']');
    cli_json_open(json, "waiters", '[');
    for (size_t i = 0; i < waiters; i++)
        see_json_party(json, NULL, node->kind, info->waiters[i], i + 1);
    cli_json_close(json, ']');
}

static void json_name(cli_json *json, const serving *s, const see_graph *graph,
                      const see_row *row)
{
    const char *name = row->entry->name;
    const see_node *node = see_graph_find(graph, name);

    cli_json_open(json, NULL, '{');
    see_json_row(json, row);
    cli_json_words(json, "unread", node != NULL ? node->unread : NULL);
    cli_json_real(json, "rate", row->rate > 0 ? row->rate : 0);
    cli_json_bool(json, "stuck", is_circle(s, graph, name));
    json_parties(json, row, node);
    cli_json_close(json, '}');
}

static void json_event(cli_json *json, const serving *s, const see_rows *rows,
                       const see_graph *graph)
{
    see_totals totals = see_totals_of(rows, NULL);

    see_json_sums(json, "all", &totals.all);
    cli_json_count(json, "changes", s->changes.all);
    cli_json_bool(json, "truncated", totals.truncated);
    cli_json_words(json, "missing", totals.missing);
    cli_json_open(json, "names", '[');
    for (size_t i = 0; i < least(rows->count, SHOWN); i++)
        json_name(json, s, graph, &rows->rows[i]);
    cli_json_close(json, ']');
}

/* ---- a look -------------------------------------------------------------------- */

/* The names with the most waiters come first. */
static lk_status graph_fill(serving *s, const see_rows *rows, see_graph *graph)
{
    size_t left = ASKED;
    lk_status status = LK_OK;

    for (size_t i = 0; i < rows->count && left > 0 && status == LK_OK; i++) {
        if (!see_needs_asking(rows->rows[i].entry))
            continue;
        left--;
        status = see_graph_follow(graph, s->client, rows->rows[i].entry->name);
    }
    return status;
}

static lk_status see(serving *s, cli_json *json)
{
    see_graph graph = {.count = 0};
    see_rows rows;
    lk_status status = lk_client_wait_ready(s->client, REACH_MS);

    if (status == LK_OK)
        status = see_rows_list(s->client, LOOK_MS, &s->what, &rows);
    if (status != LK_OK)
        return status;
    if (!see_changes_note(&s->changes, &rows, cli_now_ms()))
        status = LK_ENOMEM;
    see_rows_sort(&rows, SEE_BY_WAITERS);
    if (status == LK_OK)
        status = graph_fill(s, &rows, &graph);
    if (status == LK_OK)
        json_event(json, s, &rows, &graph);
    graph_keep(s, &graph);
    see_rows_free(&rows);
    return status;
}

/* In an event of the server without an answer there are no names. */
static void look(FILE *to, void *data)
{
    serving *s = data;
    cli_json json = {.to = to};
    char server[LK_URL_DESCRIPTION_SIZE];
    lk_status status;

    (void)fputs("data: ", to);
    cli_json_open(&json, NULL, '{');
    cli_json_text(&json, "server",
                  cli_server_words(s->c, server, sizeof(server)));
    cli_json_number(&json, "every_ms", s->every_ms);
    status = see(s, &json);
    if (status == LK_OK) {
        cli_json_null(&json, "trouble");
    } else {
        graphs_forget(s);
        cli_json_text(&json, "trouble", cli_error_words());
    }
    cli_json_close(&json, '}');
    (void)fputc('\n', to);
}

/* ---- the command ------------------------------------------------------------------ */

static int run(cli *c, int argc, char **argv)
{
    static const cli_http_page pages[] = {
        {"/", CLI_HTTP_PAGE, "text/html; charset=utf-8", cli_serve_page},
        {"/events", CLI_HTTP_EVENTS, "text/event-stream; charset=utf-8", NULL},
        {.path = NULL},
    };
    struct values values = {.listen = "9401", .every_ms = EVERY_MS};
    serving s = {.c = c, .what = {LK_LIST_OPTIONS_INIT}};
    cli_http_run http = {.pages = pages, .path = "/", .look = look, .data = &s};
    cli_args args;
    int code;

    cli_parse(c, argc, argv, &values, &args);
    if (!cli_http_place_read(values.listen, &http.place))
        cli_usage(c, "--listen has to be [ADDR:]PORT, ADDR a numeric address");
    if (values.every_ms < LEAST_MS)
        cli_usage(c, "--every has to be 100 ms at least");
    s.every_ms = http.every_ms = values.every_ms;
    s.what.limit = LOOKED_AT;
    if (args.operand_count == 1) {
        s.what.pattern = args.operands[0];
        if (s.what.pattern[strspn(s.what.pattern, "0123456789")] == '\0')
            cli_note(c,
                     "shows the name %s alone; a port is said by --listen %s",
                     s.what.pattern, s.what.pattern);
    }
    code = cli_client_open(c, NULL, &s.client);
    if (code != 0)
        return code;
    code = cli_http_run_until_signal(c, &http);
    graphs_forget(&s);
    see_changes_done(&s.changes);
    lk_client_free(s.client);
    return code;
}

const cli_command cli_command_serve = {
    .name = "serve",
    .group = CLI_SEE,
    .summary = "show names, holders and queues in a browser, live",
    .examples = "  latchkey serve                   says where: "
                "http://127.0.0.1:9401/\n"
                "  latchkey serve --listen 8080 'deploy*'",
    .usage = "[OPTION]... [PATTERN]",
    .about =
        "Serves a page that shows names, holders, queues, who waits for whom, "
        "and\n"
        "how often names change hands, and says on standard output where. The "
        "page\n"
        "follows each look by itself, and can change nothing. PATTERN is as "
        "for\n"
        "`ls`. It goes on until a signal ends it, also while the server cannot "
        "be\n"
        "reached; port 0 takes a free one.\n"
        "\n"
        "A look is at 20000 names at most, shows the 250 with the most\n"
        "waiters, and asks for the queues of 64. Whoever reaches the address "
        "can\n"
        "read it: by default every user of this host, and nobody elsewhere.",
    .options = options,
    .operands_max = 1,
    .run = run,
};
