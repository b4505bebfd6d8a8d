/* The first process of a virtual node: loads modules, brings the processors up, then does
 * what the host asks for. Linked statically, since at first it is alone in its file
 * system. Called as a command there it keeps another one apart (sandbox.h), or has one run on
 * another node of a cluster (remote.h). */
#define _GNU_SOURCE
#include <dirent.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/random.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "sandbox.h"
#include "network.h"
#include "protocol.h"
#include "remote.h"

enum {
    CHUNK_BYTES = 32 * 1024,
    DRAIN_MS = 300,
    CLOCK_WAIT_MS = 15000,
    PORT_WAIT_MS = 10000,
    RUN_HEAD_BYTES = 8,
    MOST_NODES = 4
};
static const struct timespec pause_10_ms = {0, 10 * 1000 * 1000};

/* ---- the state of the machine ------------------------------------------------ */

/* Nothing can go on: the console is all there is. */
static _Noreturn void give_up(const char *what)
{
    fprintf(stderr, "numalab: %s: %s\n", what, strerror(errno));
    fflush(stderr);
    reboot(RB_POWER_OFF);
    _exit(1);
}

static int write_text(const char *path, const char *text)
{
    int file = open(path, O_WRONLY | O_CLOEXEC);
    if (file < 0) return -errno;
    ssize_t written = write(file, text, strlen(text));
    int error = written < 0 ? -errno : 0;
    close(file);
    return error;
}

/* The first line of a file without its end; empty where there is none. */
static void read_line(const char *path, char *line, size_t line_bytes)
{
    line[0] = '\0';
    FILE *file = fopen(path, "re");
    if (!file) return;
    if (!fgets(line, (int)line_bytes, file)) line[0] = '\0';
    fclose(file);
    line[strcspn(line, "\n")] = '\0';
}

static void mount_own(void)
{
    static const struct {
        const char *type, *path, *options;
    } own[] = {{"devtmpfs", "/dev", ""},
               {"proc", "/proc", ""},
               {"sysfs", "/sys", ""},
               {"tmpfs", "/tmp", "mode=1777"},
               {"tmpfs", "/run", "mode=755"},
               {"tmpfs", "/dev/shm", "mode=1777"},
               {"devpts", "/dev/pts", "mode=600,ptmxmode=666"}};
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++) {
        mkdir(own[i].path, 0755);
        if (mount(own[i].type, own[i].path, own[i].type, 0, own[i].options) < 0)
            give_up(own[i].path);
    }
    /* In a guest with little memory Linux switches them off, whatever it is told at boot. */
    write_text("/sys/kernel/mm/transparent_hugepage/enabled", "madvise");
    /* Ranks copy messages out of each other's memory, and need not be root for it. */
    write_text("/proc/sys/kernel/yama/ptrace_scope", "0");
    /* For programs that look for these beside /dev/pts and /proc. */
    symlink("/proc/self/fd", "/dev/fd");
    symlink("/proc/self/fd/0", "/dev/stdin");
    symlink("/proc/self/fd/1", "/dev/stdout");
    symlink("/proc/self/fd/2", "/dev/stderr");
}

/* A share of memory for what is kept apart, so that Linux ends it, and not the node: short of
 * memory the node would drop the pages of every program, and stand still for seconds. Linux may
 * lack control groups. */
static void make_group(void)
{
    static const char processes[] = "2000";
    struct sysinfo node;
    char bytes[32];
    mkdir(NUMALAB_GUEST_GROUPS, 0700);
    if (mount("cgroup2", NUMALAB_GUEST_GROUPS, "cgroup2", 0, "") < 0 || sysinfo(&node) < 0) return;
    snprintf(bytes, sizeof bytes, "%llu",
             (unsigned long long)node.totalram * node.mem_unit / 4 * 3);
    write_text(NUMALAB_GUEST_GROUPS "/cgroup.subtree_control", "+memory +pids");
    mkdir(NUMALAB_GUEST_GROUP, 0700);
    write_text(NUMALAB_GUEST_GROUP "/memory.max", bytes);
    write_text(NUMALAB_GUEST_GROUP "/pids.max", processes);
}

