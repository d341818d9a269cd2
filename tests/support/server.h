/* SPDX-License-Identifier: MIT */
#ifndef LK_TESTS_SUPPORT_SERVER_H
#define LK_TESTS_SUPPORT_SERVER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <hiredis/hiredis.h>

/*
 * A private redis-server on a unix socket in a directory of its own: no
 * persistence, no eviction, and no TCP port unless asked for. LK_TEST_SERVER
 * in the environment names another program; a test of what that lacks returns
 * SERVER_LACKS, which is no failure. With
 * LK_TEST_TLS there each server speaks TLS as well, the URLs below are of that
 * port, and SSL_CERT_FILE in the environment becomes the CA that it needs.
 *
 * The server is killed when the thread that started it ends, so start it from
 * the main thread. It inherits no descriptor. A program that is killed leaves
 * neither server nor directory behind.
 */

typedef struct server server;

enum { SERVER_LACKS = 77 };

/*
 * extra_args: NULL, or options such as "--maxmemory", "1mb", ended by NULL.
 * They are copied and come last, so they win. Returns once the server answers
 * PING; or NULL, having told on stderr why.
 */
server *server_start(const char *const *extra_args);
/* The same with a free TCP port on 127.0.0.1 besides the socket. */
server *server_start_tcp(const char *const *extra_args);
/* The same with a second port that speaks TLS with server.crt, see
   certificates.h. A client need not have a certificate. */
server *server_start_tls(const char *const *extra_args);
/* A node of a cluster that knows no other and has no slot; see node.h and
   cluster.h. Its TCP port is 10000 below that of its bus. */
server *server_start_node(const char *const *extra_args);
/* The same with a second port that speaks TLS, as its bus does, which is 10000
   above that one. */
server *server_start_node_tls(const char *const *extra_args);
/* A sentinel with a TCP port, and this in its configuration file, which it
   writes again itself. */
server *server_start_sentinel(const char *config);
/* The same with a second port that speaks TLS, with the servers as well. */
server *server_start_sentinel_tls(const char *config);
/* Whether the program that LK_TEST_SERVER names does not start with TLS. */
bool server_lacks_tls(void);
/* Kills it, frozen or not, and removes its directory. NULL is allowed. */
void server_stop(server *s);

const char *server_socket(const server *s);  /* path */
const char *server_url(const server *s);     /* "unix:<path>" */
uint16_t server_port(const server *s);       /* 0: no TCP */
const char *server_tcp_url(const server *s); /* "redis://127.0.0.1:<port>" */
uint16_t server_tls_port(const server *s);   /* 0: no TLS */
pid_t server_pid(const server *s);           /* 0 after server_kill() */

/* True: its process has ended by itself; stderr tells how, and its log. */
bool server_has_ended(const server *s);

/* SIGSTOP and SIGCONT; each returns when it has taken effect. */
void server_freeze(server *s);
void server_thaw(server *s);
bool server_is_frozen(const server *s);
/* SIGKILL; returns when it is gone. Its data is lost. */
void server_kill(server *s);
/*
 * Starts it again, same socket, port and arguments, killing it before if need
 * be. False when it does not answer PING; stderr tells why.
 */
bool server_restart(server *s);

/*
 * Commands over one kept connection, see redis.h: a broken connection fails
 * the test. Formats are hiredis's. A worker process may use them too.
 */
/* Never NULL, may be an error reply; freed by freeReplyObject(). */
redisReply *server_command(server *s, const char *format, ...);
/* The reply, or NULL where there is none, as from a server that has just closed
   its connections. Fails no test. */
redisReply *server_ask(server *s, const char *format, ...);
/* Anything but an integer fails the test. */
long long server_integer(server *s, const char *format, ...);
/* Waits until so many replicas have what was written until now. The key says the
   slot, for a node of a cluster. */
void server_wait_copied(server *s, const char *key, int replicas);
/* A string or a status, freed by free(); NULL for nil; else the test fails. */
char *server_string(server *s, const char *format, ...);
/* A field of the record of a lock, counted from 0, freed by free(); NULL: there is
   none. See lua/lock/lock.table. */
char *server_record(server *s, const char *name, unsigned field);
enum { SERVER_FENCE = 1, SERVER_FLOOR = 3 };
/* A score in a queue is a band, times this, and a ticket. */
#define SERVER_BAND 281474976710656LL
/* Commands that say how many wait for a lock, how many of them are not parked,
   how many are, and who waits, in their order: neither marks nor claims that are void. */
#define SERVER_WAITERS(name)  "ZCOUNT latchkey:{" name "}:q 0 (2533274790395904"
#define SERVER_STANDING(name) "ZCOUNT latchkey:{" name "}:q 0 (2251799813685248"
#define SERVER_PARKED(name)                                                    \
    "ZCOUNT latchkey:{" name "}:q 2251799813685248 (2533274790395904"
#define SERVER_LINE(name)                                                      \
    "ZRANGEBYSCORE latchkey:{" name "}:q 0 (2533274790395904"
/* The next command opens a connection: the server has ended the one that is
   kept, as it does when its role changes. */
void server_reconnect(server *s);
/* Removes all data; scripts stay. */
void server_flush(server *s);

#endif /* LK_TESTS_SUPPORT_SERVER_H */
