/* SPDX-License-Identifier: MIT */

/* The tables of the scripts: wrong ones are refused, and C reads and writes
   what they say. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lock_table.h"
#include "support/check.h"
#include "support/paths.h"

/* ---- wrong tables ---- */

/* A table that is right, one line of it left to be replaced. */
static const char *const good_table = "packed p\n"
                                      "  field a text\n"
                                      "  field b rest\n"
                                      "end\n"
                                      "group g claim:text left:signed\n"
                                      "group h claim:text\n"
                                      "script s\n"
                                      "  key lock N\n"
                                      "  key queue :q\n"
                                      "  form alone lock\n"
                                      "  form whole queue\n"
                                      "  arg claim text\n"
                                      "  arg how word q t\n"
                                      "  option own text\n"
                                      "  answer held fence:number\n"
                                      "  answer seen all:list few:list\n"
                                      "  list seen all g\n"
                                      "  list seen few h\n"
                                      "end\n";

static const char *const good_script =
    "-- needs: f\n"
    "if how == 'q' then return {HELD, f.one(lock_key, claim)} end\n"
    "-- rest\n"
    "local all = {group.g({claim = own, left = 5})}\n"
    "return {SEEN, all, {queue_key, p.read('a b').a}}\n";

static const char *const good_fragment = "local f = {}\n"
                                         "function f.one(key, claim)\n"
                                         "    return redis.call('HGET', key, "
                                         "claim)\n"
                                         "end\n";

static void put(const char *folder, const char *name, const char *text)
{
    char path[400];
    FILE *file;

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

/* text with the first `from` replaced; from NULL: as it is. */
static const char *changed(const char *text, const char *from, const char *to)
{
    static char made[3][4000];
    static unsigned next;
    char *out = made[next++ % 3];
    const char *at = from != NULL ? strstr(text, from) : NULL;

    if (at == NULL) {
        assert_null(from);
        snprintf(out, sizeof(made[0]), "%s", text);
    } else {
        snprintf(out, sizeof(made[0]), "%.*s%s%s", (int)(at - text), text, to,
                 at + strlen(from));
    }
    return out;
}

/* Makes C and Lua of these; returns what was said of what is wrong, and each word
   "spare" of the script. */
static const char *
make(const char *table, const char *script, const char *fragment)
{
    static char words[1000];
    char folder[] = "/tmp/lk-table-XXXXXX", command[3000];
    size_t size;
    FILE *pipe;

    assert_non_null(mkdtemp(folder));
    snprintf(command, sizeof(command), "%s/x", folder);
    assert_int_equal(mkdir(command, 0700), 0);
    snprintf(command, sizeof(command), "%s/shared", folder);
    assert_int_equal(mkdir(command, 0700), 0);
    put(folder, "x/x.table", table);
    put(folder, "x/s.lua", script);
    put(folder, "shared/f.lua", fragment);
    snprintf(
        command, sizeof(command),
        "cd %s && awk -v family=x -v lua=. -v out=. -f '%s/read.awk' -f "
        "'%s/c.awk' -f '%s/lua.awk' x/x.table 2>&1; grep -ois spare x_s.lua; "
        "rm -r %s",
        folder, LK_SOURCE_DIR "/tools/table", LK_SOURCE_DIR "/tools/table",
        LK_SOURCE_DIR "/tools/table", folder);
    pipe = popen(command, "re"); /* NOLINT(cert-env33-c): of the test's own */
    assert_non_null(pipe);
    size = fread(words, 1, sizeof(words) - 1, pipe);
    words[size] = '\0';
    pclose(pipe);
    return words;
}

typedef struct wrong {
    const char *from, *to, *words;
} wrong;

/* Each change is refused with these words. which: 0 the table, 1 the script, 2
   the fragment. */
static void all_are_refused(int which, const wrong *wrongs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const wrong *w = &wrongs[i];
        const char *said =
            make(changed(good_table, which == 0 ? w->from : NULL, w->to),
                 changed(good_script, which == 1 ? w->from : NULL, w->to),
                 changed(good_fragment, which == 2 ? w->from : NULL, w->to));

        if (strstr(said, w->words) == NULL)
            print_error("'%s' for '%s': \"%s\" does not say '%s'\n", w->to,
                        w->from, said, w->words);
        assert_non_null(strstr(said, w->words));
    }
}

#define ALL_ARE_REFUSED(which, wrongs)                                         \
    all_are_refused((which), (wrongs), sizeof(wrongs) / sizeof(*(wrongs)))

