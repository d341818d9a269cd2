/* SPDX-License-Identifier: MIT */

/* `latchkey log`: which holds were broken, and by whom. */

#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/output.h"
#include "cli/see/fleet.h"
#include "cli/see/rows.h"
#include "cli/see/see.h"
#include "cli/view.h"

/* Not one of the notes of `doctor --fleet`, which are no breaks. */
static bool is_break(const lk_event *event)
{
    return strcmp(event->name, SEE_FLEET_NAME) != 0;
}

/* An event, as it is told. The note of the tool is whose hold it was, and below that
   why it was ended. */
typedef struct told {
    lk_event event;
    const char *was, *why; /* why: "" if it was not said */
    char note[1024 + SEE_WHY_MAX + 1];
} told;

#define OF(member) offsetof(told, member)

static const cli_field fields[] = {
    {"name", CLI_UNIT_STRING, OF(event.name), 1},
    {"what", CLI_UNIT_STRING, OF(event.what), 1},
    {"at_ms", CLI_UNIT_COUNT, OF(event.at_ms), 1},
    {"owner", CLI_UNIT_STRING, OF(event.owner), 1},
    {"holder", CLI_UNIT_WORDS, OF(was), 1},
    {"host", CLI_UNIT_WORDS, OF(event.host), 1},
    {"pid", CLI_UNIT_SOME, OF(event.pid), 1},
    {"command", CLI_UNIT_WORDS, OF(event.command), 1},
    {"user", CLI_UNIT_WORDS, OF(event.user), 1},
    {"why", CLI_UNIT_WORDS, OF(why), 1},
    {.key = NULL},
};

static void tell(told *t, const lk_event *event)
{
    char *end;

    t->event = *event;
    (void)snprintf(t->note, sizeof(t->note), "%s", event->text);
    end = strchrnul(t->note, '\n');
    t->was = t->note;
    t->why = *end != '\0' ? end + 1 : "";
    *end = '\0';
}

static void put_event(FILE *to, const lk_event *event)
{
    char name[SEE_PART_SIZE];
    told t;

    tell(&t, event);
    cli_put_date(to, true, (int64_t)event->at_ms);
    (void)fprintf(to, "  %s: ", see_name_words(name, event->name));
    cli_put_view(to,
                 "{what}\n    was  [{holder}|{owner}]\n[    why  {why}\n]"
                 "    by   [{host}|an unknown host][ pid {pid}], user "
                 "[{user}|unknown]\n",
                 fields, &t);
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
    if (events->truncated)
        cli_note(c, "there are more; name one");
}

static void put_document(const lk_events *events)
{
    cli_json json = {.to = stdout};

    cli_json_open(&json, NULL, '{');
    cli_json_open(&json, "events", '[');
    for (size_t i = 0; i < events->count; i++) {
        told t;

        if (!is_break(events->entries[i]))
            continue;
        tell(&t, events->entries[i]);
        cli_json_record(&json, NULL, fields, 1, &t);
    }
    cli_json_close(&json, ']');
    cli_json_bool(&json, "truncated", events->truncated);
    cli_json_words(&json, "missing", events->missing);
    cli_json_close(&json, '}');
}

static int
show(const cli *c, lk_client *client, const cli_args *args, const void *values)
{
    lk_events *events;
    lk_status status =
        lk_events_get(client, SEE_WAIT_MS,
                      args->operand_count > 0 ? args->operands[0] : NULL,
                      &events);
    int code;

    (void)values;
    if (status != LK_OK)
        return cli_fail_call(c, status, "the log cannot be read");
    if (c->json)
        put_document(events);
    else
        put_page(c, events);
    code = see_missing(c, events->missing);
    lk_events_free(events);
    return code;
}

static int run(cli *c, int argc, char **argv)
{
    cli_args args;

    cli_parse(c, argc, argv, NULL, &args);
    return see_run(c, &args, NULL, show);
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
