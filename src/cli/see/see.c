/* SPDX-License-Identifier: MIT */

/* Parties and names, for people and for programs. */

#include "cli/see/see.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/connect.h"
#include "cli/output.h"
#include "cli/utf8.h"
#include "cli/view.h"

/* Longer than one attempt to connect, so that its reason can be told. */
enum { REACH_MS = 3000 };

int see_open(cli *c, lk_client **ret_client)
{
    int code = cli_client_open(c, NULL, ret_client);
    lk_status status;
    int64_t said;

    if (code != 0)
        return code;
    said = cli_url_ms(c, "offline_ms");
    status = lk_client_wait_ready(*ret_client, said != 0 ? said : REACH_MS);
    if (status == LK_OK)
        return 0;
    code = cli_fail_call(c, status, "the server cannot be looked at");
    lk_client_free(*ret_client);
    return code;
}

int see_run(cli *c, const cli_args *args, const void *values, see_look *look)
{
    lk_client *client;
    int code = see_open(c, &client);

    if (code != 0)
        return code;
    code = look(c, client, args, values);
    lk_client_free(client);
    return code;
}

/* A fence is what only Latchkey's holders have. A latch has neither. */
bool see_is_foreign(lk_kind kind, const lk_party *party)
{
    return kind != LK_KIND_LATCH && party->fence == 0;
}

bool see_is_kept(const lk_party *party)
{
    return party->host[0] != '\0' || see_is_foreign(LK_KIND_LOCK, party);
}

bool see_is_foreign_waiter(const lk_party *party)
{
    return party->count == 0;
}

const char *see_unread_words(lk_status status)
{
    static const lk_status about_one[] = {LK_EINVAL,    LK_ERANGE,  LK_ETYPE,
                                          LK_EMISMATCH, LK_EDENIED, LK_EPROTO,
                                          LK_ESERVER};

    for (size_t i = 0; i < sizeof(about_one) / sizeof(about_one[0]); i++) {
        if (about_one[i] == status)
            return cli_error_words();
    }
    return NULL;
}

/* ---- parties ------------------------------------------------------------------ */

/* A holder or waiter, with what is made of it. */
typedef struct told {
    lk_party party;
    const char *process, *library;
    const char *foreign; /* "Redisson", or "" */
    const char *program; /* what runs there, by its own name */
    const char *tool;    /* by which it runs; "": by none */
    const char *called;  /* what runs there, as people call it */
    const char *id_begin;
    char id[SEE_ID_BEGIN + 1];
    const char *permits;
    char permits_text[40];
    int alive; /* < 0: not to be seen from here */
    int64_t since_ms;
    uint64_t position;
} told;

enum { HOLDER = 1, WAITER = 2, BOTH = HOLDER | WAITER };

#define OF(member) offsetof(told, member)

static const cli_field party_fields[] = {
    {"position", CLI_UNIT_SOME, OF(position), WAITER},
    {"owner", CLI_UNIT_STRING, OF(party.owner), BOTH},
    {"host", CLI_UNIT_WORDS, OF(party.host), BOTH},
    {"pid", CLI_UNIT_SOME, OF(party.pid), BOTH},
    {"command", CLI_UNIT_WORDS, OF(party.command), BOTH},
    {"user", CLI_UNIT_WORDS, OF(party.user), BOTH},
    {"client", CLI_UNIT_WORDS, OF(party.name), BOTH},
    {"reason", CLI_UNIT_WORDS, OF(party.reason), BOTH},
    {"mode", CLI_UNIT_WORDS, OF(party.mode), BOTH},
    {"count", CLI_UNIT_COUNT, OF(party.count), BOTH},
    {"process", CLI_UNIT_WORDS, OF(process), BOTH},
    {"library", CLI_UNIT_WORDS, OF(library), BOTH},
    {"fence", CLI_UNIT_SOME, OF(party.fence), HOLDER},
    {"held_ms", CLI_UNIT_MS, OF(since_ms), HOLDER},
    {"waited_ms", CLI_UNIT_MS, OF(since_ms), WAITER},
    {"alive", CLI_UNIT_MAYBE, OF(alive), WAITER},
    {"lease_ms", CLI_UNIT_MS, OF(party.lease_ms), HOLDER},
    {"waits_for", CLI_UNIT_WORDS, OF(party.waits_for), HOLDER},
    {"revoked", CLI_UNIT_TRUTH, OF(party.revoked), HOLDER},
    {"permits", CLI_UNIT_WORDS, OF(permits), 0},
    {"program", CLI_UNIT_WORDS, OF(program), 0},
    {"tool", CLI_UNIT_WORDS, OF(tool), 0},
    {"foreign", CLI_UNIT_WORDS, OF(foreign), 0},
    {"called", CLI_UNIT_WORDS, OF(called), 0},
    {"id", CLI_UNIT_WORDS, OF(id_begin), 0},
    {.key = NULL},
};