/* /modules/order lists files of that folder in the order in which they need each other. */
static void load_modules(void)
{
    FILE *list = fopen("/modules/order", "re");
    if (!list) give_up("/modules/order");
    char line[256], path[300];
    while (fgets(line, sizeof line, list)) {
        line[strcspn(line, "\n")] = '\0';
        snprintf(path, sizeof path, "/modules/%s", line);
        int file = open(path, O_RDONLY | O_CLOEXEC);
        if (file < 0 || (syscall(SYS_finit_module, file, "", 0) < 0 && errno != EEXIST))
            give_up(path);
        close(file);
    }
    fclose(list);
}

/* Where the firmware tells how fast memory is, Linux has looked for the processors that each
 * memory is nearest to (access1) while there was but one, and hwloc goes by what it found. What
 * it would have found is there, too: the initiator that the firmware names (access0), since all
 * of them are NUMA nodes with processors. */
static void repair_initiators(void)
{
    char named[64], found[64];
    for (unsigned number = 0;; number++) {
        snprintf(named, sizeof named, "/sys/devices/system/node/node%u/access0", number);
        snprintf(found, sizeof found, "/sys/devices/system/node/node%u/access1", number);
        if (mount(named, found, NULL, MS_BIND, NULL) < 0) return; /* no such node, or not told */
    }
}

/* An emulated machine starts with one processor. The others wait until the clock source
 * is settled: Linux checks the clock of each against the first while they come up, and on
 * a host with fewer processors that may go on for ever. */
static void raise_processors(void)
{
    static const char clock_path[] =
        "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    char line[64], path[96];
    unsigned last = 0;
    read_line("/sys/devices/system/cpu/present", line, sizeof line);
    if (sscanf(line, "0-%u", &last) != 1) return;
    read_line("/sys/devices/system/cpu/online", path, sizeof path);
    if (strcmp(line, path) == 0) return;
    for (int ms = 0; ms < CLOCK_WAIT_MS; ms += 10) {
        read_line(clock_path, line, sizeof line);
        if (strcmp(line, "tsc") == 0 || strcmp(line, "kvm-clock") == 0) break;
        nanosleep(&pause_10_ms, NULL);
    }
    for (unsigned number = 1; number <= last; number++) {
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%u/online", number);
        int error = write_text(path, "1");
        if (error < 0)
            fprintf(stderr, "numalab: processor %u stays off: %s\n", number, strerror(-error));
    }
    repair_initiators();
}

/* The port to the host, or -1 while the kernel does not know it yet. */
static int find_port(void)
{
    DIR *folder = opendir("/sys/class/virtio-ports");
    if (!folder) return -1;
    int port = -1;
    for (struct dirent *entry; port < 0 && (entry = readdir(folder));) {
        char path[320], name[64];
        snprintf(path, sizeof path, "/sys/class/virtio-ports/%s/name", entry->d_name);
        read_line(path, name, sizeof name);
        if (strcmp(name, NUMALAB_GUEST_PORT) != 0) continue;
        snprintf(path, sizeof path, "/dev/%s", entry->d_name);
        port = open(path, O_RDWR | O_CLOEXEC);
    }
    closedir(folder);
    return port;
}

/* Ports get their names in the background, some time after their driver is there. */
static int open_port(void)
{
    for (int ms = 0; ms < PORT_WAIT_MS; ms += 10) {
        int port = find_port();
        if (port >= 0) return port;
        nanosleep(&pause_10_ms, NULL);
    }
    errno = ENODEV;
    give_up("the port to the host");
}

/* ---- frames ---------------------------------------------------------------------- */

static void write_all(int file, const void *data, size_t bytes)
{
    const char *from = data;
    while (bytes > 0) {
        ssize_t written = write(file, from, bytes);
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) give_up("writing to the host");
        from += written;
        bytes -= (size_t)written;
    }
}

static void read_all(int file, void *data, size_t bytes)
{
    char *to = data;
    while (bytes > 0) {
        ssize_t got = read(file, to, bytes);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) give_up("reading from the host");
        to += got;
        bytes -= (size_t)got;
    }
}

static void send_frame(int port, char type, const void *payload, size_t bytes)
{
    char frame[5 + CHUNK_BYTES];
    uint32_t length = htole32((uint32_t)bytes);
    frame[0] = type;
    memcpy(frame + 1, &length, sizeof length);
    if (bytes > 0) memcpy(frame + 5, payload, bytes);
    write_all(port, frame, 5 + bytes);
}

struct frame {
    char type;
    uint32_t bytes;
    char *payload; /* one byte longer, and zero there; of malloc */
};

