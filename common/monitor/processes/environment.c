#define _GNU_SOURCE
#include "environment.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int numalab_variables_set(struct numalab_variables *variables, const char *name, const char *value)
{
    size_t i = 0;
    while (i < variables->count && strcmp(variables->list[i].name, name) != 0) i++;
    if (i == NUMALAB_MAX_VARIABLES) return -E2BIG;
    if (i == variables->count) variables->count++;
    variables->list[i].name = name;
    variables->list[i].value = value;
    return 0;
}

/* Whether an entry such as "PATH=/bin" gives one of the variables another value. */
static bool is_replaced(const char *entry, const struct numalab_variables *variables)
{
    const size_t length = strcspn(entry, "=");
    for (size_t i = 0; i < variables->count; i++) {
        const char *name = variables->list[i].name;
        if (strlen(name) == length && strncmp(name, entry, length) == 0) return true;
    }
    return false;
}

char **numalab_environment_make(const struct numalab_variables *variables,
                                bool (*is_needed)(const char *variable))
{
    static const struct numalab_variables none;
    if (!variables) variables = &none;
    size_t inherited = 0, text_bytes = 0, count = 0;
    while (environ && environ[inherited]) inherited++;
    for (size_t i = 0; i < variables->count; i++)
        text_bytes += strlen(variables->list[i].name) + strlen(variables->list[i].value) + 2;

    const size_t entries = inherited + variables->count + 1;
    char **made = malloc(entries * sizeof *made + text_bytes);
    if (!made) return NULL;
    for (size_t i = 0; i < inherited; i++)
        if (!is_replaced(environ[i], variables) && (!is_needed || is_needed(environ[i])))
            made[count++] = environ[i];
    char *text = (char *)(made + entries);
    for (size_t i = 0; i < variables->count; i++) {
        char *entry = text;
        text += sprintf(entry, "%s=%s", variables->list[i].name, variables->list[i].value) + 1;
        if (!is_needed || is_needed(entry)) made[count++] = entry;
    }
    made[count] = NULL;
    return made;
}
