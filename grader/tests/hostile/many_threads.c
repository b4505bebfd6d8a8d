/* A bomb of threads, which are no processes. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static void *wait_long(void *unused)
{
    sleep(3);
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
    sleep(1); /* somebody should have looked by now */
    if (started == MANY) puts("OPEN threads");
}
