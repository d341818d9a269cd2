/* SPDX-License-Identifier: MIT */
#ifndef LK_INSPECT_EVENT_H
#define LK_INSPECT_EVENT_H

/*
 * The events of a name are a stream, `latchkey:{N}:e`, so that the rights to a
 * name's keys are the rights to its events. An entry has a field for each of
 * these: the name, what was done, to which owner, words, and the record of the
 * client that did it.
 */
#define LK__EVENT_FORM ":e"

#define LK__EVENT_NAME  "name"
#define LK__EVENT_WHAT  "what"
#define LK__EVENT_OWNER "owner"
#define LK__EVENT_TEXT  "text"
#define LK__EVENT_BY    "by"

enum {
    LK__EVENT_WHAT_MAX = 32,
    LK__EVENT_TEXT_MAX = 300,
    LK__EVENT_KEEP_S = 7 * 24 * 3600
};

#endif /* LK_INSPECT_EVENT_H */