static struct frame receive_frame(int port)
{
    char head[5];
    read_all(port, head, sizeof head);
    struct frame frame = {.type = head[0]};
    memcpy(&frame.bytes, head + 1, sizeof frame.bytes);
    frame.bytes = le32toh(frame.bytes);
    errno = EMSGSIZE;
    if (frame.bytes > NUMALAB_GUEST_MAX_PAYLOAD) give_up("a frame from the host");
    frame.payload = malloc(frame.bytes + 1u);
    if (!frame.payload) give_up("memory for a frame");
    read_all(port, frame.payload, frame.bytes);
    frame.payload[frame.bytes] = '\0';
    return frame;
}

/* The string after the one at `at`; never beyond the payload's end. */
static char *next_string(const struct frame *frame, char *cursor)
{
    char *end = frame->payload + frame->bytes;
    cursor += strlen(cursor) + 1;
    return cursor < end ? cursor : end;
}

/* Says which PUs are up on which NUMA node, for the host to compare. */
static void report_ready(int port)
{
    char text[16 * 1024] = "", path[96], line[512];
    size_t bytes = 0;
    for (unsigned number = 0; number < 256 && bytes < sizeof text - sizeof line - 16; number++) {
        snprintf(path, sizeof path, "/sys/devices/system/node/node%u/cpulist", number);
        if (access(path, R_OK) < 0) continue;
        read_line(path, line, sizeof line);
        bytes += (size_t)snprintf(text + bytes, sizeof text - bytes, "%u:%s\n", number, line);
    }
    send_frame(port, NUMALAB_GUEST_READY, text, bytes);
}

/* ---- the file system that the host asks for ------------------------------------------ */

static int make_folders(char *path)
{
    for (char *slash = path + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        int made = mkdir(path, 0755);
        *slash = '/';
        if (made < 0 && errno != EEXIST) return -errno;
    }
    return 0;
}

/* flags: for open, beside those of every file that is written. */
static int write_file(const struct frame *frame, int flags, mode_t mode)
{
    char *path = frame->payload, *content = next_string(frame, path);
    int error = make_folders(path);
    if (error < 0) return error;
    int file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | flags, mode);
    if (file < 0) return -errno;
    size_t bytes = (size_t)(frame->payload + frame->bytes - content);
    while (bytes > 0) {
        ssize_t written = write(file, content, bytes);
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) {
            error = -errno;
            break;
        }
        content += written;
        bytes -= (size_t)written;
    }
    if (close(file) < 0 && error == 0) error = -errno;
    return error;
}

static int drop_file(const struct frame *frame)
{
    return unlink(frame->payload) < 0 && errno != ENOENT ? -errno : 0;
}

/* A machine that is woken from its stored state would else draw what it drew the last time. */
static int take_noise(const struct frame *frame)
{
    const int file = open("/dev/urandom", O_WRONLY | O_CLOEXEC);
    if (file < 0) return -errno;
    int error = write(file, frame->payload, frame->bytes) == (ssize_t)frame->bytes ? 0 : -EIO;
    if (error == 0 && ioctl(file, RNDRESEEDCRNG) < 0 && errno != ENODATA) error = -errno;
    close(file);
    return error;
}

static int make_link(const struct frame *frame)
{
    char *path = next_string(frame, frame->payload);
    int error = make_folders(path);
    if (error < 0) return error;
    return symlink(frame->payload, path) < 0 ? -errno : 0;
}

static int mount_share(const struct frame *frame)
{
    char *path = next_string(frame, frame->payload), *options = next_string(frame, path);
    int error = make_folders(path);
    if (error < 0) return error;
    if (mkdir(path, 0755) < 0 && errno != EEXIST) return -errno;
    unsigned long flags = MS_NOSUID | MS_NODEV;
    if (strncmp(options, "ro,", 3) == 0) {
        flags |= MS_RDONLY;
        options += 3;
    }
    return mount(frame->payload, path, "9p", flags, options) < 0 ? -errno : 0;
}

static int set_clock(const struct frame *frame)
{
    int64_t parts[2];
    if (frame->bytes != sizeof parts) return -EINVAL;
    memcpy(parts, frame->payload, sizeof parts);
    struct timespec now = {(time_t)le64toh((uint64_t)parts[0]), (long)le64toh((uint64_t)parts[1])};
    return clock_settime(CLOCK_REALTIME, &now) < 0 ? -errno : 0;
}

