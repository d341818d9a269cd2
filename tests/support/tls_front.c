/* SPDX-License-Identifier: MIT */
#include "support/tls_front.h"

#include <fcntl.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "support/certificates.h"
#include "support/scratch.h"
#include "support/socket.h"

enum { CONNECTIONS = 64, BYTES = 16 * 1024 };

/* One connection. The descriptors stay open until it has been joined. */
typedef struct carriage {
    tls_front *front;
    pthread_t thread;
    int client, server; /* -1: none */
    SSL *ssl;
} carriage;

struct tls_front {
    scratch *home;
    char socket[108], server_socket[108];
    int listener;
    SSL_CTX *context, *stranger;
    pthread_t thread;
    atomic_bool changes_keys, says_goodbye;
    atomic_uint key_changes;

    pthread_mutex_t mutex; /* guards the name */
    char asked[256];

    carriage carriages[CONNECTIONS]; /* the thread's, until it was joined */
    int count;
};

/* ---- one connection ----------------------------------------------------------- */

static bool blocks(int fd)
{
    return fcntl(fd, F_SETFL, 0) == 0;
}

static bool write_all(int fd, const char *bytes, size_t size)
{
    while (size > 0) {
        ssize_t sent = send(fd, bytes, size, MSG_NOSIGNAL);

        if (sent <= 0)
            return false;
        bytes += sent;
        size -= (size_t)sent;
    }
    return true;
}

/* False: the client has gone. */
static bool carry_request(const carriage *c)
{
    char bytes[BYTES];

    do {
        int size = SSL_read(c->ssl, bytes, sizeof(bytes));

        if (size <= 0)
            return SSL_get_error(c->ssl, size) == SSL_ERROR_WANT_READ;
        if (!write_all(c->server, bytes, (size_t)size))
            return false;
    } while (SSL_pending(c->ssl) > 0);
    return true;
}

static bool carry_answer(const carriage *c)
{
    tls_front *front = c->front;
    char bytes[BYTES];
    ssize_t size = read(c->server, bytes, sizeof(bytes));

    if (size <= 0)
        return false;
    if (atomic_exchange(&front->says_goodbye, false)) {
        (void)SSL_shutdown(c->ssl);
        return BIO_flush(SSL_get_wbio(c->ssl)) == 1;
    }
    if (SSL_write(c->ssl, bytes, (int)size) != (int)size)
        return false;
    if (atomic_load(&front->changes_keys)) {
        (void)atomic_fetch_add(&front->key_changes, 1);
        (void)SSL_key_update(c->ssl, SSL_KEY_UPDATE_REQUESTED);
        (void)SSL_do_handshake(c->ssl);
    }
    return BIO_flush(SSL_get_wbio(c->ssl)) == 1;
}

static void carry(const carriage *c)
{
    struct pollfd fds[2] = {{.fd = c->client, .events = POLLIN},
                            {.fd = c->server, .events = POLLIN}};
    bool goes_on = true;

    while (goes_on && poll(fds, 2, -1) > 0) {
        if (fds[0].revents != 0)
            goes_on = carry_request(c);
        if (goes_on && fds[1].revents != 0)
            goes_on = carry_answer(c);
    }
}

static void *carriage_main(void *data)
{
    carriage *c = data;
    sigset_t pipe;

    /* OpenSSL writes to a socket that may have been closed. */
    (void)sigemptyset(&pipe);
    (void)sigaddset(&pipe, SIGPIPE);
    (void)pthread_sigmask(SIG_BLOCK, &pipe, NULL);
    if (SSL_accept(c->ssl) == 1) {
        c->server = socket_connect_unix(c->front->server_socket);
        if (c->server >= 0 && blocks(c->server))
            carry(c);
    }
    (void)shutdown(c->client, SHUT_RDWR);
    if (c->server >= 0)
        (void)shutdown(c->server, SHUT_RDWR);
    return NULL;
}

/* What it sends is joined until it is flushed. */
static bool ssl_attach(SSL *ssl, int fd)
{
    BIO *reads = BIO_new_socket(fd, BIO_NOCLOSE);
    BIO *writes = BIO_new_socket(fd, BIO_NOCLOSE);
    BIO *joins = BIO_new(BIO_f_buffer());

    if (reads == NULL || writes == NULL || joins == NULL)
        return false;
    SSL_set_bio(ssl, reads, BIO_push(joins, writes));
    return true;
}

static void carriage_start(tls_front *front, int client)
{
    carriage *c = &front->carriages[front->count];

    *c = (carriage){.front = front, .client = client, .server = -1};
    c->ssl = SSL_new(front->context);
    if (c->ssl == NULL || !ssl_attach(c->ssl, client) ||
        pthread_create(&c->thread, NULL, carriage_main, c) != 0)
        abort();
    front->count++;
}

