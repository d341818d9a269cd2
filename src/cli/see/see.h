/* SPDX-License-Identifier: MIT */
#ifndef LK_CLI_SEE_H
#define LK_CLI_SEE_H

#include <stdio.h>

#include "cli/cli.h"
#include "cli/json.h"

/*
 * What the commands that look have in common: ls, who, why, top, watch, break,
 * forget, metrics, serve, doctor. docs/cli-json.md describes what is written as
 * JSON; members are only ever added.
 */

enum { SEE_WAIT_MS = 15000 }; /* for one look at a whole server */

/*
 * Opens a client and waits until the server answers. 0, or the exit code
 * having complained.
 */
int see_open(cli *c, lk_client **ret_client);

/* Runs a command with such a client. Returns its exit code. */
typedef int see_look(const cli *c, lk_client *client, const cli_args *args,
                     const void *values);
int see_run(cli *c, const cli_args *args, const void *values, see_look *look);

/*
 * What is written for people, in lines that a terminal would break in the middle
 * of a word: between begin and end it is written to what begin returns, and then
 * wrapped if to is a terminal. c: with the colours that to has.
 */
typedef struct see_page {
    cli c;
    FILE *to, *kept; /* kept: NULL where nothing is wrapped */
    int columns;
    char *text;
    size_t size;
} see_page;

FILE *see_page_begin(see_page *page, const cli *c, FILE *to);
void see_page_end(see_page *page);

/* Whether a holder is another library's: Redisson's. */
bool see_is_foreign(lk_kind kind, const lk_party *party);

/* Whether a waiter is another library's: one of Redisson's fair lock. */
bool see_is_foreign_waiter(const lk_party *party);

/* Whether the server knows a process behind a holder of Latchkey's: not behind what
   `acquire` took, nor what a process left behind. A holder of another library's may
   always have one. */
bool see_is_kept(const lk_party *party);

/* What is to be seen of the process of a holder or waiter on this host. A process
   of another host is SEE_UNSEEN. */
typedef enum see_life { SEE_UNSEEN, SEE_GONE, SEE_STOPPED, SEE_ALIVE } see_life;
see_life see_life_of(const lk_party *party);

/*
 * Why a name cannot be read, for what lk_who() returned of it: its keys are not as
 * Latchkey writes them, or the user may not read them. NULL: it can, or the status
 * is not about one name, as where the server is away.
 */
const char *see_unread_words(lk_status status);

/* A waiter as an object, whose position counts from 1, or a holder, which has none:
   0. party NULL: null. */
void see_json_party(cli_json *json, const char *key, lk_kind kind,
                    const lk_party *party, size_t position);

/* The name with its kind, holders and waiters: members of an open object. */
void see_json_info(cli_json *json, const char *name, lk_kind kind,
                   const lk_info *info);

/* What runs there: the client's name, which for the tool is the command that it
   runs, else the program; "" if neither is known. */
const char *see_program(const lk_party *party);

/* "web-3 pid 4121 (make), user ci", or as see_party_words() where no process is
   known, or the id where no more is. */
void see_put_party(FILE *to, const lk_party *party);

/* The same, and behind it a text of the members that see_json_party() writes, as
   cli_put_view() has it; besides these of "permits", as "2 permits", and "foreign", as
   "Redisson". */
void see_put_told(FILE *to, lk_kind kind, const lk_party *party,
                  size_t position, const char *text);

/* The holder of a lock in one line: "web-3:4121 (make, user ci: deploy 4.2)"; where
   no process is known the begin of its id and the reason, "e446ca3e (deploy 4.2)".
   Each part that is long is shortened, so that none pushes another away. */
enum { SEE_PARTY_SIZE = 1088, SEE_ID_BEGIN = 8 };
void see_party_words(char text[SEE_PARTY_SIZE], const lk_party *party);

/* The first of those who hold, in such a line, and how many more. revoked: follows it
   if an operator has told it to stop. */
enum { SEE_HELD_SIZE = SEE_PARTY_SIZE + 64 };
void see_held_words(char text[SEE_HELD_SIZE], const lk_info *info,
                    const char *revoked);

/* Why a hold was broken, in bytes: the server keeps 300 with whose hold it was. */
enum { SEE_WHY_MAX = 120 };

/* A name as it stands in a line with much else: cleaned, and shortened. */
enum { SEE_PART_SIZE = 256 };
const char *see_name_words(char text[SEE_PART_SIZE], const char *name);

/* Where the master is, for people and as the member `master` of an open object: one
   line "master m at host:port, named by 3 of 3 sentinels" after indent, or null;
   without sentinels in the URL no line. */
void see_put_master(const cli *c, FILE *to, const char *indent,
                    lk_client *client);
void see_json_master(cli_json *json, lk_client *client);

/* The words of that line. False: the URL names no sentinels. */
enum { SEE_MASTER_SIZE = 2048 };
bool see_master_words(char text[SEE_MASTER_SIZE], lk_client *client);

/* The same name for people, some lines, that keep within a terminal's columns.
   more: for the end of the first. */
void see_put_info(const cli *c, FILE *to, const char *name, lk_kind kind,
                  const lk_info *info, const char *more);

#endif /* LK_CLI_SEE_H */