/* From then on the other nodes may have commands run here; *remote: where that is heard. */
static int join_network(const struct frame *frame, int *remote)
{
    struct numalab_node_address node[MOST_NODES];
    const char *end = frame->payload + frame->bytes;
    size_t nodes = 0;
    for (char *cursor = frame->payload; cursor < end && nodes < MOST_NODES;) {
        node[nodes].ethernet = cursor;
        node[nodes++].ip = cursor = next_string(frame, cursor);
        cursor = next_string(frame, cursor);
    }
    int error = numalab_network_raise(node, nodes);
    if (error < 0 || *remote >= 0) return error;
    *remote = numalab_remote_listen();
    return *remote < 0 ? *remote : 0;
}

/* ---- the command ----------------------------------------------------------------------- */

struct command {
    pid_t pid;     /* its process group's number too; 0: none runs */
    int input;     /* -1: closed */
    int output[2]; /* standard output and error, or the terminal and -1 */
    bool is_terminal;
    char *pending; /* input that it has not taken yet */
    size_t pending_bytes, pending_at;
};

/* count strings from *at on, as for exec; *at: behind them. */
static char **list_of_strings(const struct frame *frame, size_t count, char **cursor)
{
    char **list = calloc(count + 1, sizeof *list);
    if (!list) give_up("memory for arguments");
    for (size_t i = 0; i < count; i++, *cursor = next_string(frame, *cursor)) list[i] = *cursor;
    return list;
}

static uint16_t number_at(const char *payload, size_t index)
{
    uint16_t number;
    memcpy(&number, payload + index * sizeof number, sizeof number);
    return le16toh(number);
}

static struct winsize window_of(const char *payload)
{
    return (struct winsize){.ws_row = number_at(payload, 0), .ws_col = number_at(payload, 1)};
}

static _Noreturn void become(const char *folder, char **arguments, char **environment, int failed)
{
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGPIPE, SIG_DFL);
    if (chdir(folder) == 0) {
        /* The search for the program goes by the PATH that it gets. */
        environ = environment;
        execvpe(arguments[0], arguments, environment);
    }
    int reason = errno;
    if (write(failed, &reason, sizeof reason) < 0) _exit(126);
    _exit(127);
}

/* Starts the command of a RUN frame; errno is told in a REFUSED frame if that fails. */
static void start(struct command *command, const struct frame *frame, int port)
{
    int failed[2], in[2] = {-1, -1}, out[2] = {-1, -1}, err[2] = {-1, -1};
    struct winsize window = window_of(frame->payload);
    char *folder = frame->payload + RUN_HEAD_BYTES, *cursor = next_string(frame, folder);
    char **arguments = list_of_strings(frame, number_at(frame->payload, 2), &cursor);
    char **environment = list_of_strings(frame, number_at(frame->payload, 3), &cursor);
    int reason = 0;

    *command = (struct command){.input = -1, .output = {-1, -1}, .is_terminal = window.ws_row > 0};
    if (pipe2(failed, O_CLOEXEC) < 0) give_up("a pipe");
    if (command->is_terminal) {
        command->pid = forkpty(&command->output[0], NULL, NULL, &window);
    } else {
        if (pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0 || pipe2(err, O_CLOEXEC) < 0)
            give_up("a pipe");
        command->pid = fork();
    }
    if (command->pid < 0) give_up("fork");
    if (command->pid == 0) {
        if (!command->is_terminal) {
            setsid();
            dup2(in[0], STDIN_FILENO);
            dup2(out[1], STDOUT_FILENO);
            dup2(err[1], STDERR_FILENO);
        }
        become(folder, arguments, environment, failed[1]);
    }
    close(failed[1]);
    if (command->is_terminal) {
        fcntl(command->output[0], F_SETFD, FD_CLOEXEC);
        command->input = dup(command->output[0]);
    } else {
        close(in[0]), close(out[1]), close(err[1]);
        command->input = in[1];
        command->output[0] = out[0];
        command->output[1] = err[0];
    }
    fcntl(command->input, F_SETFL, O_NONBLOCK);
    if (read(failed[0], &reason, sizeof reason) == sizeof reason) {
        uint32_t number = htole32((uint32_t)reason);
        waitpid(command->pid, NULL, 0);
        close(command->input);
        for (int i = 0; i < 2; i++)
            if (command->output[i] >= 0) close(command->output[i]);
        command->pid = 0;
        send_frame(port, NUMALAB_GUEST_REFUSED, &number, sizeof number);
    }
    close(failed[0]);
    free(arguments);
    free(environment);
}

