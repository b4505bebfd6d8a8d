/* What a record says of the node. */
#ifndef NUMALAB_MONITOR_NODE_RECORD_H
#define NUMALAB_MONITOR_NODE_RECORD_H

#include <jansson.h>

#include "node.h"

/* Returns NULL when there is no memory. The caller owns it. */
json_t *numalab_node_describe(const struct numalab_node *node);

#endif