CHECK_TEST(a_right_table_is_taken)
{
    assert_string_equal(make(good_table, good_script, good_fragment), "");
}

/* What nothing leads to goes, and what only that used. */
CHECK_TEST(a_script_has_no_function_that_it_does_not_use)
{
    static const char unused[] = "local SPARE = 5\n"
                                 "function f.spare()\n"
                                 "    return f.one() + SPARE\n"
                                 "end\n";
    char fragment[1000];

    snprintf(fragment, sizeof(fragment), "%s%s", good_fragment, unused);
    assert_string_equal(make(good_table, good_script, fragment), "");
    assert_string_equal(make(good_table,
                             changed(good_script, "queue_key,",
                                     "f.spare(),"
                                     " queue_key,"),
                             fragment),
                        "SPARE\nspare\nSPARE\nspare\n");
}

CHECK_TEST(a_table_that_is_wrong_in_itself_is_refused)
{
    static const wrong wrongs[] = {
        {"  field a text", "  feild a text", "x.table:2: 'feild' is no word"},
        {"  field a text", "  field a txt", "'txt' is none of the types"},
        {"  field a text", "  field a", "'field' takes 2 values, not 1"},
        {"  field a text", "  field b text", "the field 'b' is there twice"},
        {"  field a text", "  include q", "no packed text 'q' yet"},
        {"  field a text", "  field a rest", "nothing comes behind a rest"},
        {"end\ngroup", "group", "'group' is no word of 'packed p'"},
        {"script s", "scrip s", "'scrip s' begins nothing"},
        {"key queue :q", "key queue :Q", "':Q' is no form of a key"},
        {"key queue :q", "keys queue :q", "no 'key' stands beside 'keys'"},
        {"alone lock", "alone log", "ends with the unknown key 'log'"},
        {"alone lock", "alone queue", "two forms have 2 keys"},
        {"form whole queue\n", "\n", "no form has the last key"},
        {"word q t", "word q", "a word has two letters at least"},
        {"word q t", "word q try", "'try' is no letter"},
        {"arg claim text", "arg claim text q", "nothing else has any"},
        {"arg how", "option how", ""},
        {"option own text", "each own text\n  arg late text",
         "'arg' may not come behind 'each'"},
        {"fence:number", "fence", "'fence' is no <name>:<type>"},
        {"fence:number", "fence:real", "'real' is none of the types"},
        {"answer seen", "answer held", "the answer 'held' is there twice"},
        {"  list seen all g\n", "", "nothing says what is in the list 'all'"},
        {"list seen all", "list seen some", "'seen' has no list 'some'"},
        {"  answer held", "  answers some\n  answer held",
         "there are no answers 'some' yet"},
        {"script s\n",
         "answers some\n  answer done\nend\nscript s\n  answers some\n",
         "a script has its own answers or those of others"},
        {"script s\n", "answers some\n  answer done all:list\nend\nscript s\n",
         "nothing says what is in the list 'all'"},
        {"list seen all g", "list seen all i", "there is no group 'i' yet"},
        {"list seen all g", "list seen all", "'list' takes 3 values, not 2"},
        {"group g claim:text left:signed", "group g",
         "the group 'g' has no values"},
        {"left:signed", "left:list", "'list' is none of the"},
        {"few h\nend\n", "few h\n", "'script s' has no end"},
    };

    ALL_ARE_REFUSED(0, wrongs);
}

CHECK_TEST(a_table_and_a_script_that_do_not_fit_are_refused)
{
    static const wrong wrongs[] = {
        {"arg claim text", "arg claim text\n  arg lease number",
         "the argument 'lease' is not used"},
        {"arg claim text", "arg claim text\n  arg f text",
         "has the name of a fragment"},
        {"key queue :q", "key queue :q\n  key spin :s\n  form more spin",
         "the key 'spin' is not used"},
        {"answer held", "answer busy left:signed\n  answer held",
         "the answer 'busy' is not given"},
        {"fence:number", "fence:number left:signed",
         "the answer 'held' has 2 values, not 1"},
        {"answer held fence:number", "answer had fence:number", "'had'"},
        {"script s", "script t", "there is no such script"},
    };

    ALL_ARE_REFUSED(0, wrongs);
}