static void close_input(struct command *command, int port)
{
    if (command->pending) send_frame(port, NUMALAB_GUEST_CONSUMED, NULL, 0);
    free(command->pending);
    command->pending = NULL;
    if (command->input >= 0 && !command->is_terminal) {
        close(command->input);
        command->input = -1;
    }
}

/* Hands on what the command takes of its input; the host sends more only after that. */
static void feed(struct command *command, int port)
{
    ssize_t written = write(command->input, command->pending + command->pending_at,
                            command->pending_bytes - command->pending_at);
    if (written < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (written < 0) {
        close_input(command, port);
        return;
    }
    command->pending_at += (size_t)written;
    if (command->pending_at < command->pending_bytes) return;
    free(command->pending);
    command->pending = NULL;
    send_frame(port, NUMALAB_GUEST_CONSUMED, NULL, 0);
}

static void take_input(struct command *command, struct frame *frame, int port)
{
    if (frame->bytes == 0) {
        close_input(command, port);
        return;
    }
    if (command->pid == 0 || command->input < 0 || command->pending) {
        send_frame(port, NUMALAB_GUEST_CONSUMED, NULL, 0);
        return;
    }
    command->pending = frame->payload;
    command->pending_bytes = frame->bytes;
    command->pending_at = 0;
    frame->payload = NULL;
    feed(command, port);
}

/* Passes on one piece of output; closes the stream at its end. */
static void pass_on(struct command *command, int which, int port)
{
    char chunk[CHUNK_BYTES];
    ssize_t got = read(command->output[which], chunk, sizeof chunk);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (got > 0) {
        send_frame(port, which == 0 ? NUMALAB_GUEST_OUTPUT : NUMALAB_GUEST_ERRORS, chunk,
                   (size_t)got);
        return;
    }
    close(command->output[which]);
    command->output[which] = -1;
}

/* What the command has left behind may hold its streams open, or write for ever: after a
 * moment it is killed, and what is in the pipes is all. */
static void pass_on_what_is_left(struct command *command, int port)
{
    bool is_killed = false;
    for (int ms = 0; command->output[0] >= 0 || command->output[1] >= 0; ms += 10) {
        struct pollfd polled[2] = {{.fd = command->output[0], .events = POLLIN},
                                   {.fd = command->output[1], .events = POLLIN}};
        if (ms >= DRAIN_MS && !is_killed) {
            kill(-1, SIGKILL); /* this process is spared */
            is_killed = true;
        }
        if (poll(polled, 2, 10) == 0 && is_killed && ms >= 2 * DRAIN_MS) break;
        for (int i = 0; i < 2; i++)
            if (polled[i].revents) pass_on(command, i, port);
    }
    for (int i = 0; i < 2; i++)
        if (command->output[i] >= 0) close(command->output[i]);
}

static void finish(struct command *command, int status, int port)
{
    pass_on_what_is_left(command, port);
    kill(-1, SIGKILL);
    while (waitpid(-1, NULL, WNOHANG) > 0) continue;
    command->is_terminal = false;
    close_input(command, port);
    command->pid = 0;
    uint32_t ended[2] = {htole32(WIFEXITED(status) ? (uint32_t)WEXITSTATUS(status) : 0),
                         htole32(WIFSIGNALED(status) ? (uint32_t)WTERMSIG(status) : 0)};
    send_frame(port, NUMALAB_GUEST_ENDED, ended, sizeof ended);
}

/* After the command's end nothing else is left to wait for. */
static void reap(struct command *command, int port)
{
    int status;
    for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;)
        if (pid == command->pid) {
            finish(command, status, port);
            return;
        }
}

/* ---- what the host asks for -------------------------------------------------------------- */

/* Remembers the first thing that went wrong, for the next PONG. */
static void note(char *trouble, size_t trouble_bytes, const struct frame *frame, int error)
{
    if (error == 0 || trouble[0]) return;
    const char *about = frame->payload;
    if (frame->type == NUMALAB_GUEST_LINK || frame->type == NUMALAB_GUEST_MOUNT)
        about = next_string(frame, frame->payload);
    if (frame->type == NUMALAB_GUEST_NETWORK) about = "the network card";
    if (frame->type == NUMALAB_GUEST_CLOCK) about = "the clock";
    if (frame->type == NUMALAB_GUEST_NOISE) about = "random numbers";
    snprintf(trouble, trouble_bytes, "%c %.400s: %s", frame->type, about, strerror(-error));
}

