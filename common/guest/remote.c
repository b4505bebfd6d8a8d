/* Over TCP: a request is its length (32 bits, little endian) and strings that end with a zero
 * byte: the folder, the command, and VARIABLE=VALUE any number of times. What comes back are
 * frames as protocol.h has them: OUTPUT and ERRORS, and in the end ENDED or REFUSED. */
#define _GNU_SOURCE
#include "remote.h"

#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "protocol.h"

enum {
    PORT = 10514,
    MOST_REQUEST_BYTES = 1 << 17,
    MOST_VARIABLES = 16,
    MOST_WORDS = 1024,
    MOST_WORDS_BYTES = 1 << 17,
    CHUNK_BYTES = 16 * 1024,
    HEAD_BYTES = 5
};

/* Of the environment what programs are found by; a launcher hands on what ranks need. */
static const char *const variables[] = {"PATH", "LD_LIBRARY_PATH", "HOME", "TMPDIR",
                                        "LANG", "NUMALAB_MACHINE"};

/* ---- bytes on the connection ------------------------------------------------------------ */

static int send_all(int target, const void *data, size_t bytes)
{
    for (const char *source = data; bytes > 0;) {
        const ssize_t sent = send(target, source, bytes, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        if (sent < 0) return -errno;
        source += sent;
        bytes -= (size_t)sent;
    }
    return 0;
}

static int receive_all(int source, void *data, size_t bytes)
{
    for (char *target = data; bytes > 0;) {
        const ssize_t got = read(source, target, bytes);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return -errno;
        if (got == 0) return -ECONNRESET;
        target += got;
        bytes -= (size_t)got;
    }
    return 0;
}

static int send_frame(int target, char type, const void *payload, size_t bytes)
{
    char frame[HEAD_BYTES + CHUNK_BYTES];
    const uint32_t length = htole32((uint32_t)bytes);
    frame[0] = type;
    memcpy(frame + 1, &length, sizeof length);
    memcpy(frame + HEAD_BYTES, payload, bytes);
    return send_all(target, frame, HEAD_BYTES + bytes);
}

/* ---- where it is asked for ---------------------------------------------------------------- */

/* The address of a name in /etc/hosts. Returns 0 or a negative errno. */
static int find_peer(const char *name, struct in_addr *address)
{
    char line[256];
    int error = -EHOSTUNREACH;
    FILE *hosts = fopen("/etc/hosts", "re");
    if (!hosts) return -errno;
    while (error < 0 && fgets(line, sizeof line, hosts)) {
        char *rest = line, *first = strsep(&rest, " \t\n");
        for (char *word; (word = strsep(&rest, " \t\n"));)
            if (strcmp(word, name) == 0 && inet_pton(AF_INET, first, address) == 1) error = 0;
    }
    fclose(hosts);
    return error;
}

static int connect_to(const char *peer)
{
    struct sockaddr_in target = {.sin_family = AF_INET, .sin_port = htons(PORT)};
    const int error = find_peer(peer, &target.sin_addr);
    if (error < 0) return error;
    const int connection = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connection < 0) return -errno;
    if (connect(connection, (struct sockaddr *)&target, sizeof target) < 0) {
        const int reason = errno;
        close(connection);
        return -reason;
    }
    return connection;
}

/* Appends a text to the request, and what stands behind it. */
static int append(char *request, size_t *bytes, const char *text, char name)
{
    const size_t length = strlen(text);
    if (*bytes + length + 1 > MOST_REQUEST_BYTES) return -E2BIG;
    memcpy(request + *bytes, text, length);
    request[*bytes + length] = name;
    *bytes += length + 1;
    return 0;
}

static int append_variables(char *request, size_t *bytes)
{
    int error = 0;
    for (size_t i = 0; i < sizeof variables / sizeof variables[0] && error == 0; i++) {
        const char *value = getenv(variables[i]);
        if (!value) continue;
        error = append(request, bytes, variables[i], '=');
        if (error == 0) error = append(request, bytes, value, '\0');
    }
    return error;
}