CHECK_TEST(a_script_that_does_not_fit_is_refused)
{
    static const wrong wrongs[] = {
        {"lock_key, claim", "form.nobody, lock_key, claim",
         "there is no form 'nobody'"},
        {"lock_key, claim", "'latchkey:in:', lock_key, claim",
         "'latchkey:in:' is said beside the tables"},
        {"lock_key, claim", "'2x', lock_key, claim",
         "'2x' is said beside the tables"},
        {"lock_key, claim", "KEYS[1], lock_key, claim",
         "a position is said a second time"},
        {"lock_key, claim", "lock_key, ARGV[1], claim",
         "a position is said a second time"},
        {"lock_key, claim", "lock_key, claim, record_key",
         "the key 'record' is not in the table"},
        {"{HELD, f.one(lock_key, claim)}", "{1, f.one(lock_key, claim)}",
         "the answer 'held' is not given"},
        {"return {SEEN", "if own then return {2, 0} end return {SEEN",
         "an answer begins with a number"},
        {"{HELD, f.one(lock_key, claim)}", "{HELD, f.one(lock_key, claim), 0}",
         "the answer 'held' has 1 values, not 2"},
        {"{SEEN,", "{SEEN, {}, {BUSY, 1},", "the answer 'busy' is not in"},
        {"p.read('a b').a", "p.write({a = 1})", "'p' is written without 'b'"},
        {"p.read('a b').a", "p.write({a = 1, b = 2, c = 3})",
         "'p' has no field 'c'"},
        {"p.read('a b').a", "p.only(own, b, a)",
         "'a' is no field of 'p', or out of order"},
        {"p.read('a b').a", "p.only(own, c)",
         "'c' is no field of 'p', or out of order"},
        {"group.g({claim = own, left = 5})", "own, 5",
         "the list 'all' is made without group.g"},
        {"left = 5", "left = 5, more = 1", "'g' has no field 'more'"},
        {", left = 5", "", "'g' is written without 'left'"},
        {"needs: f", "needs: f g", "there is no fragment 'g'"},
    };

    ALL_ARE_REFUSED(1, wrongs);
}

CHECK_TEST(a_lists_values_stand_as_its_table_says)
{
    const char *script = changed(good_script, "{claim = own, left = 5}",
                                 "{claim = own .. 'SPARE', left = #'spare'}");

    assert_string_equal(make(good_table, script, good_fragment),
                        "SPARE\nspare\n");
    assert_string_equal(make(changed(good_table, "claim:text left:signed",
                                     "left:signed claim:text"),
                             script, good_fragment),
                        "spare\nSPARE\n");
}

CHECK_TEST(a_fragment_that_does_more_than_define_is_refused)
{
    static const wrong wrongs[] = {
        {"local f = {}\n", "local f = {}\nif f then return 1 end\n",
         "does more than define"},
        {"local f = {}\n", "local f = redis.call('TIME')\n",
         "does more than define"},
        {"local f = {}\n", "local f = {}\nreturn f\n", "does more than define"},
        {"local f = {}\n", "local f = {}\nlocal r = redis\n",
         "asks the server"},
        {"local f = {}\n", "-- needs: f\nlocal f = {}\n", "'f' needs itself"},
        {"local f = {}\n", "local f = {}\n-- rest\n",
         "only a script has a rest"},
        {"local f = {}\n", "--[[ long ]]\nlocal f = {}\n", "no long comments"},
    };

    ALL_ARE_REFUSED(2, wrongs);
}

/* ---- C's side ---- */

CHECK_TEST(arguments_come_in_the_tables_order)
{
    const lk__lock_close_args all = {.why = 'l',
                                     .claim = {"a:1", 3},
                                     .fence = 7,
                                     .channel = {"c", 1},
                                     .interop = '0',
                                     .life = 9,
                                     .has_own = true,
                                     .own = {"own", 3},
                                     .has_stone = true,
                                     .stone = 5};
    lk__lock_close_args some = all;
    lk__arg args[9];

    assert_int_equal(lk__args_count(&lk__lock_close_args_shape, &all), 9);
    lk__args_write(&lk__lock_close_args_shape, &all, args);
    assert_memory_equal(args[0].bytes, "l", 1);
    assert_memory_equal(args[1].bytes, "a:1", 3);
    assert_null(args[2].bytes);
    assert_int_equal(args[2].number, 7);
    assert_memory_equal(args[7].bytes, "own", 3);
    assert_int_equal(args[8].number, 5);
    some.has_stone = false;
    assert_int_equal(lk__args_count(&lk__lock_close_args_shape, &some), 8);
    some.has_own = false;
    assert_int_equal(lk__args_count(&lk__lock_close_args_shape, &some), 7);
}