static const char *const life_words[] = {[SEE_UNSEEN] = "",
                                         [SEE_GONE] = "gone",
                                         [SEE_STOPPED] = "stopped",
                                         [SEE_ALIVE] = ""};

/* More than the largest number is as much as that. */
static int64_t span(bool is_known, uint64_t ms)
{
    if (!is_known)
        return -1;
    return ms < INT64_MAX ? (int64_t)ms : INT64_MAX;
}

/* Whose process it is, as people call it: "make", not "latchkey". */
static const char *party_program(const lk_party *party)
{
    bool is_tool = strcmp(party->command, "latchkey") == 0;

    if (party->command[0] == '\0' || (is_tool && party->name[0] != '\0'))
        return party->name;
    return party->command;
}

/* position 0: it holds, else it waits. */
static void tell(told *t, lk_kind kind, const lk_party *party, size_t position)
{
    const bool is_foreign = position > 0 ? see_is_foreign_waiter(party)
                                         : see_is_foreign(kind, party);
    const see_life life = see_life_of(party);
    const char *program = see_program(party);
    const bool is_tool = strcmp(program, party->command) != 0;

    *t = (told){.party = *party,
                .position = position,
                .process = life_words[life],
                .alive = life == SEE_UNSEEN ? -1 : life == SEE_ALIVE,
                .library = is_foreign ? "redisson" : "latchkey",
                .foreign = is_foreign ? "Redisson" : "",
                .program = program,
                .tool = is_tool ? party->command : "",
                .called = party_program(party),
                .id_begin = t->id,
                .since_ms = span(!is_foreign, party->since_ms)};
    (void)snprintf(t->id, sizeof(t->id), "%s", party->owner);
    if (kind == LK_KIND_LATCH && position == 0)
        t->library = "";
    if (kind != LK_KIND_SEMAPHORE && kind != LK_KIND_PLAIN_SEMAPHORE)
        return;
    (void)snprintf(t->permits_text, sizeof(t->permits_text),
                   "%" PRIu64 " permit%s", party->count,
                   party->count == 1 ? "" : "s");
    t->permits = t->permits_text;
}

void see_json_party(cli_json *json, const char *key, lk_kind kind,
                    const lk_party *party, size_t position)
{
    told t;

    if (party != NULL)
        tell(&t, kind, party, position);
    cli_json_record(json, key, party_fields, position > 0 ? WAITER : HOLDER,
                    party != NULL ? &t : NULL);
}

void see_json_info(cli_json *json, const char *name, lk_kind kind,
                   const lk_info *info)
{
    cli_json_text(json, "name", name);
    cli_json_text(json, "kind", lk_kind_text(kind));
    cli_json_open(json, "holders", '[');
    for (size_t i = 0; i < info->holder_count; i++)
        see_json_party(json, NULL, kind, info->holders[i], 0);
    cli_json_close(json, ']');
    cli_json_count(json, "waiter_count", info->waiter_count);
    cli_json_open(json, "waiters", '[');
    for (size_t i = 0; i < info->listed_count; i++)
        see_json_party(json, NULL, kind, info->waiters[i], i + 1);
    cli_json_close(json, ']');
}

/* ---- pages --------------------------------------------------------------- */

FILE *see_page_begin(see_page *page, const cli *c, FILE *to)
{
    int columns = cli_columns_bound(to);

    *page = (see_page){.c = cli_painting(c, to), .to = to, .columns = columns};
    page->kept = columns != CLI_UNBOUND
                     ? open_memstream(&page->text, &page->size)
                     : NULL;
    return page->kept != NULL ? page->kept : to;
}

void see_page_end(see_page *page)
{
    if (page->kept != NULL && fclose(page->kept) == 0)
        cli_put_wrapped(page->to, page->text, page->columns);
    free(page->text);
}

/* ---- text ------------------------------------------------------------------ */

const char *see_program(const lk_party *party)
{
    return party->name[0] != '\0' ? party->name : party->command;
}

const char *see_name_words(char text[SEE_PART_SIZE], const char *name)
{
    return cli_clean_part(text, SEE_PART_SIZE, name, 40);
}

/* Of what no process keeps the reason says more than the id. */
static bool is_reason(const lk_party *party)
{
    return !see_is_kept(party) && party->reason[0] != '\0';
}

