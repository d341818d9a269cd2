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

/* A fence is what only Latchkey's holders have. A latch has neither. */
bool see_is_foreign(lk_kind kind, const lk_party *party)
{
    return kind != LK_KIND_LATCH && party->fence == 0;
}

bool see_is_kept(const lk_party *party)
{
    return party->host[0] != '\0' || see_is_foreign(LK_KIND_LOCK, party);
}

const char *see_library(lk_kind kind, const lk_party *party)
{
    if (kind == LK_KIND_LATCH)
        return "";
    return see_is_foreign(kind, party) ? "redisson" : "latchkey";
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

/* ---- JSON ----------------------------------------------------------------- */

void see_json_text(cli_json *json, const char *key, const char *text)
{
    if (text[0] == '\0')
        cli_json_null(json, key);
    else
        cli_json_text(json, key, text);
}

void see_json_unread(cli_json *json, const char *reason)
{
    if (reason == NULL)
        cli_json_null(json, "unread");
    else
        cli_json_text(json, "unread", reason);
}

static void json_count(cli_json *json, const char *key, uint64_t number)
{
    if (number == 0)
        cli_json_null(json, key);
    else
        cli_json_count(json, key, number);
}

static const char *const life_words[] =
    {[SEE_UNSEEN] = "", [SEE_GONE] = "gone", [SEE_STOPPED] = "stopped"};

static void json_process(cli_json *json, const lk_party *party)
{
    cli_json_text(json, "owner", party->owner);
    see_json_text(json, "host", party->host);
    json_count(json, "pid", party->pid);
    see_json_text(json, "command", party->command);
    see_json_text(json, "user", party->user);
    see_json_text(json, "client", party->name);
    see_json_text(json, "reason", party->reason);
    see_json_text(json, "mode", party->mode);
    cli_json_count(json, "count", party->count);
    see_json_text(json, "process", life_words[see_life_of(party)]);
}

void see_json_holder(cli_json *json, const char *key, lk_kind kind,
                     const lk_party *party)
{
    cli_json_open(json, key, '{');
    json_process(json, party);
    see_json_text(json, "library", see_library(kind, party));
    json_count(json, "fence", party->fence);
    if (see_is_foreign(kind, party))
        cli_json_null(json, "held_ms");
    else
        cli_json_count(json, "held_ms", party->since_ms);
    if (party->lease_ms < 0)
        cli_json_null(json, "lease_ms");
    else
        cli_json_number(json, "lease_ms", party->lease_ms);
    see_json_text(json, "waits_for", party->waits_for);
    cli_json_bool(json, "revoked", party->revoked);
    cli_json_close(json, '}');
}

void see_json_waiter(cli_json *json, const char *key, const lk_party *party,
                     size_t position)
{
    cli_json_open(json, key, '{');
    cli_json_count(json, "position", position);
    json_process(json, party);
    cli_json_text(json, "library",
                  see_is_foreign_waiter(party) ? "redisson" : "latchkey");
    if (see_is_foreign_waiter(party))
        cli_json_null(json, "waited_ms");
    else
        cli_json_count(json, "waited_ms", party->since_ms);
    cli_json_close(json, '}');
}

void see_json_info(cli_json *json, const char *name, lk_kind kind,
                   const lk_info *info)
{
    cli_json_text(json, "name", name);
    cli_json_text(json, "kind", lk_kind_text(kind));
    cli_json_open(json, "holders", '[');
    for (size_t i = 0; i < info->holder_count; i++)
        see_json_holder(json, NULL, kind, info->holders[i]);
    cli_json_close(json, ']');
    cli_json_count(json, "waiter_count", info->waiter_count);
    cli_json_open(json, "waiters", '[');
    for (size_t i = 0; i < info->listed_count; i++)
        see_json_waiter(json, NULL, info->waiters[i], i + 1);
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

/* Whose process it is, as people call it: "make", not "latchkey". */
static const char *party_program(const lk_party *party)
{
    bool is_tool = strcmp(party->command, "latchkey") == 0;

    if (party->command[0] == '\0' || (is_tool && party->name[0] != '\0'))
        return party->name;
    return party->command;
}

/* Columns of a part of a line. */
enum { PART = 24, NAME = 40, REASON = 64 };

/* A part of what others wrote, cleaned, and as wide as it may be. */
static const char *
part(char text[SEE_PART_SIZE], const char *written, int columns)
{
    char whole[2560]; /* nothing that others write is as long when cleaned */

    (void)cli_clean(whole, sizeof(whole) - CLI_UTF8_SHOWN, written);
    cli_utf8_shorten(whole, columns);
    return cli_clean(text, SEE_PART_SIZE, whole);
}

const char *see_name_words(char text[SEE_PART_SIZE], const char *name)
{
    return part(text, name, NAME);
}

/* "web-3:4121", or the id where no more is known. */
static int put_place(char text[SEE_PARTY_SIZE], const lk_party *party)
{
    bool is_known = party->host[0] != '\0';
    char place[SEE_PART_SIZE];
    int used;

    used = snprintf(text, SEE_PARTY_SIZE, "%s%s",
                    !is_known && see_is_foreign(LK_KIND_LOCK, party)
                        ? "Redisson's "
                        : "",
                    part(place, is_known ? party->host : party->owner, NAME));
    if (is_known)
        used += snprintf(text + used, (size_t)(SEE_PARTY_SIZE - used),
                         ":%" PRIu64, party->pid);
    return used;
}

/* "e446ca3e (deploy 4.2)": the reason says more than the whole id. */
static void put_reason(char text[SEE_PARTY_SIZE], const lk_party *party)
{
    char id[SEE_PART_SIZE], reason[SEE_PART_SIZE];

    (void)part(id, party->owner, NAME);
    (void)snprintf(text, SEE_PARTY_SIZE, "%.*s (%s)", SEE_ID_BEGIN, id,
                   part(reason, party->reason, NAME + REASON));
}

void see_party_words(char text[SEE_PARTY_SIZE], const lk_party *party)
{
    char program[SEE_PART_SIZE], user[SEE_PART_SIZE], reason[SEE_PART_SIZE];
    int used;

    if (!see_is_kept(party) && party->reason[0] != '\0') {
        put_reason(text, party);
        return;
    }
    used = put_place(text, party);
    (void)part(program, party_program(party), PART);
    if (program[0] == '\0')
        return;
    (void)snprintf(text + used, (size_t)(SEE_PARTY_SIZE - used),
                   " (%s%s%s%s%s)", program,
                   party->user[0] != '\0' ? ", user " : "",
                   part(user, party->user, PART),
                   party->reason[0] != '\0' ? ": " : "",
                   part(reason, party->reason, REASON));
}

void see_put_party(FILE *to, const lk_party *party)
{
    const char *program = see_program(party);
    char words[SEE_PARTY_SIZE];

    if (!see_is_kept(party) && party->reason[0] != '\0') {
        see_party_words(words, party);
        (void)fputs(words, to);
        return;
    }
    if (party->host[0] == '\0' && party->pid == 0) {
        cli_put_clean(to, party->owner);
        return;
    }
    cli_put_clean(to, party->host);
    (void)fprintf(to, " pid %" PRIu64, party->pid);
    if (program[0] != '\0') {
        (void)fputs(" (", to);
        cli_put_clean(to, program);
        (void)fputc(')', to);
    }
    if (party->user[0] != '\0') {
        (void)fputs(", user ", to);
        cli_put_clean(to, party->user);
    }
}

/* What stands below a party, indented. */
static void put_more(FILE *to, const lk_party *party)
{
    if (party->reason[0] != '\0') {
        (void)fputs("    why   ", to);
        cli_put_clean(to, party->reason);
        (void)fputc('\n', to);
    }
    (void)fputs("    id    ", to);
    cli_put_clean(to, party->owner);
    if (party->command[0] != '\0' &&
        strcmp(see_program(party), party->command) != 0) {
        (void)fputs("  program ", to);
        cli_put_clean(to, party->command);
    }
    (void)fputc('\n', to);
}

static void put_mode(FILE *to, lk_kind kind, const lk_party *party)
{
    if (party->mode[0] != '\0')
        (void)fprintf(to, ", %s", party->mode);
    if (kind == LK_KIND_SEMAPHORE || kind == LK_KIND_PLAIN_SEMAPHORE)
        (void)fprintf(to, ", %" PRIu64 " permit%s", party->count,
                      party->count == 1 ? "" : "s");
}

/* It cannot renew any more, or not now: its lease ends it. */
static void put_life(FILE *to, const lk_party *party)
{
    static const char *const words[] = {[SEE_UNSEEN] = "",
                                        [SEE_GONE] = ", whose process is gone",
                                        [SEE_STOPPED] =
                                            ", whose process is stopped"};

    (void)fputs(words[see_life_of(party)], to);
}

static void put_holder(FILE *to, lk_kind kind, const lk_party *party)
{
    char time[CLI_TIME_SIZE];

    (void)fputs(kind == LK_KIND_LATCH ? "  arrived " : "  held by ", to);
    see_put_party(to, party);
    put_life(to, party);
    put_mode(to, kind, party);
    if (see_is_foreign(kind, party))
        (void)fprintf(to, ", by Redisson");
    if (party->revoked)
        (void)fputs(", revoked", to);
    (void)fputs("\n    ", to);
    if (!see_is_foreign(kind, party))
        (void)fprintf(to, "since %s, ", cli_time_words(time, party->since_ms));
    if (party->lease_ms >= 0)
        (void)fprintf(to, "lease left %s",
                      cli_time_words(time, (uint64_t)party->lease_ms));
    else
        (void)fputs("no lease", to);
    if (party->fence != 0)
        (void)fprintf(to, ", fence %" PRIu64, party->fence);
    (void)fputc('\n', to);
    if (party->waits_for[0] != '\0') {
        (void)fputs("    waits for ", to);
        cli_put_clean(to, party->waits_for);
        (void)fputc('\n', to);
    }
    put_more(to, party);
}

static void
put_waiter(FILE *to, lk_kind kind, const lk_party *party, size_t position)
{
    char time[CLI_TIME_SIZE];

    (void)fprintf(to, "  waiting %zu: ", position);
    see_put_party(to, party);
    put_life(to, party);
    put_mode(to, kind, party);
    if (see_is_foreign_waiter(party))
        (void)fputs(", by Redisson\n", to);
    else
        (void)fprintf(to, ", for %s\n", cli_time_words(time, party->since_ms));
    put_more(to, party);
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