/* A reply of integers; its items live with it. */
static redisReply *integers(redisReply *reply, redisReply *items,
                            redisReply **list, const long long *numbers,
                            size_t count)
{
    for (size_t i = 0; i < count; i++) {
        items[i] =
            (redisReply){.type = REDIS_REPLY_INTEGER, .integer = numbers[i]};
        list[i] = &items[i];
    }
    *reply = (redisReply){.type = REDIS_REPLY_ARRAY,
                          .elements = count,
                          .element = list};
    return reply;
}

static lk_status read_acquire(const long long *numbers, size_t count,
                              lk__lock_acquire_answer *ret)
{
    redisReply reply, items[8], *list[8];

    return lk__answer_read(&lk__lock_acquire_answers,
                           integers(&reply, items, list, numbers, count), ret);
}

CHECK_TEST(an_answer_is_read_by_its_number)
{
    lk__lock_acquire_answer answer;

    assert_int_equal(read_acquire((const long long[]){2, -1, 77, 1}, 4,
                                  &answer),
                     LK_OK);
    assert_int_equal(answer.kind, LK__LOCK_ACQUIRE_QUEUED);
    assert_int_equal(answer.queued.left, -1);
    assert_int_equal(answer.queued.ticket, 77);
    assert_int_equal(answer.queued.next, 1);
}

CHECK_TEST(an_answer_that_is_not_in_the_table_is_none)
{
    lk__lock_acquire_answer answer;

    assert_int_equal(read_acquire((const long long[]){0, 1}, 2, &answer),
                     LK_EPROTO);
    assert_int_equal(read_acquire((const long long[]){4, 1}, 2, &answer),
                     LK_EPROTO);
    assert_int_equal(read_acquire((const long long[]){3}, 1, &answer),
                     LK_EPROTO);
    assert_int_equal(read_acquire((const long long[]){3, 1, 1}, 3, &answer),
                     LK_EPROTO);
    assert_int_equal(read_acquire((const long long[]){2, 1, -1, 1}, 4, &answer),
                     LK_EPROTO);
    assert_int_equal(read_acquire((const long long[]){1, 9007199254740992, 1,
                                                      1},
                                  4, &answer),
                     LK_EPROTO);
}

CHECK_TEST(a_packed_text_is_read_as_it_was_written)
{
    lk__record_text from = {.layout = {"2l", 2},
                            .fence = 1,
                            .spare = 63,
                            .floor = 0,
                            .flag = {"-", 1},
                            .turn = {"-", 1},
                            .more = {"-", 1},
                            .claim = {"a:1", 3},
                            .nonce = {"00", 2},
                            .since = 5,
                            .mode = {"l", 1},
                            .need = 1,
                            .base = {"-", 1},
                            .lease = 6,
                            .inbox = {"p", 1},
                            .reason = {"two words ", 10}};
    lk__record_text read;
    char text[100], again[100];
    size_t size =
        lk__packed_write(&lk__record_text_packed, &from, text, sizeof(text));

    assert_string_equal(text, "2l 1 63 0 - - - 5 a:1 00 l 1 6 - p two words ");
    assert_int_equal(size, strlen(text));
    assert_true(lk__packed_read(&lk__record_text_packed, (lk__text){text, size},
                                &read));
    lk__packed_write(&lk__record_text_packed, &read, again, sizeof(again));
    assert_string_equal(text, again);
    /* Too little room: as much as fits, and the length that it would have. */
    assert_int_equal(lk__packed_write(&lk__record_text_packed, &from, again, 5),
                     size);
    assert_string_equal(again, "2l 1");
}

CHECK_TEST(what_is_no_packed_text_is_not_read)
{
    static const char *const texts[] = {
        "",
        "2l 1 63 0 - - - 5 a:1 00 l 1 6 -",
        "2l x 63 0 - - - 5 a:1 00 l 1 6 - p r",
        "2l -1 63 0 - - - 5 a:1 00 l 1 6 - p r",
        "2l 9007199254740992 63 0 - - - 5 a:1 00 l 1 6 - p r",
        "2l 1 63 0 -  - 5 a:1 00 l 1 6 - p r",
    };
    lk__record_text read;

    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
        assert_false(lk__packed_read(&lk__record_text_packed,
                                     (lk__text){texts[i], strlen(texts[i])},
                                     &read));
}
