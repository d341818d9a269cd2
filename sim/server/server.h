/* SPDX-License-Identifier: MIT */
#ifndef LK_SIM_SERVER_H
#define LK_SIM_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A Redis server without a process, a socket or a clock: commands go in,
 * replies and messages come out by callback, before the call returns. It
 * answers as redis-server 7.0.15 does with RESP2, as far as Latchkey's
 * scripts, its client and the tests of them reach; a command that it does not
 * know is an error of the server ("unknown command"). Scripts are run by Lua
 * 5.1, the real ones.
 *
 * Nothing is random but by the seed: the same calls give the same bytes.
 *
 * An engine is what servers share: the interpreter and what it has compiled.
 * An engine and its servers belong to one thread at a time.
 *
 * What cannot be (no memory, a broken promise of the caller) ends the program
 * with a word on stderr.
 */

typedef struct sim_engine sim_engine;
typedef struct sim_server sim_server;
typedef struct sim_session sim_session;
typedef struct sim_snapshot sim_snapshot;

enum { SIM_DATABASES = 16 };

sim_engine *sim_engine_new(void);
/* After its servers. NULL is allowed. */
void sim_engine_free(sim_engine *engine);

/*
 * now(data) is the server's wall clock in microseconds since 1970. It may step
 * to any side. Commands, and each script with all it calls, see one instant.
 * engine and data are borrowed.
 */
sim_server *sim_server_new(sim_engine *engine, uint64_t seed,
                           uint64_t (*now)(void *data), void *data);
/* After its sessions. NULL is allowed. */
void sim_server_free(sim_server *server);

/* ---- sessions ----------------------------------------------------------- */

/* What a session hears. Neither function may call back into the server. */
typedef struct sim_ears {
    /* Bytes for the client: a reply, or a message for a subscriber. */
    void (*send)(void *data, const char *bytes, size_t size);
    /*
     * The server has closed the session (CLIENT KILL, QUIT, a restart); what
     * was sent before still arrives. It hears and says nothing more.
     */
    void (*end)(void *data);
} sim_ears;

/* Opens a connection. ears and data are borrowed. Never NULL. */
sim_session *
sim_session_new(sim_server *server, const sim_ears *ears, void *data);

/* Closes it from the client's side, and frees it; end() is not called. */
void sim_session_free(sim_session *session);

/*
 * Runs a command now; argv[0] is its name. Nothing happens on a session that
 * has ended. The arguments are borrowed for the call.
 */
void sim_session_command(sim_session *session, int argc, const char **argv,
                         const size_t *sizes);

/*
 * A session may be blocked (BLPOP, WAIT): what it is asked meanwhile is run
 * later. The earliest instant at which sim_server_tick() has something to do,
 * as the clock stands now; UINT64_MAX: never, until another command is run.
 */
uint64_t sim_server_due(const sim_server *server);
/* Ends the blocks whose time is over. */
void sim_server_tick(sim_server *server);

/* What CLIENT ID says. Servers count from 1 after each start. */
uint64_t sim_session_id(const sim_session *session);
bool sim_session_has_ended(const sim_session *session);

/* The data of the ears of the session with that id; NULL: there is none. */
void *sim_server_ear(const sim_server *server, uint64_t id);

/* ---- what may happen to a server ---------------------------------------- */

/*
 * Runs a command of an administrator, who may do everything, and returns the
 * reply's bytes, zero-terminated, borrowed until the next call. The text is
 * split at blanks. For CONFIG SET maxmemory 1, ACL SETUSER, FLUSHALL, SCRIPT
 * FLUSH, CLIENT KILL TYPE normal, and to look at keys.
 */
const char *sim_server_admin(sim_server *server, const char *command);

/*
 * The process dies and another one starts at this instant, with the data or
 * with none: every session ends, scripts are unknown, the run id is another,
 * the uptime begins. Users, settings, role and refusals stay.
 */
void sim_server_restart(sim_server *server, bool keep_data);

/* Its process, as INFO names it. */
const char *sim_server_run_id(const sim_server *server);

/* Its process has been there for so long. */
void sim_server_set_age(sim_server *server, uint64_t seconds);

/* From now on INFO does not say the run id. */
void sim_server_set_nameless(sim_server *server, bool is_nameless);

/* A replica refuses writes with READONLY, and says so in ROLE and INFO. */
void sim_server_set_replica(sim_server *server, bool is_replica);

/*
 * So many replicas follow, and are never behind: what WAIT counts. 0 at
 * first.
 */
void sim_server_set_followers(sim_server *server, unsigned count);

/* Why a server answers an error to (almost) everything, or to writes. */
typedef enum sim_refusal {
    SIM_REFUSES_NOTHING,
    SIM_REFUSES_LOADING,     /* reads its data */
    SIM_REFUSES_BUSY,        /* a script runs for too long */
    SIM_REFUSES_MISCONF,     /* cannot save: writes */
    SIM_REFUSES_NOREPLICAS,  /* too few follow: writes */
    SIM_REFUSES_MASTERDOWN,  /* a replica without its master */
    SIM_REFUSES_CLUSTERDOWN, /* all that names a key */
    SIM_REFUSES_CLIENTS      /* those that come from now on: too many */
} sim_refusal;

void sim_server_refuse(sim_server *server, sim_refusal refusal);

/* Removes a key, as an eviction does. False: there was none. */
bool sim_server_evict(sim_server *server, unsigned db, const char *key,
                      size_t size);

/* Ends every session. */
void sim_server_end_sessions(sim_server *server);

/*
 * The data of this instant: what a replica has that does not get any further,
 * or a file that is loaded. A snapshot may be restored many times, also in
 * another server of another engine, and after its own has gone. Keys that
 * expired meanwhile are gone then.
 */
sim_snapshot *sim_server_snapshot(const sim_server *server);
void sim_server_restore(sim_server *server, const sim_snapshot *snapshot);
void sim_snapshot_free(sim_snapshot *snapshot);

/* ---- looking at it ------------------------------------------------------ */

/*
 * The data as text, one line a key, ordered by database and key, elements
 * ordered too; of each key its type, the time at which it expires (ms since
 * 1970, -1: never) and its value. Expired keys are left out. Zero-terminated,
 * the caller's to free. Two servers with equal texts have equal data.
 */
char *sim_server_dump(const sim_server *server);

/* A hash of that text, without the price of the order. */
uint64_t sim_server_hash(const sim_server *server);

/* One key, as sim_server_each_key() tells it. Strings are borrowed. */
typedef struct sim_key {
    unsigned db;
    const char *name;
    size_t size;
    const char *type; /* as TYPE says it */
    int64_t ttl_ms;   /* as PTTL says it; -1: it stays */
} sim_key;

/*
 * Calls see() for each key that has not expired, by database, the oldest key
 * first. see() must not change the server.
 */
void sim_server_each_key(const sim_server *server,
                         void (*see)(void *data, const sim_key *key),
                         void *data);

/* How many commands were run, those within scripts left out. */
uint64_t sim_server_commands(const sim_server *server);

#endif /* LK_SIM_SERVER_H */
