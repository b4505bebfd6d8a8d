/* Messages between numalab and the first process of a virtual machine, over a virtio-serial port
 * with the name NUMALAB_GUEST_PORT. A frame is a type (one byte), the length of its payload (32
 * bits, little endian) and the payload. grader/src/numalab/virtual/channel.py is the other end. */
#ifndef NUMALAB_GUEST_PROTOCOL_H
#define NUMALAB_GUEST_PROTOCOL_H

#define NUMALAB_GUEST_PORT "numalab"
#define NUMALAB_GUEST_MAX_PAYLOAD (8u << 20)

/* From numalab to the guest. Strings end with a zero byte. */
#define NUMALAB_GUEST_WRITE 'W' /* path, then the content of the file */
/* The same for a program or its next piece, which is appended to the file. */
#define NUMALAB_GUEST_PROGRAM 'B'
#define NUMALAB_GUEST_DROP 'D'  /* path of a file to remove; it may be missing */
#define NUMALAB_GUEST_NOISE 'N' /* unpredictable bytes for Linux's random numbers */
#define NUMALAB_GUEST_LINK 'L'  /* target, path of the symbolic link */
#define NUMALAB_GUEST_MOUNT 'M' /* 9p tag, path, options; "ro," first for read-only */
/* Ethernet and IPv4 address of each cluster node, this machine's first. */
#define NUMALAB_GUEST_NETWORK 'A'
#define NUMALAB_GUEST_CLOCK 'T' /* seconds, nanoseconds since 1970: two 64-bit numbers */
#define NUMALAB_GUEST_PING 'P'  /* asks for a PONG */
/* Rows and columns of the terminal, zeros for none, then the numbers of arguments and of
 * variables, 16 bits each; folder, arguments, environment. */
#define NUMALAB_GUEST_RUN 'R'
#define NUMALAB_GUEST_INPUT 'I'  /* for the command's standard input; empty: its end */
#define NUMALAB_GUEST_SIGNAL 'S' /* 32-bit number of a signal for the command */
#define NUMALAB_GUEST_WINDOW 'V' /* new rows and columns, 16 bits each */

/* From the guest to numalab. */
/* Once, when it is up: for each NUMA node a line with its number, a colon and its PUs as Linux
 * lists them. */
#define NUMALAB_GUEST_READY 'H'
#define NUMALAB_GUEST_PONG 'P'     /* errors since the last PING; may be empty */
#define NUMALAB_GUEST_OUTPUT 'O'   /* the command's standard output */
#define NUMALAB_GUEST_ERRORS 'E'   /* the command's standard error */
#define NUMALAB_GUEST_CONSUMED 'C' /* the last INPUT is read or dropped; send more */
#define NUMALAB_GUEST_REFUSED 'F'  /* the command can't be started: errno as 32 bits */
#define NUMALAB_GUEST_ENDED 'X'    /* exit code or 0, signal or 0: 32 bits each */

#endif
