/* SPDX-License-Identifier: MIT */

/* `latchkey log`: which holds were broken, and by whom. */

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cli/cli.h"
#include "cli/output.h"
#include "cli/see/fleet.h"
#include "cli/see/rows.h"
#include "cli/see/see.h"

/* Not one of the notes of `doctor --fleet`, which are no breaks. */
static bool is_break(const lk_event *event)
{
    return strcmp(event->name, SEE_FLEET_NAME) != 0;
}

static const char *known(const char *text, const char *otherwise)
{
    return text[0] != '\0' ? text : otherwise;
}

/* The local time, as people and sort(1) read it. */
static void put_time(FILE *to, uint64_t at_ms)
{
    time_t seconds = (time_t)(at_ms / 1000);
    struct tm local;
    char text[32] = "?";

    if (localtime_r(&seconds, &local) != NULL)
        (void)strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &local);
    (void)fputs(text, to);
}

static void put_by(FILE *to, const lk_event *event)
{
    (void)fputs("    by   ", to);
    cli_put_clean(to, known(event->host, "an unknown host"));
    if (event->pid != 0)
        (void)fprintf(to, " pid %" PRIu64, event->pid);
    (void)fputs(", user ", to);
    cli_put_clean(to, known(event->user, "unknown"));
    (void)fputc('\n', to);
}

/* What the tool notes is whose hold it was, and below that why it was ended. */
typedef struct told {
    char was[1024], why[SEE_WHY_MAX + 1]; /* why: "" if it was not said */
} told;

static told told_of(const lk_event *event)
{
    size_t size = strcspn(event->text, "\n");
    told it;

    (void)snprintf(it.was, sizeof(it.was), "%.*s", (int)size, event->text);
    (void)snprintf(it.why, sizeof(it.why), "%s",
                   event->text[size] != '\0' ? event->text + size + 1 : "");
    return it;
}

static void put_event(FILE *to, const lk_event *event)
{
    const told note = told_of(event);
    char name[SEE_PART_SIZE];

    put_time(to, event->at_ms);
    (void)fprintf(to, "  %s: ", see_name_words(name, event->name));
    cli_put_clean(to, event->what);
    (void)fputs("\n    was  ", to);
    cli_put_clean(to, known(note.was, event->owner));
    (void)fputc('\n', to);
    if (note.why[0] != '\0') {
        (void)fputs("    why  ", to);
        cli_put_clean(to, note.why);
        (void)fputc('\n', to);
    }
    put_by(to, event);
}

static void put_page(const cli *c, const lk_events *events)
{
    see_page page;
    FILE *to = see_page_begin(&page, c, stdout);
    bool is_empty = true;

    for (size_t i = 0; i < events->count; i++) {
        if (!is_break(events->entries[i]))
            continue;
        put_event(to, events->entries[i]);
        is_empty = false;
    }
    see_page_end(&page);
    if (is_empty)
        cli_note(c, "nothing was broken");
}

static void put_count(cli_json *json, const char *key, uint64_t number)
{
    if (number == 0)
        cli_json_null(json, key);
    else
        cli_json_count(json, key, number);
}

static void put_json_event(cli_json *json, const lk_event *event)
{
    const told note = told_of(event);

    cli_json_open(json, NULL, '{');
    cli_json_text(json, "name", event->name);
    cli_json_text(json, "what", event->what);
    cli_json_count(json, "at_ms", event->at_ms);
    cli_json_text(json, "owner", event->owner);
    see_json_text(json, "holder", note.was);
    see_json_text(json, "host", event->host);
    put_count(json, "pid", event->pid);
    see_json_text(json, "command", event->command);
    see_json_text(json, "user", event->user);
    see_json_text(json, "why", note.why);
    cli_json_close(json, '}');
}

static void put_json(const lk_events *events)
{
    cli_json json = {.to = stdout};

    cli_json_open(&json, NULL, '{');
    cli_json_open(&json, "events", '[');
    for (size_t i = 0; i < events->count; i++) {
        if (is_break(events->entries[i]))
            put_json_event(&json, events->entries[i]);
    }
    cli_json_close(&json, ']');
    cli_json_bool(&json, "truncated", events->truncated);
    see_json_text(&json, "missing", events->missing);
    cli_json_close(&json, '}');
    cli_json_line(&json);
}

static void put(const cli *c, const lk_events *events)
{
    if (c->json) {
        put_json(events);
        return;
    }
    put_page(c, events);
    if (events->truncated)
        cli_note(c, "there are more; name one");
}

static int run(cli *c, int argc, char **argv)
{
    lk_client *client;
    lk_events *events;
    lk_status status;
    cli_args args;
    int code;

    cli_parse(c, argc, argv, NULL, &args);
    code = see_open(c, &client);
    if (code != 0)
        return code;
    status = lk_events_get(client, SEE_WAIT_MS,
                           args.operand_count > 0 ? args.operands[0] : NULL,
                           &events);
    if (status == LK_OK) {
        put(c, events);
        code = see_missing(c, events->missing);
        lk_events_free(events);
    } else {
        code = cli_fail_call(c, status, "the log cannot be read");
    }
    lk_client_free(client);
    return code;
}

const cli_command cli_command_log = {
    .name = "log",
    .group = CLI_SEE,
    .summary = "list the holds that an operator has ended, when and why",
    .examples = "  latchkey log\n"
                "  latchkey log deploy",
    .usage = "[OPTION]... [NAME]",
    .about = "Shows what `latchkey break` has ended, the oldest first: which "
             "name, whose\n"
             "hold, and who did it. \"revoked\" is a hold that was told to "
             "stop, \"ended\"\n"
             "one that was ended at once, with --now. The server keeps the "
             "last 32 of\n"
             "each name, for a week after the last one. Without NAME it looks "
             "through\n"
             "all keys of the server, in small steps.",
    .operands_min = 0,
    .operands_max = 1,
    .run = run,
};
