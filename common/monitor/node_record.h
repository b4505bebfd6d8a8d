/* The machine's description in records. */
#ifndef NUMALAB_MONITOR_NODE_RECORD_H
#define NUMALAB_MONITOR_NODE_RECORD_H

#include <jansson.h>

#include "node.h"

/* Returns the description, which the caller owns; NULL without memory. */
json_t *numalab_node_describe(const struct numalab_node *node);

#endif
