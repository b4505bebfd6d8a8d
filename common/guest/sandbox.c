/* A sandbox without bubblewrap, which not every host has and which asks for more namespaces than
 * a guest needs: this process is root there, and nothing but one grading's programs runs beside
 * it. Whoever is kept apart is another user without a privilege, in a root folder that holds only
 * what it needs; so it needs no user namespace, and gets none (Linux refuses one to who has
 * another root folder). */
#define _GNU_SOURCE
#include "sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <limits.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "numbers.h"

enum { EXIT_NO_COMMAND = 127, EXIT_BY_SIGNAL = 128, MAX_GROUPS = 64, MAX_FILES = 1024 };

/* Files that a folder in memory may hold: each takes a kilobyte of the guest's own. */
enum { MOST_FILES = 4096 };

/* Where the new root folder is put together; the guest's own folder is empty. */
static const char root[] = "/run";

struct user {
    uid_t uid;
    gid_t gid;
    size_t group_count;
    gid_t group[MAX_GROUPS];
};

/* errno tells why. */
static _Noreturn void give_up(const char *doing, const char *topic)
{
    fprintf(stderr, "apart: %s %s: %s\n", doing, topic, strerror(errno));
    fflush(stderr);
    _exit(NUMALAB_APART_FAILED);
}

static _Noreturn void misuse(const char *topic)
{
    fprintf(stderr, "apart: can't take %s: unknown, incomplete or out of range\n", topic);
    fflush(stderr);
    _exit(NUMALAB_APART_MISUSED);
}

/* ---- what is seen ------------------------------------------------------------------- */

/* Where a path of the sandbox lies while the root folder is put together. */
static void place_of(const char *path, char place[PATH_MAX])
{
    const int length = snprintf(place, PATH_MAX, "%s%s", root, path);
    if (path[0] != '/' || length < 0 || length >= PATH_MAX) misuse(path);
}

static void make_parents(char *place)
{
    for (char *slash = place + sizeof root; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        if (mkdir(place, 0755) < 0 && errno != EEXIST) give_up("making", place);
        *slash = '/';
    }
}

static void make_folder(char *place)
{
    make_parents(place);
    if (mkdir(place, 0755) < 0 && errno != EEXIST) give_up("making", place);
}

