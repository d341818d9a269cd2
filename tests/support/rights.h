/* SPDX-License-Identifier: MIT */
#ifndef LK_TESTS_SUPPORT_RIGHTS_H
#define LK_TESTS_SUPPORT_RIGHTS_H

#include <latchkey/latchkey.h>

#include <stdbool.h>

#include "support/server.h"

/*
 * What two programs do with each primitive on names that begin with "app:", as
 * users who may lack a right: each step is made, and the first that was refused
 * is kept.
 */

typedef struct rights_play {
    lk_client *a, *b; /* the users' */
    lk_client *all;   /* may do all */
    server *redis;
    const char *name; /* "app:1"; what is played with may say another one */
    lk_acquire_options how;
    int64_t wait_ms;  /* of the one that waits for the other */
    int64_t first_ms; /* of the first one of what is held; 0 */
    /* The first step that did not succeed; NULL: all did. */
    const char *step;
    lk_status status;
    char words[256];
} rights_play;

typedef struct rights_scene {
    const char *primitive; /* as `latchkey doctor --for` calls it */
    void (*play)(rights_play *p);
    /* Afterwards, with the client that may do all: the name can be had again,
       and nobody else holds it. A failure fails the test. */
    void (*settle)(rights_play *p);
    bool stays;   /* it keeps numbers or values, which need not end */
    bool is_lock; /* Redisson's locks are of the same name */
} rights_scene;

/* A name with a brace: its keys are of another form. */
#define RIGHTS_BRACED "app:{b}1"

extern const rights_scene rights_scenes[];
extern const unsigned rights_scene_count;

/* ---- the users ------------------------------------------------------------------- */

/* The users' clients again, which assume that Redisson waits as well. is_lock: name is
   that of a lock, and Redisson holds it for a moment. */
void rights_open_among(rights_play *p, const char *name, bool is_lock);

/* What `latchkey doctor --acl` prints for a primitive, NULL: for all, without
   the newline. Free with free(). */
char *rights_printed(const char *primitive, const char *prefix);

/* The same of clients of a tenant. */
char *rights_printed_for(const char *primitive, const char *prefix,
                         const char *tenant);

/* The rules without one word of them. Free with free(). */
char *rights_without(const char *rules, const char *word);

/* Gives the user these rules alone and opens the clients, a and b as that user.
   What the user is denied is a step as any other. */
void rights_open(rights_play *p, server *redis, const char *rules);

/* Ends a and b, and whatever they still have or want. */
void rights_leave(rights_play *p);

/* Ends the other one, too, and forgets all data. */
void rights_close(rights_play *p, server *redis);

/* True: something was denied to the user since rights_open() that needs this word
   of the rules, "+get", "~app:*" or "&news:*"; of keys and of channels the server
   does not say which. NULL: anything but what helps alone. */
bool rights_denied(server *redis, const char *word);

#endif /* LK_TESTS_SUPPORT_RIGHTS_H */