static int ask(int connection, char **words)
{
    static char request[MOST_REQUEST_BYTES];
    char folder[PATH_MAX];
    size_t bytes = 0;
    if (!getcwd(folder, sizeof folder)) return -errno;
    int error = append(request, &bytes, folder, '\0');
    for (; *words && error == 0; words++)
        error = append(request, &bytes, *words, words[1] ? ' ' : '\0');
    if (error == 0) error = append_variables(request, &bytes);
    if (error < 0) return error;
    const uint32_t length = htole32((uint32_t)bytes);
    error = send_all(connection, &length, sizeof length);
    return error < 0 ? error : send_all(connection, request, bytes);
}

static uint32_t number_at(const char *payload)
{
    uint32_t number;
    memcpy(&number, payload, sizeof number);
    return le32toh(number);
}

static void write_out(int file, const char *data, size_t bytes)
{
    while (bytes > 0) {
        const ssize_t written = write(file, data, bytes);
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return; /* nobody reads it */
        data += written;
        bytes -= (size_t)written;
    }
}

/* Passes on what comes back. Returns the exit code, or a negative errno. */
static int listen_to(int connection)
{
    for (;;) {
        char head[HEAD_BYTES], payload[CHUNK_BYTES];
        int error = receive_all(connection, head, sizeof head);
        const uint32_t bytes = error < 0 ? 0 : number_at(head + 1);
        if (bytes > sizeof payload) error = -EMSGSIZE;
        if (error == 0) error = receive_all(connection, payload, bytes);
        if (error < 0) return error;
        switch (head[0]) {
        case NUMALAB_GUEST_OUTPUT:
            write_out(STDOUT_FILENO, payload, bytes);
            break;
        case NUMALAB_GUEST_ERRORS:
            write_out(STDERR_FILENO, payload, bytes);
            break;
        case NUMALAB_GUEST_REFUSED:
            return bytes == 4 ? -(int)number_at(payload) : -EBADMSG;
        case NUMALAB_GUEST_ENDED:
            if (bytes != 8) return -EBADMSG;
            return number_at(payload + 4) ? 128 + (int)number_at(payload + 4)
                                          : (int)number_at(payload);
        default:
            return -EBADMSG;
        }
    }
}

int numalab_remote(int argc, char **argv)
{
    if (argc < 3) {
        fprintf(stderr, "usage: " NUMALAB_REMOTE " HOST COMMAND ...\n");
        return NUMALAB_REMOTE_FAILED;
    }
    const int connection = connect_to(argv[1]);
    int code = connection;
    if (connection >= 0) {
        code = ask(connection, argv + 2);
        if (code == 0) code = listen_to(connection);
        close(connection);
    }
    if (code >= 0) return code;
    fprintf(stderr, NUMALAB_REMOTE ": %s: %s\n", argv[1], strerror(-code));
    return NUMALAB_REMOTE_FAILED;
}

/* ---- where it runs ------------------------------------------------------------------------ */

int numalab_remote_listen(void)
{
    const struct sockaddr_in own = {.sin_family = AF_INET, .sin_port = htons(PORT)};
    const int yes = 1, listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (listening < 0) return -errno;
    if (setsockopt(listening, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) < 0 ||
        bind(listening, (const struct sockaddr *)&own, sizeof own) < 0 ||
        listen(listening, SOMAXCONN) < 0) {
        const int reason = errno;
        close(listening);
        return -reason;
    }
    return listening;
}

/* The words of NUMALAB_REMOTE_APART, and behind them the command. Returns how many there are in
 * front of it, 0 without such a file; a file that can't be used is no reason to do without. */
static size_t read_words(char **words)
{
    static char text[MOST_WORDS_BYTES];
    size_t count = 0;
    FILE *file = fopen(NUMALAB_REMOTE_APART, "re");
    if (!file && errno == ENOENT) return 0;
    const size_t bytes = file ? fread(text, 1, sizeof text - 1, file) : 0;
    char *rest = text, *word;
    if (bytes == 0 || bytes == sizeof text - 1 || text[bytes - 1] != '\n')
        _exit(NUMALAB_REMOTE_FAILED);
    text[bytes - 1] = '\0';
    while ((word = strsep(&rest, "\n"))) {
        if (count == MOST_WORDS) _exit(NUMALAB_REMOTE_FAILED);
        words[count++] = word;
    }
    fclose(file);
    words[count++] = "--";
    return count;
}

