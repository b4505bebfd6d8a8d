/* Reports to the monitor where the kernel crashed, before the process ends. */
#ifndef NUMALAB_WORKER_FAULT_REPORT_H
#define NUMALAB_WORKER_FAULT_REPORT_H

#include <stdint.h>

struct numalab_trap;

/* Returns an address of code as an offset into the worker's file; 0 for code of another file. Call
 * it after the handlers are installed. */
uint64_t numalab_program_offset(uintptr_t address);

/* Installs handlers for SIGSEGV, SIGBUS, SIGFPE, SIGILL and SIGABRT, on a stack
 * of their own on the main thread. A SIGSEGV that belongs to an armed trap is
 * handed to it and execution goes on. Returns 0 or a negative errno. */
int numalab_fault_report_install(int channel, struct numalab_trap *trap);

#endif
