/* A bomb of threads, which are no processes. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static void *wait_long(void *unused)
{
    sleep(60);
    return unused;
}

static void attack(void)
{
    enum { MANY = 2000 };
    int started = 0;
    pthread_t thread;
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 65536);
    while (started < MANY && pthread_create(&thread, &small, wait_long, NULL) == 0) started++;
    sleep(30); /* somebody should have looked by now, on a busy node too */
    if (started == MANY) puts("OPEN threads");
}
