/* The two ways to another process's memory give one answer. */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "expect.h"
#include "monitor/processes/remote_memory.h"

static int failures;

enum { PAGES = 4 };

static int transfer_via_file(pid_t pid, char *address, void *buffer, size_t bytes, int is_write)
{
    const struct iovec local = {buffer, bytes}, remote = {address, bytes};
    return numalab_remote_memory_use_file(pid, &local, &remote, 1, is_write);
}

static int transfer_via_call(pid_t pid, char *address, void *buffer, size_t bytes, int is_write)
{
    const struct iovec local = {buffer, bytes}, remote = {address, bytes};
    return is_write ? numalab_remote_memory_write(pid, &local, &remote, 1)
                    : numalab_remote_memory_read(pid, (uintptr_t)address, buffer, bytes);
}

/* memory: four pages of the child: as usual, to read only, of nobody, and none at all. */
static void test_way(int (*reach)(pid_t, char *, void *, size_t, int), pid_t child, char *memory,
                     size_t page)
{
    char buffer[64] = {0};
    EXPECT(reach(child, memory + page - 32, buffer, 64, 0) == 0);
    EXPECT(buffer[0] == 'a' && buffer[31] == 'a' && buffer[32] == 'b' && buffer[63] == 'b');

    memset(buffer, 'x', sizeof buffer);
    EXPECT(reach(child, memory + 8, buffer, 16, 1) == 0);
    memset(buffer, 0, sizeof buffer);
    EXPECT(reach(child, memory, buffer, 32, 0) == 0);
    EXPECT(buffer[7] == 'a' && buffer[8] == 'x' && buffer[23] == 'x' && buffer[24] == 'a');

    /* The file alone would write to what the process itself may not, and read it. */
    EXPECT(reach(child, memory + page, buffer, 16, 1) == -EFAULT);
    EXPECT(reach(child, memory + page, buffer, 16, 0) == 0 && buffer[0] == 'b');
    EXPECT(reach(child, memory + 2 * page, buffer, 16, 0) == -EFAULT);
    EXPECT(reach(child, memory + 2 * page, buffer, 16, 1) == -EFAULT);
    EXPECT(reach(child, memory + 3 * page, buffer, 16, 0) == -EFAULT);
    EXPECT(reach(child, memory + 2 * page - 16, buffer, 32, 0) == -EFAULT);
}

static void test_several_parts(pid_t child, char *memory)
{
    char one[4] = "one", two[4] = "two", back[8];
    const struct iovec local[] = {{one, 4}, {two, 4}},
                       remote[] = {{memory + 100, 4}, {memory + 104, 4}};
    EXPECT(numalab_remote_memory_use_file(child, local, remote, 2, 1) == 0);
    EXPECT(numalab_remote_memory_read(child, (uintptr_t)memory + 100, back, 8) == 0);
    EXPECT(memcmp(back, "one\0two", 8) == 0);
}

static void test_gone(pid_t gone)
{
    char buffer[8];
    EXPECT(transfer_via_file(gone, (char *)4096, buffer, 8, 0) == -ESRCH);
    EXPECT(transfer_via_call(gone, (char *)4096, buffer, 8, 0) == -ESRCH);
}

int main(void)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *memory =
        mmap(NULL, PAGES * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return 1;
    memset(memory, 'a', page);
    memset(memory + page, 'b', (PAGES - 1) * page);
    EXPECT(mprotect(memory + page, page, PROT_READ) == 0);
    EXPECT(mprotect(memory + 2 * page, page, PROT_NONE) == 0);
    EXPECT(munmap(memory + 3 * page, page) == 0);
    const pid_t child = fork();
    if (child < 0) return 1;
    if (child == 0) {
        pause();
        _exit(0);
    }
    test_way(transfer_via_file, child, memory, page);
    memset(memory, 'a', page); /* the child has pages of its own by now */
    char old[32];
    memset(old, 'a', sizeof old);
    EXPECT(transfer_via_call(child, memory, old, sizeof old, 1) == 0);
    test_way(transfer_via_call, child, memory, page);
    test_several_parts(child, memory);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    test_gone(child);
    return failures > 0;
}
