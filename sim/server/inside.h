/* SPDX-License-Identifier: MIT */
#ifndef LK_SIM_SERVER_INSIDE_H
#define LK_SIM_SERVER_INSIDE_H

#include "server/map.h"
#include "server/server.h"
#include "server/value.h"

/*
 * The inside of the simulated server. A command is a row of the table
 * (table.c) with a function that reads its call and writes the reply; where
 * the function is, the name of the file says.
 */

typedef struct sim_call sim_call;
typedef struct sim_command sim_command;
typedef struct sim_script sim_script;
typedef struct sim_user sim_user;

/* What a command is like, as COMMAND INFO tells it. */
typedef enum sim_flag {
    SIM_WRITE = 1 << 0,
    SIM_READS = 1 << 1,
    SIM_DENY_OOM = 1 << 2,
    SIM_NO_SCRIPT = 1 << 3,
    SIM_LOADING = 1 << 4,
    SIM_STALE = 1 << 5,
    SIM_NO_AUTH = 1 << 6,
    SIM_BUSY = 1 << 7,
    SIM_CHANNELS = 1 << 8,       /* its arguments are channels */
    SIM_CHANNEL = 1 << 9,        /* its first argument is */
    SIM_SUBSCRIBED = 1 << 10,    /* for those who have subscribed as well */
    SIM_NUMBERED_KEYS = 1 << 11, /* as EVAL: argv[2] says how many follow */
    SIM_FAST = 1 << 12,
    SIM_ADMIN = 1 << 13,
    SIM_DANGEROUS = 1 << 14,
    SIM_BLOCKING = 1 << 15
} sim_flag;

typedef enum sim_group {
    SIM_GROUP_NONE,
    SIM_GROUP_KEYSPACE,
    SIM_GROUP_STRING,
    SIM_GROUP_LIST,
    SIM_GROUP_SET,
    SIM_GROUP_ZSET,
    SIM_GROUP_HASH,
    SIM_GROUP_PUBSUB,
    SIM_GROUP_SCRIPTING,
    SIM_GROUP_CONNECTION
} sim_group;

struct sim_command {
    const char *name; /* "get", "client|id" */
    int arity;        /* negative: at least so many */
    unsigned flags;
    sim_group group;
    int first, last, step; /* which arguments are keys; 0: none */
    void (*run)(sim_call *call);
};

/* NULL: there is none. */
const sim_command *sim_command_find(sim_str name);
/* The same, or the one of its subcommands that argv names. */
const sim_command *sim_command_of(int argc, const sim_str *argv);
/* It has subcommands. */
bool sim_command_is_family(sim_str name);
/* Of the table, for rights. */
unsigned sim_command_count(void);
const sim_command *sim_command_at(unsigned index);
unsigned sim_command_index(const sim_command *command);

/* ---- a command under way ------------------------------------------------ */

struct sim_call {
    sim_server *server;
    sim_session *session; /* on whose behalf */
    const sim_command *command;
    int argc;
    const sim_str *argv;
    unsigned db;
    bool in_script;
    sim_buffer *reply;
};

