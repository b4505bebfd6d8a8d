#include <stdio.h>

static void attack(void)
{
    for (;;) printf("%60000s\n", "and another line that nobody reads");
}