static void carriage_end(carriage *c)
{
    (void)shutdown(c->client, SHUT_RDWR);
    (void)pthread_join(c->thread, NULL);
    SSL_free(c->ssl);
    (void)close(c->client);
    if (c->server >= 0)
        (void)close(c->server);
}

/* ---- all of them --------------------------------------------------------------- */

/* Ends when the listener is shut down. */
static void *front_main(void *data)
{
    tls_front *front = data;
    int client;

    while (front->count < CONNECTIONS &&
           (client = accept4(front->listener, NULL, NULL, SOCK_CLOEXEC)) >= 0)
        carriage_start(front, client);
    return NULL;
}

/* NOLINTNEXTLINE(readability-non-const-parameter): OpenSSL says so */
static int on_name(SSL *ssl, int *alert, void *data)
{
    tls_front *front = data;
    const char *name = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);

    (void)alert;
    (void)pthread_mutex_lock(&front->mutex);
    (void)snprintf(front->asked, sizeof(front->asked), "%s",
                   name != NULL ? name : "");
    (void)pthread_mutex_unlock(&front->mutex);
    if (name != NULL && strcmp(name, "elsewhere.example") == 0)
        (void)SSL_set_SSL_CTX(ssl, front->stranger);
    return SSL_TLSEXT_ERR_OK;
}

/* A read gives back control behind what is not the client's, as new keys are. */
static SSL_CTX *context_new(const char *name)
{
    SSL_CTX *context = SSL_CTX_new(TLS_server_method());
    char path[128], file[32];

    if (context == NULL)
        return NULL;
    (void)SSL_CTX_clear_mode(context, SSL_MODE_AUTO_RETRY);
    (void)snprintf(file, sizeof(file), "%s.crt", name);
    if (SSL_CTX_use_certificate_file(context, certificates_path(path, file),
                                     SSL_FILETYPE_PEM) != 1)
        return NULL;
    (void)snprintf(file, sizeof(file), "%s.key", name);
    if (SSL_CTX_use_PrivateKey_file(context, certificates_path(path, file),
                                    SSL_FILETYPE_PEM) != 1)
        return NULL;
    return context;
}

tls_front *tls_front_start(const char *server_socket)
{
    tls_front *front = calloc(1, sizeof(*front));

    if (front == NULL || certificates_folder() == NULL ||
        (front->home = scratch_new()) == NULL)
        abort();
    (void)snprintf(front->socket, sizeof(front->socket), "%s/tls",
                   scratch_path(front->home));
    (void)snprintf(front->server_socket, sizeof(front->server_socket), "%s",
                   server_socket);
    front->context = context_new("server");
    front->stranger = context_new("stranger");
    front->listener = socket_listen_unix(front->socket);
    if (front->context == NULL || front->stranger == NULL ||
        front->listener < 0 || !blocks(front->listener))
        abort();
    (void)SSL_CTX_set_tlsext_servername_callback(front->context, on_name);
    (void)SSL_CTX_set_tlsext_servername_arg(front->context, front);
    (void)pthread_mutex_init(&front->mutex, NULL);
    if (pthread_create(&front->thread, NULL, front_main, front) != 0)
        abort();
    return front;
}

void tls_front_stop(tls_front *front)
{
    if (front == NULL)
        return;
    (void)shutdown(front->listener, SHUT_RDWR);
    (void)pthread_join(front->thread, NULL);
    for (int i = 0; i < front->count; i++)
        carriage_end(&front->carriages[i]);
    (void)close(front->listener);
    SSL_CTX_free(front->context);
    SSL_CTX_free(front->stranger);
    (void)pthread_mutex_destroy(&front->mutex);
    scratch_free(front->home);
    free(front);
}

/* ---- what is asked of it -------------------------------------------------------- */

const char *tls_front_socket(const tls_front *front)
{
    return front->socket;
}

const char *tls_front_asked(tls_front *front, char name[256])
{
    (void)pthread_mutex_lock(&front->mutex);
    (void)snprintf(name, 256, "%s", front->asked);
    (void)pthread_mutex_unlock(&front->mutex);
    return name;
}

void tls_front_changes_keys(tls_front *front, bool is_on)
{
    atomic_store(&front->changes_keys, is_on);
}

unsigned tls_front_key_changes(tls_front *front)
{
    return atomic_load(&front->key_changes);
}

void tls_front_says_goodbye(tls_front *front, bool is_on)
{
    atomic_store(&front->says_goodbye, is_on);
}
