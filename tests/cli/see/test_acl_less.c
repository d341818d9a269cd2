/* SPDX-License-Identifier: MIT */

/*
 * The rights that `latchkey doctor --acl` prints, commands, keys and channels, each
 * taken away in turn: a step that needs it is refused with words that name it, or
 * goes on without it. No hold is stuck, none remains half released, and no key
 * stays. A slice of them; with LK_LONG all, with LK_SCENE=lock those of one primitive.
 */

#include <latchkey/latchkey.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/rights.h"
#include "support/tooling.h"
#include "support/wait.h"

enum { SLICE = 23 };

static unsigned turn;

/* What comes of a program without a right: it is refused what it asked for; it
   gets it all the same; its time ends; it never came to need it. */
enum { REFUSED, SLOWER, IN_TIME, UNMET, OUTCOMES };
static unsigned counts[OUTCOMES];

/* No key that keeps a hold is without an end. A siglock's signal is none: it lies
   until somebody takes it, or the lock; nor is Redisson's count of grants. */
static void assert_all_ends(const rights_scene *scene, const char *word)
{
    static const char look[] =
        "EVAL local\tfound=''\tfor\t_,key\tin\tipairs(redis.call('KEYS','*'))"
        "do\tif\tredis.call('PTTL',key)==-1\tand\tnot\tkey:find('lock-signal:',"
        "1,"
        "true)\tand\tnot\tkey:find('redisson_lock_token:',1,true)\t"
        "then\tfound=found..key..','\tend\tend\treturn\tfound 0";
    char *found = server_string(redis, look);

    if (!scene->stays && found[0] != '\0')
        fail_msg("%s without %s: for ever: %s", scene->primitive, word, found);
    free(found);
}

/* The words name the command, or say that it is about a key or a channel. They, or
   ACL LOG, tell of what a script lacks: Redis does not say which command. */
static bool is_named(const char *words, const char *word)
{
    char first[32];

    if (word[0] != '+')
        return strstr(words, word[0] == '~' ? "key" : "channel") != NULL;
    (void)snprintf(first, sizeof(first), "%s", word + 1);
    first[strcspn(first, "|")] = '\0';
    return strcasestr(words, first) != NULL ||
           (strstr(words, "can't run this command") != NULL &&
            rights_denied(redis, word));
}

static bool is_refused(const rights_play *p, const char *word)
{
    return p->status == LK_EDENIED && is_named(p->words, word);
}

/* What goes on by itself, as a wait whose grant others may not make, or the release
   at several servers, ends with its time; so does a hold meanwhile. */
static bool is_over_in_time(const rights_play *p, const char *word)
{
    return (p->status == LK_ETIMEDOUT || p->status == LK_ELOST ||
            p->status == LK_EINDOUBT) &&
           rights_denied(redis, word);
}

static bool is_unmet(const rights_play *p, const char *word)
{
    return p->step == NULL && !rights_denied(redis, word);
}

static void
judge(const rights_scene *scene, const rights_play *p, const char *word)
{
    if (is_unmet(p, word)) {
        print_message("%s: %s is not met\n", scene->primitive, word);
        counts[UNMET]++;
    } else if (p->step == NULL)
        counts[SLOWER]++;
    else if (is_refused(p, word))
        counts[REFUSED]++;
    else if (is_over_in_time(p, word))
        counts[IN_TIME]++;
    else
        fail_msg("%s without %s: %s: %s, %s", scene->primitive, word, p->step,
                 lk_status_name(p->status), p->words);
}

/* One more name, unless the right was missed by now. False: it was. */
static bool plays_on(const rights_scene *scene, rights_play *p,
                     const char *word, const char *name)
{
    if (!is_unmet(p, word))
        return false;
    p->name = name;
    scene->play(p);
    return true;
}

static void
take_away(const rights_scene *scene, const char *rules, const char *word)
{
    static const char *const names[] = {"app:1", RIGHTS_BRACED, "app:3"};
    char *less = rights_without(rules, word);
    size_t played = 1;
    rights_play p;

    rights_open(&p, redis, less);
    free(less);
    scene->play(&p);
    played += plays_on(scene, &p, word, names[1]);
    if (is_unmet(&p, word)) {
        rights_open_among(&p, names[2], scene->is_lock);
        played += plays_on(scene, &p, word, names[2]);
    }
    rights_leave(&p);
    judge(scene, &p, word);
    assert_all_ends(scene, word);
    for (size_t i = 0; i < played; i++) {
        p.name = names[i];
        scene->settle(&p);
    }
    rights_close(&p, redis);
}

CHECK_TEST(each_right_is_missed_by_name_and_leaves_nothing)
{
    const unsigned step =
        getenv("LK_LONG") != NULL ? 1 : SLICE * (unsigned)wait_scale();
    const char *only = getenv("LK_SCENE");

    for (unsigned i = 0; i < rights_scene_count; i++) {
        if (only != NULL && strcmp(only, rights_scenes[i].primitive) != 0)
            continue;
        char *rules = rights_printed(rights_scenes[i].primitive, "app:");
        char *copy = strdup(rules), *rest;

        assert_non_null(copy);
        for (char *word = strtok_r(copy, " ", &rest); word != NULL;
             word = strtok_r(NULL, " ", &rest)) {
            if (strchr("+~&", word[0]) != NULL && turn++ % step == 0)
                take_away(&rights_scenes[i], rules, word);
        }
        free(copy);
        free(rules);
    }
    print_message("%u refused, %u slower, %u ended in time, %u not met\n",
                  counts[REFUSED], counts[SLOWER], counts[IN_TIME],
                  counts[UNMET]);
    assert_true(counts[REFUSED] > 0);
    if (step <= SLICE) /* of two or three that are played nothing is said */
        assert_true(counts[REFUSED] > counts[IN_TIME]);
}

CHECK_GROUP(tooling_start, tooling_stop)
