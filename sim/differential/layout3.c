/* SPDX-License-Identifier: MIT */

#include "differential/layout3.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "differential/words.h"
#include "support/paths.h"

/* ---- what each gets ----------------------------------------------------- */

/* The roles of its keys, and what its arguments are called; those from one with a
   question mark on may be missing. */
static const struct row {
    const char *name, *family, *keys, *args;
} rows[] =
    {{"latch/arm", "latch3", "N x c", "op count arming nonce ttl channel"},
     {"latch/arrive", "latch3", "N x c", "claim count nonce ttl channel"},
     {"latch/delete", "latch3", "N x c", "life channel news word"},
     {"latch/down", "latch3", "N x c m",
      "op count settled life channel news word"},
     {"latch/open", "latch3", "N x c", "life channel news word"},
     {"latch/quit", "latch3", "N x c", "claim"},
     {"latch/wait", "latch3", "N x c", "spinner nonce life"},
     {"lock/acquire", "lock3", "N q r", "waiter lease ?flag"},
     {"lock/close", "lock3", "N q r x", "closing inbox channel"},
     {"lock/drop", "lock3", "N", "claim"},
     {"lock/force", "lock3", "N q", "forced inbox channel"},
     {"lock/forget", "lock3", "N q r x", "channel fair"},
     {"lock/import", "lock3", "N r x", "claim other inbox word"},
     {"lock/keep", "lock3", "N x", "claim lease ?word"},
     {"lock/leave", "lock3", "N q x", "member end"},
     {"lock/lift", "lock3", "r", ""},
     {"lock/next", "lock3", "N q r x", "client channel fair flag trying"},
     {"lock/park", "lock3", "q x", "client"},
     {"lock/renew", "lock3", "N N N", "lease way claim ?other other"},
     {"lock/reserve", "lock3", "N q r", "claim lease count channel fair"},
     {"lock/revoke", "lock3", "N", "claim inbox"},
     {"lock/see", "lock3", "N q r x", "fair"},
     {"lock/touch", "lock3", "N q r x",
      "client channel fair flag ?member member member"},
     {"plain_semaphore/change", "plain3", "N q m x",
      "op what amount only ttl channel settled"},
     {"plain_semaphore/leave", "plain3", "N q m x", "asking end"},
     {"plain_semaphore/take", "plain3", "N q m x", "claim asked settled"},
     {"plain_semaphore/tell", "plain3", "N q x", "inbox"},
     {"plain_semaphore/touch", "plain3", "N q m x",
      "client depth ?asking asking asking"},
     {"rwlock/acquire_read", "rwlock3", "N qw qr r T",
      "claim lease queueing writer"},
     {"rwlock/acquire_up", "rwlock3", "N qw qr r x qu T",
      "claim lease queueing base"},
     {"rwlock/acquire_write", "rwlock3", "N qw qr r", "claim lease queueing"},
     {"rwlock/admit", "rwlock3", "N qw qr r x qu", "inbox base"},
     {"rwlock/close_read", "rwlock3", "N qw qr r x T", "claim inbox channel"},
     {"rwlock/close_write", "rwlock3", "N qw qr r x",
      "claim inbox channel base ?other other"},
     {"rwlock/downgrade", "rwlock3", "N qw qr r T", "other claim"},
     {"rwlock/keep_read", "rwlock3", "N r x T", "claim lease writer word"},
     {"rwlock/keep_write", "rwlock3", "N r x", "claim lease word ?other other"},
     {"rwlock/leave", "rwlock3", "N qw qr x qu", "member line end"},
     {"rwlock/next", "rwlock3", "N qw qr r x qu", "inbox base"},
     {"rwlock/touch", "rwlock3", "N qw qr r x qu",
      "client base channel depth ?line member line member line member"},
     {"rwlock/upgrade", "rwlock3", "N qw qr r x T", "claim other queueing"},
     {"semaphore/acquire", "semaphore3", "N Z q r", "claim lease asked ?flag"},
     {"semaphore/close", "semaphore3", "N Z q r x",
      "inbox channel lease ?claim second third"},
     {"semaphore/give_up", "semaphore3", "Z", "claim ?second third"},
     {"semaphore/keep", "semaphore3", "Z r x",
      "lease skew word claim ?second third"},
     {"semaphore/leave", "semaphore3", "N Z q x", "asking end"},
     {"semaphore/next", "semaphore3", "N Z q r x", "channel skew"},
     {"semaphore/park", "semaphore3", "N Z q x", "client"},
     {"semaphore/park", "plain3", "N N q x", "client"},
     {"semaphore/renew", "semaphore3", "Z Z", "lease held held"},
     {"semaphore/resize", "semaphore3", "N Z x", "count sizing flag channel"},
     {"semaphore/sweep", "semaphore3", "x", ""},
     {"semaphore/sweep", "plain3", "m", ""},
     {"semaphore/touch", "semaphore3", "N Z q r x",
      "client channel skew depth ?asking asking asking"}};

enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

unsigned layout3_most(void)
{
    return 2 * ROWS;
}

/* ---- reading ------------------------------------------------------------ */

static void check_rows(void)
{
    static const char folder[] = LK_SOURCE_DIR "/lua/layout3/";
    glob_t found;

    if (glob(LK_SOURCE_DIR "/lua/layout3/*/*.lua", 0, NULL, &found) != 0)
        sim_fail("there are no scripts of layout 3");
    for (size_t i = 0; i < found.gl_pathc; i++) {
        const char *name = found.gl_pathv[i] + sizeof(folder) - 1;
        size_t size = strlen(name) - strlen(".lua");
        unsigned row = 0;

        while (row < ROWS && (strlen(rows[row].name) != size ||
                              strncmp(rows[row].name, name, size) != 0))
            row++;
        if (row == ROWS) {
            fprintf(stderr, "sim/differential/layout3.c lacks %s\n", name);
            sim_fail("a script that nothing is known of");
        }
    }
    globfree(&found);
}

/* The caller's to free. */
static char *body_of(const char *name)
{
    enum { LONGEST = 65536 };
    char path[512];
    char *body = sim_alloc(LONGEST);
    FILE *file;

    snprintf(path, sizeof(path), "%s/lua/layout3/%s.lua", LK_SOURCE_DIR, name);
    file = fopen(path, "re");
    if (file == NULL || fread(body, 1, LONGEST - 1, file) == 0)
        sim_fail("a script of layout 3 cannot be read");
    fclose(file);
    return body;
}

/* Every word by another. */
static char *replaced(char *body, const char *word, const char *by)
{
    sim_buffer text = {0};
    const char *at = body, *next;

    for (; (next = strstr(at, word)) != NULL; at = next + strlen(word)) {
        sim_buffer_add(&text, (sim_str){at, (size_t)(next - at)});
        sim_buffer_add(&text, sim_str_of(by));
    }
    sim_buffer_print(&text, "%s", at);
    *sim_buffer_more(&text, 1) = '\0';
    free(body);
    return text.bytes;
}

static unsigned
roles_read(const char *list, char roles[][SCRIPT_WORD], unsigned *ret_needed)
{
    unsigned count = 0;

    *ret_needed = SCRIPT_WORDS;
    for (; *list != '\0'; list += strspn(list, " ")) {
        size_t size;

        if (*list == '?') {
            *ret_needed = count;
            list++;
        }
        size = strcspn(list, " ");
        memcpy(roles[count++], list, size);
        list += size;
    }
    if (*ret_needed > count)
        *ret_needed = count;
    return count;
}

static void
script_make(script *s, const struct row *row, char *body, unsigned index)
{
    unsigned needed_keys;

    s->body = body;
    sim_sha1(s->sha1, sim_str_of(body));
    s->own = (lk__script){.name = row->name,
                          .body = body,
                          .size = strlen(body),
                          .sha1 = s->sha1,
                          .index = index};
    s->script = &s->own;
    s->is_layout3 = true;
    (void)snprintf(s->family, sizeof(s->family), "%s", row->family);
    s->key_count = roles_read(row->keys, s->keys, &needed_keys);
    s->arg_count = roles_read(row->args, s->args, &s->args_needed);
}