void see_party_words(char text[SEE_PARTY_SIZE], const lk_party *party)
{
    FILE *to = fmemopen(text, SEE_PARTY_SIZE, "w");
    told t;

    text[0] = '\0';
    if (to == NULL)
        return;
    tell(&t, LK_KIND_LOCK, party, 0);
    if (is_reason(party))
        cli_put_view(to, "{id} ({reason.104})", party_fields, &t);
    else if (party->host[0] != '\0')
        cli_put_view(to, "{host.40}:{pid}", party_fields, &t);
    else
        cli_put_view(to, "[{foreign}'s ]{owner.40}", party_fields, &t);
    if (!is_reason(party) && t.called[0] != '\0')
        cli_put_view(to, " ({called.24}[, user {user.24}][: {reason.64}])",
                     party_fields, &t);
    (void)fclose(to);
}

void see_held_words(char text[SEE_HELD_SIZE], const lk_info *info,
                    const char *revoked)
{
    char party[SEE_PARTY_SIZE], more[32] = "";

    see_party_words(party, info->holders[0]);
    if (info->holder_count > 1)
        (void)snprintf(more, sizeof(more), " and %zu more",
                       info->holder_count - 1);
    (void)snprintf(text, SEE_HELD_SIZE, "%s%s%s", party,
                   info->holders[0]->revoked ? revoked : "", more);
}

void see_put_party(FILE *to, const lk_party *party)
{
    char words[SEE_PARTY_SIZE];
    told t;

    if (is_reason(party)) {
        see_party_words(words, party);
        (void)fputs(words, to);
        return;
    }
    tell(&t, LK_KIND_LOCK, party, 0);
    cli_put_view(to,
                 party->host[0] == '\0' && party->pid == 0
                     ? "{owner}"
                     : "{host} pid {pid}[ ({program})][, user {user}]",
                 party_fields, &t);
}

#define LIFE "[, whose process is {process}][, {mode}][, {permits}]"
#define MORE "[    why   {reason}\n]    id    {owner}[  program {tool}]\n"

void see_put_told(FILE *to, lk_kind kind, const lk_party *party,
                  size_t position, const char *text)
{
    told t;

    see_put_party(to, party);
    tell(&t, kind, party, position);
    cli_put_view(to, text, party_fields, &t);
}

static void put_holder(FILE *to, lk_kind kind, const lk_party *party)
{
    (void)fputs(kind == LK_KIND_LATCH ? "  arrived " : "  held by ", to);
    see_put_told(to, kind, party, 0,
                 LIFE "[, by {foreign}][, revoked{revoked}]\n"
                      "    [since {held_ms}, ][lease left {lease_ms}|no lease]"
                      "[, fence {fence}]\n"
                      "[    waits for {waits_for}\n]" MORE);
}

static void
put_waiter(FILE *to, lk_kind kind, const lk_party *party, size_t position)
{
    (void)fprintf(to, "  waiting %zu: ", position);
    see_put_told(to, kind, party, position,
                 LIFE
                 "[, alive{alive}][, for {waited_ms}|, by {foreign}]\n" MORE);
}

/* They are told of until the server has not heard from them for 13 s. */
static void put_gone(FILE *to, const lk_info *info)
{
    size_t gone = 0;

    for (size_t i = 0; i < info->listed_count; i++)
        gone += see_life_of(info->waiters[i]) == SEE_GONE;
    if (gone > 0)
        (void)fprintf(to, ", %zu of them gone from this host", gone);
}

static void put_info(const cli *c, FILE *to, const char *name, lk_kind kind,
                     const lk_info *info, const char *more)
{
    cli_paint(c, to, CLI_BOLD);
    cli_put_clean(to, name);
    cli_paint(c, to, CLI_PLAIN);
    (void)fprintf(to, ": %s, ", lk_kind_text(kind));
    if (kind == LK_KIND_PLAIN_SEMAPHORE)
        (void)fputs("nobody knows who has its permits", to);
    else if (info->holder_count == 0)
        (void)fputs(kind == LK_KIND_LATCH ? "nobody arrived" : "free", to);
    else
        (void)fprintf(to, "%zu %s", info->holder_count,
                      kind == LK_KIND_LATCH ? "arrived" : "holding");
    (void)fprintf(to, ", %zu waiting", info->waiter_count);
    put_gone(to, info);
    (void)fprintf(to, "%s\n", more);
    for (size_t i = 0; i < info->holder_count; i++)
        put_holder(to, kind, info->holders[i]);
    for (size_t i = 0; i < info->listed_count; i++)
        put_waiter(to, kind, info->waiters[i], i + 1);
    if (info->listed_count < info->waiter_count)
        (void)fprintf(to, "  and %zu more\n",
                      info->waiter_count - info->listed_count);
}

void see_put_info(const cli *c, FILE *to, const char *name, lk_kind kind,
                  const lk_info *info, const char *more)
{
    see_page page;
    FILE *on = see_page_begin(&page, c, to);

    put_info(&page.c, on, name, kind, info, more);
    see_page_end(&page);
}