static _Noreturn void become(char *request, size_t bytes)
{
    char *folder = request, *command = folder + strlen(folder) + 1, *end = request + bytes;
    char *environment[MOST_VARIABLES + 1] = {NULL};
    if (command >= end) _exit(NUMALAB_REMOTE_FAILED);
    size_t count = 0;
    for (char *at = command + strlen(command) + 1; at < end && count < MOST_VARIABLES;
         at += strlen(at) + 1)
        environment[count++] = at;
    if (chdir(folder) < 0) fprintf(stderr, NUMALAB_REMOTE ": %s: %s\n", folder, strerror(errno));
    static char *words[MOST_WORDS + 8];
    const size_t apart = read_words(words);
    char *const shell[] = {"/bin/sh", "-c", command, NULL};
    memcpy(words + apart, shell, sizeof shell);
    execve(words[0], words, environment);
    fprintf(stderr, NUMALAB_REMOTE ": %s: %s\n", words[0], strerror(errno));
    _exit(127);
}

/* Starts it with its output in two pipes. Returns its process, or a negative errno. */
static pid_t start(char *request, size_t bytes, int output[2])
{
    int out[2], err[2] = {-1, -1};
    if (pipe2(out, O_CLOEXEC) < 0) return -errno;
    const pid_t child = pipe2(err, O_CLOEXEC) < 0 ? -1 : fork();
    if (child < 0) {
        const int reason = errno;
        for (int i = 0; i < 2; i++) {
            close(out[i]);
            if (err[i] >= 0) close(err[i]);
        }
        return -reason;
    }
    if (child == 0) {
        const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
        setsid();
        dup2(nothing, STDIN_FILENO);
        dup2(out[1], STDOUT_FILENO);
        dup2(err[1], STDERR_FILENO);
        become(request, bytes);
    }
    close(out[1]);
    close(err[1]);
    output[0] = out[0];
    output[1] = err[0];
    return child;
}

/* Until nobody holds its output any more. Returns a negative errno where who asked has gone. */
static int pass_output(int connection, int output[2])
{
    static const char type[2] = {NUMALAB_GUEST_OUTPUT, NUMALAB_GUEST_ERRORS};
    while (output[0] >= 0 || output[1] >= 0) {
        struct pollfd polled[] = {{.fd = connection, .events = POLLIN},
                                  {.fd = output[0], .events = POLLIN},
                                  {.fd = output[1], .events = POLLIN}};
        if (poll(polled, 3, -1) < 0 && errno != EINTR) return -errno;
        /* It has nothing more to say, so this is the end of it. */
        if (polled[0].revents) return -ECONNRESET;
        for (int i = 0; i < 2; i++) {
            char chunk[CHUNK_BYTES];
            if (!polled[1 + i].revents) continue;
            const ssize_t got = read(output[i], chunk, sizeof chunk);
            if (got < 0 && errno == EINTR) continue;
            if (got > 0) {
                const int error = send_frame(connection, type[i], chunk, (size_t)got);
                if (error < 0) return error;
            } else {
                close(output[i]);
                output[i] = -1;
            }
        }
    }
    return 0;
}

static _Noreturn void serve(int connection)
{
    static char request[MOST_REQUEST_BYTES + 1];
    uint32_t bytes;
    int output[2] = {-1, -1}, status = 0;
    if (receive_all(connection, &bytes, sizeof bytes) < 0) _exit(1);
    bytes = le32toh(bytes);
    if (bytes > MOST_REQUEST_BYTES || receive_all(connection, request, bytes) < 0) _exit(1);
    const pid_t child = start(request, bytes, output);
    if (child < 0) {
        const uint32_t reason = htole32((uint32_t)-child);
        send_frame(connection, NUMALAB_GUEST_REFUSED, &reason, sizeof reason);
        _exit(1);
    }
    if (pass_output(connection, output) < 0) kill(-child, SIGKILL);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
    const uint32_t ended[2] = {htole32(WIFEXITED(status) ? (uint32_t)WEXITSTATUS(status) : 0),
                               htole32(WIFSIGNALED(status) ? (uint32_t)WTERMSIG(status) : 0)};
    send_frame(connection, NUMALAB_GUEST_ENDED, ended, sizeof ended);
    _exit(0);
}

void numalab_remote_accept(int listening)
{
    const int connection = accept4(listening, NULL, NULL, SOCK_CLOEXEC);
    if (connection < 0) return;
    if (fork() == 0) {
        sigset_t none;
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        serve(connection);
    }
    close(connection);
}
