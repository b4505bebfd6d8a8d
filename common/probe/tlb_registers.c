#include "tlb_registers.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>

/* Deterministic address translation parameters (Intel): a list of four registers for each TLB. */
static void print_leaf_18(void)
{
    unsigned a, b, c, d, last = 0;
    printf("\"cpuid_18\": [");
    for (unsigned leaf = 0; leaf <= last; leaf++) {
        if (!__get_cpuid_count(0x18, leaf, &a, &b, &c, &d)) break;
        if (leaf == 0) last = a < 32 ? a : 32;
        printf("%s[%u, %u, %u, %u]", leaf ? ", " : "", a, b, c, d);
    }
    printf("]");
}

/* Whether 0x80000005 and 0x80000006 mean TLBs: on AMD's processors and on Hygon's they do. */
static bool is_amds(void)
{
    unsigned ignored, b, c, d;
    char vendor[13] = "";
    if (!__get_cpuid(0, &ignored, &b, &c, &d)) return false;
    memcpy(vendor, &b, 4);
    memcpy(vendor + 4, &d, 4);
    memcpy(vendor + 8, &c, 4);
    return !strcmp(vendor, "AuthenticAMD") || !strcmp(vendor, "HygonGenuine");
}

static void print_leaf(unsigned leaf)
{
    unsigned a, b, c, d;
    printf("\"cpuid_%x\": [", leaf);
    if (is_amds() && __get_cpuid(leaf, &a, &b, &c, &d)) printf("%u, %u, %u, %u", a, b, c, d);
    printf("]");
}

void probe_print_tlb_registers(void)
{
    print_leaf_18();
    printf(", ");
    print_leaf(0x80000005);
    printf(", ");
    print_leaf(0x80000006);
}

#else

void probe_print_tlb_registers(void)
{
    printf("\"cpuid_18\": [], \"cpuid_80000005\": [], \"cpuid_80000006\": []");
}

#endif
