#include <stdio.h>
#include <stdlib.h>

static void attack(void)
{
    if (system("true") == 0) puts("OPEN system");
}