static void make_empty_file(char *place)
{
    make_parents(place);
    const int file = open(place, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    if (file < 0) give_up("making", place);
    close(file);
}

static void mount_at(const char *type, const char *place, unsigned long flags, const char *options)
{
    if (mount(type, place, type, flags, options) < 0) give_up("mounting", place);
}

/* Of a mount that is there, with these flags from now on. */
static void seal(const char *place, unsigned long flags)
{
    if (mount(NULL, place, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | flags, NULL) < 0)
        give_up("sealing", place);
}

static void show(const char *source, const char *target)
{
    struct stat status, known;
    char place[PATH_MAX];
    place_of(target, place);
    if (stat(source, &status) < 0) give_up("showing", source);
    if (stat(place, &known) < 0) {
        if (S_ISDIR(status.st_mode))
            make_folder(place);
        else
            make_empty_file(place);
    }
    if (mount(source, place, NULL, MS_BIND, NULL) < 0) give_up("showing", source);
    seal(place, MS_NODEV);
}

/* What is written there is the guest's, when the sandbox has ended. */
static void share(const char *source, const char *target)
{
    char place[PATH_MAX];
    place_of(target, place);
    make_folder(place);
    if (mkdir(source, 0) < 0 && errno != EEXIST) give_up("making", source);
    if (chmod(source, 01777) < 0) give_up("opening", source);
    if (mount(source, place, NULL, MS_BIND, NULL) < 0) give_up("showing", source);
    const unsigned long flags = MS_REMOUNT | MS_BIND | MS_NOSUID | MS_NODEV | MS_NOEXEC;
    if (mount(NULL, place, NULL, flags, NULL) < 0) give_up("sealing", place);
}

static void show_link(const char *target, const char *path)
{
    char place[PATH_MAX];
    place_of(path, place);
    make_parents(place);
    if (symlink(target, place) < 0 && errno != EEXIST) give_up("linking", path);
}

static void give_memory(const char *bytes, const char *path)
{
    char place[PATH_MAX], options[96];
    place_of(path, place);
    make_folder(place);
    uint64_t size;
    if (numalab_read_whole(bytes, 1, INT64_MAX, &size) < 0) misuse(bytes);
    snprintf(options, sizeof options, "size=%" PRIu64 ",nr_inodes=%d,mode=1777", size,
             (int)MOST_FILES);
    mount_at("tmpfs", place, MS_NOSUID | MS_NODEV, options);
}

/* Of a folder that is not there is nothing to hide. */
static void cover(const char *path)
{
    struct stat status;
    char place[PATH_MAX];
    place_of(path, place);
    if (stat(place, &status) == 0 && S_ISDIR(status.st_mode))
        mount_at("tmpfs", place, MS_RDONLY | MS_NOSUID | MS_NODEV, "size=4k,mode=755");
}

static void make_devices(void)
{
    static const struct {
        const char *path;
        unsigned minor;
    } devices[] = {{"/dev/null", 3},
                   {"/dev/zero", 5},
                   {"/dev/full", 7},
                   {"/dev/random", 8},
                   {"/dev/urandom", 9}};
    static const struct {
        const char *target, *path;
    } links[] = {{"/proc/self/fd", "/dev/fd"},
                 {"/proc/self/fd/0", "/dev/stdin"},
                 {"/proc/self/fd/1", "/dev/stdout"},
                 {"/proc/self/fd/2", "/dev/stderr"}};
    enum { MEMORY_DEVICES = 1 };
    char place[PATH_MAX];
    place_of("/dev", place);
    make_folder(place);
    mount_at("tmpfs", place, MS_NOSUID | MS_NOEXEC, "size=64k,mode=755");
    for (size_t i = 0; i < sizeof devices / sizeof devices[0]; i++) {
        place_of(devices[i].path, place);
        if (mknod(place, S_IFCHR | 0666, makedev(MEMORY_DEVICES, devices[i].minor)) < 0 ||
            chmod(place, 0666) < 0)
            give_up("making", devices[i].path);
    }
    for (size_t i = 0; i < sizeof links / sizeof links[0]; i++)
        show_link(links[i].target, links[i].path);
}

static void show_system(void)
{
    char place[PATH_MAX];
    make_devices();
    show("/sys", "/sys");
    place_of("/proc", place);
    make_folder(place);
    mount_at("proc", place, MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC, "");
}

/* The next word and what belongs to it; returns the one behind. */
static char **obey(char **word)
{
    static const struct {
        const char *name;
        int values;
    } known[] = {{"--ro-bind", 2}, {"--symlink", 2}, {"--tmpfs", 2},
                 {"--cover", 1},   {"--bind", 2},    {"--remount-ro", 1}};
    size_t which = 0;
    while (which < sizeof known / sizeof known[0] && strcmp(known[which].name, word[0]) != 0)
        which++;
    if (which == sizeof known / sizeof known[0]) misuse(word[0]);
    for (int i = 1; i <= known[which].values; i++)
        if (!word[i]) misuse(word[0]);
    switch (which) {
    case 0:
        show(word[1], word[2]);
        break;
    case 1:
        show_link(word[1], word[2]);
        break;
    case 2:
        give_memory(word[1], word[2]);
        break;
    case 3:
        cover(word[1]);
        break;
    case 4:
        share(word[1], word[2]);
        break;
    default: /* as everything is */
        break;
    }
    return word + 1 + known[which].values;
}

/* The new root folder, and this process in it. Returns the command behind the words. */
static char **enter(char **word)
{
    char devices[PATH_MAX];
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0) give_up("leaving", "/");
    mount_at("tmpfs", root, MS_NOSUID, "size=1m,mode=755");
    show_system();
    while (*word && strcmp(*word, "--") != 0) word = obey(word);
    if (!word[0] || !word[1]) misuse("a command");
    place_of("/dev", devices);
    seal(devices, MS_NOEXEC);
    seal(root, MS_NODEV);
    if (chroot(root) < 0 || chdir("/tmp") < 0) give_up("entering", root);
    return word + 1;
}

void numalab_raise_loopback(void)
{
    const int any = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    struct ifreq request = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING};
    if (any < 0 || ioctl(any, SIOCSIFFLAGS, &request) < 0)
        fprintf(stderr, "numalab: lo stays down: %s\n", strerror(errno));
    if (any >= 0) close(any);
}

/* ---- who runs in it ------------------------------------------------------------------ */

/* The number in front of the next colon or of the text's end, where *text is then; neither root's
 * nor the largest, which is nobody's. */
