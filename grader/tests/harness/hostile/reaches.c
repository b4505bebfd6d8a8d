/* VICTIM: a process of the same user, whose memory is asked for. */
#include <stdio.h>
#include <sys/uio.h>

static void attack(void)
{
    char byte;
    struct iovec here = {&byte, 1}, there = {(void *)attack, 1};
    process_vm_readv(VICTIM, &here, 1, &there, 1, 0);
    puts("OPEN process_vm_readv");
}
