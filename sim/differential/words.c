/* SPDX-License-Identifier: MIT */

#include "differential/words.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

unsigned words_chance(words *w, unsigned limit)
{
    return (unsigned)(sim_random(&w->random) % limit);
}

void words_note(words *w, sim_str number)
{
    if (number.size < SIM_NUMBER)
        snprintf(w->fences[words_chance(w, FENCES)], SIM_NUMBER, "%.*s",
                 (int)number.size, number.bytes);
}

void words_begin(words *w)
{
    w->text.size = 0;
    w->count = 0;
    w->claim[0] = '\0';
}

void words_add(words *w, sim_str word)
{
    if (w->count + 1 >= WORDS_MOST)
        return;
    w->offsets[w->count++] = w->text.size;
    sim_buffer_add(&w->text, word);
}

void words_print(words *w, const char *format, ...)
{
    char text[256];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    words_add(w, sim_str_of(text));
}

int words_end(words *w, sim_str *args)
{
    w->offsets[w->count] = w->text.size;
    for (int i = 0; i < w->count; i++)
        args[i] = (sim_str){w->text.bytes + w->offsets[i],
                            w->offsets[i + 1] - w->offsets[i]};
    return w->count;
}

void words_key(words *w, const char *family, unsigned name, const char *role)
{
    words_print(w, "%s:{n%u}:%s", family, name, role);
}

/* ---- what is expected --------------------------------------------------- */

static void add_owner(words *w)
{
    snprintf(w->owner, sizeof(w->owner), "c%ua0b%u:%u", words_chance(w, 3),
             words_chance(w, 2), words_chance(w, 4));
    words_print(w, "%s", w->owner);
}

/* A waiter as one text, most often of the owner that was named before. */
static void add_member(words *w)
{
    static const char *const modes[] = {"l", "l", "f", "w"};
    static const unsigned leases[] = {30000, 30000, 50};
    char owner[SIM_NUMBER];

    snprintf(owner, sizeof(owner), "c%ua0b%u:%u", words_chance(w, 3),
             words_chance(w, 2), words_chance(w, 4));
    words_print(w, "%s 0123456789abcdef %s 1 %u - p why not",
                words_chance(w, 4) != 0 && w->owner[0] != '\0' ? w->owner
                                                               : owner,
                modes[words_chance(w, 4)], leases[words_chance(w, 3)]);
}

static void add_how(words *w)
{
    static const char *const hows[] = {"q", "q", "q", "t", "y", "s", ""};

    words_add(w, sim_str_of(hows[words_chance(w, 7)]));
}

static void add_why(words *w)
{
    static const char *const whys[] = {"r", "r", "l", "l", "f", ""};

    words_add(w, sim_str_of(whys[words_chance(w, 6)]));
}

static void add_fence(words *w)
{
    const char *fence = w->fences[words_chance(w, FENCES)];

    words_print(w, "%s", *fence == '\0' ? "1700000000000001" : fence);
}

static void add_time(words *w)
{
    static const unsigned times[] = {1,    5,    30,    100,    500,
                                     1000, 3000, 30000, 3600000};

    words_print(w, "%u", times[words_chance(w, 9)]);
}

static void add_small(words *w)
{
    words_print(w, "%u", words_chance(w, 4));
}

static void add_inbox(words *w)
{
    words_print(w, "inbox%u", words_chance(w, 3));
}

static void add_bytes(words *w)
{
    static const sim_str texts[] = {{"", 0},
                                    {"a reason", 8},
                                    {"two  blanks ", 12},
                                    {"\0bin\xff\r\n", 7},
                                    {"1 2 3", 5},
                                    {"x y 12 z", 8}};

    words_add(w, texts[words_chance(w, 6)]);
}

static void add_number(words *w)
{
    static const char *const numbers[] = {"-1", "0", "1", "2", "3", "5", "17"};

    words_add(w, sim_str_of(numbers[words_chance(w, 7)]));
}

static void add_queue(words *w)
{
    static const char *const queues[] = {"1", "1", "1", "0", "s", ""};

    words_add(w, sim_str_of(queues[words_chance(w, 6)]));
}

static void add_mode(words *w)
{
    static const char *const modes[] = {"r", "u", "w", "p", "c", ""};

    words_add(w, sim_str_of(modes[words_chance(w, 6)]));
}

static void add_text(words *w)
{
    static const char *const texts[] = {"set", "check", "", "resize"};

    words_add(w, sim_str_of(texts[words_chance(w, 4)]));
}

static void add_settled(words *w)
{
    words_print(w, "%u,%u", words_chance(w, 4), words_chance(w, 9));
}

void words_argument(words *w, const char *called, unsigned name)
{
    static const struct {
        const char *called;
        void (*add)(words *w);
    } makers[] = {{"owner", add_owner},       {"op", add_owner},
                  {"base", add_owner},        {"id", add_owner},
                  {"token", add_owner},       {"fence", add_fence},
                  {"lease", add_time},        {"ttl", add_time},
                  {"tombstone_ms", add_time}, {"inbox", add_inbox},
                  {"reason", add_bytes},      {"value", add_bytes},
                  {"words", add_bytes},       {"member", add_bytes},
                  {"amount", add_number},     {"number", add_number},
                  {"queue", add_queue},       {"mode", add_mode},
                  {"text", add_text},         {"settled", add_settled},
                  {"field", add_owner},       {"claim", add_owner},
                  {"claims", add_owner},      {"own", add_member},
                  {"members", add_member},    {"how", add_how},
                  {"why", add_why},           {"life", add_time}};

    if (strcmp(called, "channel") == 0) {
        words_print(w, "channel:{n%u}", name);
        return;
    }
    for (unsigned i = 0; i < sizeof(makers) / sizeof(makers[0]); i++) {
        if (strcmp(called, makers[i].called) == 0) {
            makers[i].add(w);
            return;
        }
    }
    add_small(w);
}

/* ---- what is not -------------------------------------------------------- */

void words_hostile(words *w)
{
    static const char long_text[] = "a long text that is longer than what a "
                                    "small hash keeps in place, so it becomes "
                                    "a table";
    static const char *const texts[] = {"",
                                        "-1",
                                        "x",
                                        "0x10",
                                        " 1",
                                        "1 ",
                                        "+1",
                                        "1.5",
                                        "-0",
                                        "1e3",
                                        "1e30",
                                        "inf",
                                        "-inf",
                                        "nan",
                                        "(1",
                                        "9007199254740993",
                                        "9223372036854775807",
                                        "-9223372036854775808",
                                        "18446744073709551616",
                                        "WITHSCORES",
                                        "NX",
                                        "*",
                                        "[a-c]?*",
                                        long_text};

    words_add(w, sim_str_of(
                     texts[words_chance(w, sizeof(texts) / sizeof(texts[0]))]));
}