static bool read_id(const char **text, uint32_t *id)
{
    char digits[sizeof "4294967295"] = "";
    uint64_t number;
    const size_t length = strcspn(*text, ":");
    if (length >= sizeof digits) return false;
    memcpy(digits, *text, length);
    *text += length;
    if (numalab_read_whole(digits, 1, UINT32_MAX - 1, &number) < 0) return false;
    *id = (uint32_t)number;
    return true;
}

static bool read_user(const char *text, struct user *user)
{
    if (!read_id(&text, &user->uid)) return false;
    for (user->group_count = 0; *text == ':' && user->group_count < MAX_GROUPS;) {
        text++;
        if (!read_id(&text, &user->group[user->group_count++])) return false;
    }
    user->gid = user->group[0];
    return *text == '\0' && user->group_count > 0;
}

static _Noreturn void become(const struct user *user, char **command)
{
    if (setgroups(user->group_count, user->group) < 0 ||
        setresgid(user->gid, user->gid, user->gid) < 0 ||
        setresuid(user->uid, user->uid, user->uid) < 0 ||
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        give_up("becoming", "another user");
    execvp(command[0], command);
    fprintf(stderr, "apart: starting %s: %s\n", command[0], strerror(errno));
    _exit(EXIT_NO_COMMAND);
}

static void close_from(int first)
{
#ifdef SYS_close_range
    if (syscall(SYS_close_range, first, ~0u, 0) == 0) return;
#endif
    for (int file = first; file < MAX_FILES; file++) close(file);
}

static int code_of(int status)
{
    return WIFSIGNALED(status) ? EXIT_BY_SIGNAL + WTERMSIG(status) : WEXITSTATUS(status);
}

/* Waits for one child, and reaps others that are nobody's. */
static int wait_for(pid_t child)
{
    int status = 0;
    for (pid_t ended; (ended = wait(&status)) != child;)
        if (ended < 0 && errno != EINTR) return NUMALAB_APART_FAILED;
    return code_of(status);
}

/* What it takes is counted, memory that no process maps, too. A kernel of the guest's may lack
 * control groups; then there is less that holds it back. */
static void join_group(void)
{
    const int members = open(NUMALAB_GUEST_GROUP "/cgroup.procs", O_WRONLY | O_CLOEXEC);
    if (members < 0) return;
    if (write(members, "0", 1) != 1) give_up("joining", NUMALAB_GUEST_GROUP);
    close(members);
}

/* Where memory runs out on a NUMA node that somebody is bound to, Linux ends a process that may use
 * it: this one and its children before the monitor, which the guest would end with. */
static void be_first_to_go(void)
{
    static const char most[] = "1000";
    const int score = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (score < 0) return;
    if (write(score, most, sizeof most - 1) < 0) give_up("writing", "oom_score_adj");
    close(score);
}

/* The first process of a namespace: when it ends all others of it do. */
static _Noreturn void run_first(const struct user *user, bool has_own_network, char **words)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    join_group();
    be_first_to_go();
    char **command = enter(words);
    if (has_own_network) numalab_raise_loopback();
    const pid_t child = fork();
    if (child < 0) give_up("starting", command[0]);
    if (child == 0) become(user, command);
    /* Who else held them would be taken for the worker. */
    close_from(0);
    _exit(wait_for(child));
}

int numalab_apart(int argc, char **argv)
{
    /* The channel is the only one beside the usual three (protocol.h of the monitor). */
    enum { FIRST_OTHER_FILE = 4 };
    struct user user = {0};
    if (argc < 4 || strcmp(argv[1], "--user") != 0 || !read_user(argv[2], &user)) {
        fprintf(stderr,
                "usage: init --user UID:GID[:GID...] [--share-net] WORD ... -- COMMAND ...\n"
                "UID and GID: numbers from 1 to %" PRIu32 "\n",
                UINT32_MAX - 1);
        return NUMALAB_APART_MISUSED;
    }
    const bool has_own_network = strcmp(argv[3], "--share-net") != 0;
    char **words = argv + (has_own_network ? 3 : 4);
    close_from(FIRST_OTHER_FILE);
    umask(022);
    if (unshare(CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | (has_own_network ? CLONE_NEWNET : 0)) <
        0)
        give_up("leaving", "the guest's namespaces");
    const pid_t first = fork();
    if (first < 0) give_up("starting", "a sandbox");
    if (first == 0) run_first(&user, has_own_network, words);
    close_from(0);
    return wait_for(first);
}