void sim_reply_status(sim_call *call, const char *text);
void sim_reply_integer(sim_call *call, int64_t number);
void sim_reply_bulk(sim_call *call, sim_str str);
void sim_reply_text(sim_call *call, const char *text);
void sim_reply_number(sim_call *call, int64_t number); /* as a string */
void sim_reply_double(sim_call *call, double number);
void sim_reply_nil(sim_call *call);
void sim_reply_nil_array(sim_call *call);
/* So many replies follow. */
void sim_reply_array(sim_call *call, size_t count);
/* "ERR " is put before, unless the text begins with '-'. */
void sim_reply_error(sim_call *call, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void sim_reply_syntax_error(sim_call *call);
void sim_reply_wrong_type(sim_call *call);
void sim_reply_arity_error(sim_call *call);

extern const char SIM_OOM[], SIM_READONLY[], SIM_MISCONF[], SIM_NOREPLICAS[];

/* A number of the arguments; false: it is none, and the reply says so. */
bool sim_arg_integer(sim_call *call, int index, int64_t *ret_number);
bool sim_arg_double(sim_call *call, int index, double *ret_number);

/* ---- keys --------------------------------------------------------------- */

int64_t sim_server_now_ms(const sim_server *server);
bool sim_value_is_over(const sim_value *value, int64_t now_ms);

/* NULL: it is not there, or expired. */
sim_value *sim_key_find(const sim_call *call, sim_str key);
/* Sets *ret_value, NULL if there is none; false: it is of another type. */
bool sim_key_get(sim_call *call, sim_type type, sim_value **ret_value);
/* The same, made if there is none. NULL: of another type. */
sim_value *sim_key_make(sim_call *call, sim_type type);
/* Replaces what is there by an empty value. */
sim_value *sim_key_replace(sim_call *call, sim_str key, sim_type type);
bool sim_key_remove(const sim_call *call, sim_str key);
/* After an element was removed: empty ones go. */
void sim_key_trim(const sim_call *call, sim_str key);

/* ---- sessions ----------------------------------------------------------- */

/* Why a session is blocked. */
typedef enum sim_block {
    SIM_FREE,
    SIM_BLOCKED_POP,
    SIM_BLOCKED_WAIT
} sim_block;

/* A command that waits until its session is free; its bytes are behind argv. */
typedef struct sim_waiting {
    struct sim_waiting *next;
    int argc;
    sim_str argv[];
} sim_waiting;

struct sim_session {
    sim_server *server;
    sim_session *prev, *next; /* of the server, by id */
    const sim_ears *ears;
    void *data;
    uint64_t id;
    sim_user *user;
    sim_text *name; /* NULL: none */
    sim_map channels;
    unsigned db;
    bool has_ended, is_authenticated, closes; /* closes: after this reply */
    sim_block block;
    uint64_t block_order;   /* the first to come is served first */
    bool is_due;            /* it has become free: what waits may be run */
    int64_t block_until_ms; /* 0: for ever */
    sim_waiting *popping;   /* its BLPOP */
    sim_waiting *queue, **queue_end; /* what was asked meanwhile */
};

/* Puts a session on hold until then; 0: for ever. */
void sim_session_block(sim_call *call, sim_block block, int64_t until_ms);
/* Why a block ends. */
typedef enum sim_end_of_block {
    SIM_BY_TIME,
    SIM_BY_ERROR, /* CLIENT UNBLOCK with ERROR */
    SIM_BY_ROLE   /* the server is a replica now: the session ends as well */
} sim_end_of_block;

/* Answers what was blocked; what was asked meanwhile is run later. */
void sim_session_unblock(sim_session *session, sim_end_of_block why);
/* A list has got something, for which sessions may wait. */
void sim_list_is_ready(const sim_call *call, sim_str key);
/* BLPOP for a session that waits: false if there is nothing for it. */
bool sim_list_serve(sim_session *session, unsigned db, sim_str key);
/* The server's end of it. */
void sim_session_end(sim_session *session);
void sim_session_say(sim_session *session, sim_buffer *buffer);
void sim_session_ask(sim_session *session, int argc, const sim_str *argv);
/* NULL: there is none, or it has ended. */
sim_session *sim_session_by_id(const sim_server *server, uint64_t id);
void sim_session_unsubscribe_all(sim_session *session);

/* Runs the function of a command after what has to be checked before. */
void sim_call_gate(sim_call *call);
/* Too few replicas follow to write. */
bool sim_server_lacks_followers(const sim_server *server);
/* The same within a script; returns why it may not be, or NULL. */
const char *sim_call_from_script(sim_call *call);

/* ---- users -------------------------------------------------------------- */

typedef enum sim_denial {
    SIM_ALLOWED,
    SIM_DENIED_COMMAND,
    SIM_DENIED_KEY,
    SIM_DENIED_CHANNEL
} sim_denial;

sim_user *sim_user_add(sim_server *server, sim_str name);
void sim_users_free(sim_server *server);
sim_denial sim_user_check(const sim_call *call);
bool sim_user_needs_no_password(const sim_user *user);

/* ---- scripts ------------------------------------------------------------ */

struct sim_script {
    char sha1[41];
    int ref; /* of the function, in the interpreter's registry */
};

/* Compiled now or earlier. NULL: it cannot be, and the reply says why. */
sim_script *sim_engine_compile(sim_call *call, sim_str body);
/* Runs it with the call's arguments, from the fourth on. */
void sim_engine_run(sim_call *call, const sim_script *script, int key_count);

/* ---- the server --------------------------------------------------------- */

struct sim_server {
    sim_engine *engine;
    uint64_t (*now)(void *data);
    void *data;
    uint64_t random, shuffle;         /* two sources of chance */
    uint64_t now_us;                  /* of the command under way */
    sim_map databases[SIM_DATABASES]; /* of sim_value */
    sim_map scripts;                  /* sha1 to sim_script */
    sim_map channels;                 /* to a sim_map of sessions, by id */
    sim_map users, settings;
    sim_user *default_user;
    sim_session *first, *last, *admin;
    uint64_t last_id, last_block, commands;
    unsigned blocked_count, due_count; /* sessions */
    sim_map ready[SIM_DATABASES];      /* lists that have got something */
    bool is_full;                      /* maxmemory is set and exceeded */
    bool is_replica, script_wrote;
    unsigned followers;
    bool is_nameless;
    int64_t needs_followers;         /* to write; a replica needs none */
    int64_t many_fields, long_field; /* more make a hash a table */
    sim_refusal refusal;
    char run_id[41];
    uint64_t started_us;
    sim_buffer reply, own; /* own: for other sessions than the caller's */
    sim_buffer admin_reply;
};

/* Does what the settings say. */
void sim_server_heed_settings(sim_server *server);

#endif /* LK_SIM_SERVER_INSIDE_H */