unsigned layout3_read(script *scripts, unsigned index)
{
    unsigned count = 0;

    check_rows();
    for (unsigned i = 0; i < ROWS; i++) {
        char *body = body_of(rows[i].name), *sharded = body_of(rows[i].name);

        sharded = replaced(sharded, "'PUBLISH'", "'SPUBLISH'");
        sharded = replaced(sharded, "'NUMSUB'", "'SHARDNUMSUB'");
        script_make(&scripts[count], &rows[i], body, index + count);
        count++;
        if (strcmp(body, sharded) == 0) {
            free(sharded);
            continue;
        }
        script_make(&scripts[count], &rows[i], sharded, index + count);
        count++;
    }
    return count;
}

/* ---- claims and members ------------------------------------------------- */

/* Draws one of six claims, and keeps it. */
static void claim_draw(words *w)
{
    char client[33];

    memset(client, "abc"[words_chance(w, 3)], 32);
    client[32] = '\0';
    snprintf(w->claim, sizeof(w->claim), "%s:%016u", client,
             1 + words_chance(w, 2));
}

static void add_client(words *w)
{
    claim_draw(w);
    words_print(w, "%.32s", w->claim);
}

/* Most often that of a key before it. */
static void add_claim(words *w)
{
    if (w->claim[0] == '\0' || words_chance(w, 4) == 0)
        claim_draw(w);
    words_print(w, "%s", w->claim);
}

static void add_other(words *w)
{
    claim_draw(w);
    words_print(w, "%s", w->claim);
}

static void add_permit(words *w, unsigned number)
{
    if (w->claim[0] == '\0')
        claim_draw(w);
    words_print(w, "%s:%u", w->claim, number);
}

static void add_second(words *w)
{
    add_permit(w, 2);
}

static void add_third(words *w)
{
    add_permit(w, 3);
}

static const char nonce[] = "0123456789abcdef";

static void add_member(words *w)
{
    claim_draw(w);
    words_print(w, "%s%c%s", w->claim, words_chance(w, 8) == 0 ? 'u' : ' ',
                nonce);
}

/* Most often each claim has a need of its own. */
static unsigned need_draw(words *w)
{
    static const unsigned needs[] = {1, 2, 3, 20, 1000};

    return words_chance(w, 8) == 0 ? needs[words_chance(w, 5)]
                                   : (unsigned)strtoul(w->claim + 33, NULL, 10);
}

/* A member of a semaphore. */
static void add_asking(words *w)
{
    claim_draw(w);
    words_print(w, "%s%c%s %04u", w->claim, words_chance(w, 8) == 0 ? 'l' : ' ',
                nonce, need_draw(w));
}

/* A member of a semaphore, or a try. */
static void add_asked(words *w)
{
    if (words_chance(w, 3) == 0)
        words_print(w, "%04u", 1 + words_chance(w, 3));
    else
        add_asking(w);
}

static void add_held(words *w)
{
    claim_draw(w);
    words_print(w, "%04u%s", need_draw(w), w->claim);
}

static void add_nothing(words *w)
{
    words_print(w, "%s", "");
}

static void add_waiter(words *w)
{
    (words_chance(w, 3) == 0 ? add_other : add_member)(w);
}

static void add_queueing(words *w)
{
    (words_chance(w, 3) == 0 ? add_nothing : add_member)(w);
}

static void add_trying(words *w)
{
    (words_chance(w, 2) == 0 ? add_nothing : add_other)(w);
}

static void add_spinner(words *w)
{
    (words_chance(w, 4) == 0 ? add_nothing : add_client)(w);
}

static void add_java(words *w)
{
    words_print(w, "01234567-89ab-cdef-0123-456789abcdef:%u",
                1 + words_chance(w, 3));
}

static void add_writer(words *w)
{
    if (words_chance(w, 2) == 0)
        add_nothing(w);
    else if (words_chance(w, 4) == 0)
        add_java(w);
    else
        add_other(w);
}

