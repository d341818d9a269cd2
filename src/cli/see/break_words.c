/* SPDX-License-Identifier: MIT */

/* What `latchkey break` says of the holds that it ends. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/clock.h"
#include "cli/output.h"
#include "cli/see/breaking.h"
#include "cli/see/see.h"

enum {
    QUIET_MS = 300,      /* of a wait before anything is said of it */
    SAY_EVERY_MS = 10000 /* where there is no terminal */
};

bool break_is_meant(const struct breaking *b, const lk_party *party)
{
    return b->values->owner == NULL ||
           strcmp(b->values->owner, party->owner) == 0;
}

size_t break_count_meant(const struct breaking *b)
{
    size_t count = 0;

    for (size_t i = 0; i < b->info->holder_count; i++)
        count += break_is_meant(b, b->info->holders[i]);
    return count;
}

const lk_party *break_party(const struct breaking *b, const char *owner)
{
    for (size_t i = 0; i < b->info->holder_count; i++) {
        if (strcmp(b->info->holders[i]->owner, owner) == 0)
            return b->info->holders[i];
    }
    return NULL;
}

/* Whether nobody is there who could stop. */
static bool is_left_alone(const lk_party *party)
{
    return !see_is_kept(party) || see_life_of(party) == SEE_GONE;
}

/* A word of a command to be typed. What a shell may take for more than itself is
   said by another word: some of it comes from the server. */
static const char *to_type(const char *text, const char *otherwise)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
                                "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "0123456789_.:/@%+=,-";

    return text[0] != '\0' && text[0] != '-' &&
                   text[strspn(text, plain)] == '\0'
               ? text
               : otherwise;
}

/* The options that name the server, if the command line has any, as they are to be
   typed. "URL" stands for one that may hold a password. */
static void put_server(const struct breaking *b, char *text, size_t size)
{
    const char *url = b->c->url, *profile = b->c->profile;
    const char *shown = url == NULL ? "" : to_type(url, "URL");
    bool is_whole = url == NULL || strchr(url, '@') == NULL;

    (void)snprintf(text, size, "%s%s%s%s", url != NULL ? " --url " : "",
                   is_whole ? shown : "URL",
                   profile != NULL ? " --profile " : "",
                   profile != NULL ? to_type(profile, "PROFILE") : "");
}

/* The command that waits for nobody, as it is to be typed. */
static void put_now(const struct breaking *b, const lk_party *party)
{
    char server[1024];
    bool is_one = b->info->holder_count == 1;

    put_server(b, server, sizeof(server));
    cli_note(b->c,
             "if you know that its work is over, this ends it at once:\n"
             "  latchkey break%s --now%s%s %s%s",
             server, is_one ? "" : " --if-owner ",
             is_one ? "" : to_type(party->owner, "OWNER"),
             to_type(b->name, "NAME"),
             see_is_kept(party)
                 ? ""
                 : "\n  as does `latchkey release` with the text "
                   "of `acquire`");
}

/* Of one that nobody keeps: whoever ends it would wait for nobody. */
static void tell_left_alone(const struct breaking *b, const lk_party *party)
{
    char words[SEE_PARTY_SIZE], time[CLI_TIME_SIZE] = "";

    see_party_words(words, party);
    if (party->lease_ms >= 0)
        (void)cli_time_words(time, (uint64_t)party->lease_ms);
    cli_note(b->c,
             see_is_kept(party)
                 ? "this host does not see the process of %s any more: its "
                   "hold ends with its lease%s%s"
                 : "no process is known that keeps the hold of %s: if there is "
                   "one, it is told to stop; else it ends with its lease%s%s",
             words, time[0] != '\0' ? ", in " : "", time);
    put_now(b, party);
}

/* Whether all that are meant are so. The last of them is told of. */
static bool are_left_alone(const struct breaking *b)
{
    const lk_party *last = NULL;
    size_t count = 0;

    for (size_t i = 0; i < b->info->holder_count; i++) {
        const lk_party *party = b->info->holders[i];

        if (break_is_meant(b, party) && is_left_alone(party)) {
            last = party;
            count++;
        }
    }
    if (last == NULL || b->values->now)
        return false;
    tell_left_alone(b, last);
    return count == break_count_meant(b);
}

const char *break_question(const struct breaking *b)
{
    bool waits_for_lease = are_left_alone(b);

    if (b->values->now)
        return "End it? Its work may go on beside the next one's. [y/N] ";
    return waits_for_lease
               ? "End it? The end of its lease is waited for. [y/N] "
               : "End it? Its holder is told to stop, and waited for. [y/N] ";
}

static void put_owner(FILE *to, const struct breaking *b, const char *owner)
{
    const lk_party *party = break_party(b, owner);
    char words[SEE_PARTY_SIZE];

    if (party == NULL) {
        cli_put_clean(to, owner);
    } else if (!is_left_alone(party)) {
        see_put_party(to, party);
    } else {
        see_party_words(words, party);
        (void)fprintf(to, "the lease of %s", words);
    }
}

static void
put_wait(FILE *to, const struct breaking *b, const char *owner, int64_t left_ms)
{
    const lk_party *party = break_party(b, owner);
    bool ends = party != NULL && is_left_alone(party);
    char time[CLI_TIME_SIZE];

    (void)fputs("waiting for ", to);
    put_owner(to, b, owner);
    if (left_ms >= 0)
        (void)fprintf(to, " to %s, for %s at most%s", ends ? "end" : "stop",
                      cli_time_words(time, (uint64_t)left_ms),
                      ends ? "; if its work is over: ^C, then --now" : "");
    else
        (void)fputs(": it cannot be told, and may keep it; --now does not wait",
                    to);
}

void break_say_wait(struct breaking *b, const char *owner, int64_t left_ms)
{
    bool is_drawn = isatty(STDERR_FILENO) != 0 && !b->c->logs_json;
    int64_t now = cli_now_ns();
    char *text = NULL;
    size_t size;
    FILE *to;

    if (b->c->quiet || now < b->begun_ns + QUIET_MS * CLI_NS_PER_MS ||
        (!is_drawn && b->said_ns != 0 &&
         now < b->said_ns + SAY_EVERY_MS * CLI_NS_PER_MS))
        return;
    to = open_memstream(&text, &size);
    if (to == NULL)
        return;
    put_wait(to, b, owner, left_ms);
    if (fclose(to) == 0 && is_drawn)
        cli_line_draw(&b->line, text);
    else
        cli_note(b->c, "%s", text);
    free(text);
    b->said_ns = now;
}

void break_say_done(const struct breaking *b)
{
    bool is_foreign = false;

    for (size_t i = 0; i < b->info->holder_count; i++)
        is_foreign |= break_is_meant(b, b->info->holders[i]) &&
                      see_is_foreign(b->kind, b->info->holders[i]);
    if (b->values->dry_run)
        cli_note(b->c, "nothing was changed");
    else if (!b->values->now)
        cli_note(b->c, "revoked; its holder has stopped, or its lease is over");
    else if (is_foreign)
        cli_note(b->c, "ended; Redisson does not tell its holder, whose work "
                       "goes on");
    else
        cli_note(b->c, "ended; the holder is told, if it is there, and its "
                       "work may go on until then");
}