static void obey(struct command *command, struct frame *frame, int port, int *remote, char *trouble,
                 size_t trouble_bytes)
{
    int error = 0;
    switch (frame->type) {
    case NUMALAB_GUEST_WRITE:
        error = write_file(frame, O_TRUNC, 0644);
        break;
    case NUMALAB_GUEST_PROGRAM:
        error = write_file(frame, O_APPEND, 0755);
        break;
    case NUMALAB_GUEST_DROP:
        error = drop_file(frame);
        break;
    case NUMALAB_GUEST_NOISE:
        error = take_noise(frame);
        break;
    case NUMALAB_GUEST_LINK:
        error = make_link(frame);
        break;
    case NUMALAB_GUEST_MOUNT:
        error = mount_share(frame);
        break;
    case NUMALAB_GUEST_NETWORK:
        error = join_network(frame, remote);
        break;
    case NUMALAB_GUEST_CLOCK:
        error = set_clock(frame);
        break;
    case NUMALAB_GUEST_PING:
        send_frame(port, NUMALAB_GUEST_PONG, trouble, strlen(trouble));
        trouble[0] = '\0';
        break;
    case NUMALAB_GUEST_RUN:
        if (frame->bytes > RUN_HEAD_BYTES && command->pid == 0) start(command, frame, port);
        break;
    case NUMALAB_GUEST_INPUT:
        take_input(command, frame, port);
        break;
    case NUMALAB_GUEST_SIGNAL:
        if (frame->bytes == 4 && command->pid > 0) {
            uint32_t number;
            memcpy(&number, frame->payload, sizeof number);
            kill(-command->pid, (int)le32toh(number));
        }
        break;
    case NUMALAB_GUEST_WINDOW:
        if (frame->bytes == 4 && command->pid > 0 && command->is_terminal) {
            struct winsize window = window_of(frame->payload);
            ioctl(command->output[0], TIOCSWINSZ, &window);
        }
        break;
    default:
        error = -EBADMSG;
    }
    note(trouble, trouble_bytes, frame, error);
}

int main(int argc, char **argv)
{
    if (getpid() != 1) {
        const char *name = strrchr(argv[0], '/');
        const bool is_remote = strcmp(name ? name + 1 : argv[0], NUMALAB_REMOTE) == 0;
        return is_remote ? numalab_remote(argc, argv) : numalab_apart(argc, argv);
    }
    umask(022);
    mount_own();
    make_group();
    load_modules();
    numalab_raise_loopback();
    raise_processors();
    int port = open_port();
    signal(SIGPIPE, SIG_IGN);
    sigset_t children;
    sigemptyset(&children);
    sigaddset(&children, SIGCHLD);
    sigprocmask(SIG_BLOCK, &children, NULL);
    int ended = signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK);
    if (ended < 0) give_up("signalfd");
    report_ready(port);

    struct command command = {.input = -1, .output = {-1, -1}};
    char trouble[512] = "";
    int remote = -1; /* no cluster */
    for (;;) {
        bool runs = command.pid > 0;
        struct pollfd polled[] = {
            {.fd = port, .events = POLLIN},
            {.fd = ended, .events = POLLIN},
            {.fd = runs ? command.output[0] : -1, .events = POLLIN},
            {.fd = runs ? command.output[1] : -1, .events = POLLIN},
            {.fd = runs && command.pending ? command.input : -1, .events = POLLOUT},
            {.fd = remote, .events = POLLIN},
        };
        if (poll(polled, sizeof polled / sizeof polled[0], -1) < 0) continue;
        if (polled[0].revents & POLLIN) {
            struct frame frame = receive_frame(port);
            obey(&command, &frame, port, &remote, trouble, sizeof trouble);
            free(frame.payload);
        }
        for (int i = 0; i < 2; i++)
            if (polled[2 + i].revents && command.output[i] >= 0) pass_on(&command, i, port);
        if (polled[4].revents && command.pending) feed(&command, port);
        if (polled[5].revents) numalab_remote_accept(remote);
        if (polled[1].revents) {
            struct signalfd_siginfo news;
            while (read(ended, &news, sizeof news) > 0) continue;
            reap(&command, port);
        }
    }
}