static void add_forced(words *w)
{
    void (*const makers[])(words *) = {add_nothing, add_java, add_other,
                                       add_other};

    makers[words_chance(w, 4)](w);
}

/* An inbox in which the line that listens may be interested. */
static void add_listened(words *w)
{
    claim_draw(w);
    words_print(w, "in:%.32s", w->claim);
}

/* What may stand in keys of theirs. */
static void add_stored(words *w)
{
    void (*const makers[])(words *) = {add_java, add_other, add_member,
                                       add_asking, add_client};
    static const char *const marks[] = {"others", "phase", "ups", "mode"};

    if (words_chance(w, 4) == 0)
        words_print(w, "%s", marks[words_chance(w, 4)]);
    else
        makers[words_chance(w, 5)](w);
}

/* ---- other arguments ---------------------------------------------------- */

/* Adds a word of a list with bars between. */
static void add_one_of(words *w, const char *list)
{
    unsigned count = 1, chosen;

    for (const char *at = list; *at != '\0'; at++)
        count += *at == '|';
    for (chosen = words_chance(w, count); chosen > 0; chosen--)
        list = strchr(list, '|') + 1;
    words_add(w, (sim_str){list, strcspn(list, "|")});
}

static const struct {
    const char *called, *list;
} choices[] = {{"lease", "1|50|1000|3000|3000|60000"},
               {"ttl", "0|0|100|30000"},
               {"life", "100|4500000"},
               {"skew", "0|10"},
               {"count", "0|1|1|2|3|17"},
               {"amount", "-3|-1|1|1|2|5"},
               {"what", "b|a|a|s|s|d|x"},
               {"only", "1|1700000000000||0"},
               {"arming", "t|r"},
               {"sizing", "x|s"},
               {"op", "op1|op2|op3|op4|op5"},
               {"settled", "||op1|op2"},
               {"nonce", "0123456789abcdef|fedcba9876543210"},
               {"word", "|o 0 |1 2 3|a reason"},
               {"flag", "0|1|1"},
               {"end", "1|-1"},
               {"way", "GT|GT||LT"},
               {"depth", "1000|1000|0|1"},
               {"line", "2|2|3|3|6|5"},
               {"inbox", "in:"},
               {"fair", "own0|own1|own2"}};

static const struct {
    const char *called;
    void (*add)(words *w);
} makers[] = {{"client", add_client},   {"claim", add_claim},
              {"other", add_other},     {"second", add_second},
              {"third", add_third},     {"member", add_member},
              {"asking", add_asking},   {"asked", add_asked},
              {"held", add_held},       {"waiter", add_waiter},
              {"trying", add_trying},   {"closing", add_trying},
              {"spinner", add_spinner}, {"queueing", add_queueing},
              {"writer", add_writer},   {"forced", add_forced},
              {"stored", add_stored},   {"listened", add_listened}};

void layout3_key(words *w, const char *family, unsigned name, const char *role)
{
    char timeout[96];

    name /= 2; /* so more is done to each */
    if (strcmp(role, "T") != 0) {
        words_key(w, family, name, role);
        return;
    }
    claim_draw(w);
    snprintf(timeout, sizeof(timeout), "%s:rwlock_timeout:1", w->claim);
    words_key(w, family, name, timeout);
}

void layout3_argument(words *w, const char *called, unsigned name)
{
    for (unsigned i = 0; i < sizeof(makers) / sizeof(makers[0]); i++) {
        if (strcmp(called, makers[i].called) == 0) {
            makers[i].add(w);
            return;
        }
    }
    for (unsigned i = 0; i < sizeof(choices) / sizeof(choices[0]); i++) {
        if (strcmp(called, choices[i].called) == 0) {
            add_one_of(w, choices[i].list);
            return;
        }
    }
    if (strcmp(called, "base") == 0)
        words_key(w, "rwlock3", name / 2, "");
    else if (strcmp(called, "channel") == 0 || strcmp(called, "news") == 0)
        words_argument(w, "channel", name);
    else
        sim_fail("an argument that nothing is known of");
}
