/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * All that our BPF programs need of the kernel's own headers, so that building them takes
 * nothing but clang. Numbers are from include/uapi/linux/bpf.h and never change.
 */
#ifndef MINI_H
#define MINI_H

typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef int s32;
typedef long long s64;

#define SEC(name) __attribute__((section(name), used))
#define INLINE static inline __attribute__((always_inline))

/* A kernel structure of which only the named fields are used; the loader finds their offsets. */
#define KERNEL __attribute__((preserve_access_index))

/* A map's definition, as BTF describes it to the loader. */
#define NUMBER(name, value) int(*name)[value]
#define TYPE(name, of) of *name

#define HASH 1
#define ARRAY 2
#define PERCPU_ARRAY 6
#define QUEUE 22

/* Of an array: user space may map it. */
#define MAPPED 1024

/* What is written before it is not moved behind it, nor the other way round, by the compiler. */
#define BARRIER __asm__ volatile("" ::: "memory")

static void *(*map_lookup)(void *map, const void *key) = (void *)1;
static long (*map_update)(void *map, const void *key, const void *value, u64 flags) = (void *)2;
static long (*map_delete)(void *map, const void *key) = (void *)3;
static u64 (*time_ns)(void) = (void *)5;
static u32 (*processor)(void) = (void *)8;
static long (*map_push)(void *map, const void *value, u64 flags) = (void *)87;
static long (*read_kernel)(void *to, u32 bytes, const void *from) = (void *)113;
static void *(*this_task)(void) = (void *)158;

#endif
