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

#define ARRAY 2
#define PERCPU_ARRAY 6
#define QUEUE 22
#define RING 27
#define TASK_STORAGE 29

/* Flags of maps, and of what is kept with a task. */
#define NO_PREALLOC 1
#define CREATE 1
#define NO_WAKEUP 1

static void *(*map_lookup)(void *map, const void *key) = (void *)1;
static u64 (*time_ns)(void) = (void *)5;
static u32 (*processor)(void) = (void *)8;
static u64 (*thread_and_process)(void) = (void *)14;
static u64 (*current_task)(void) = (void *)35;
static long (*map_push)(void *map, const void *value, u64 flags) = (void *)87;
static long (*read_kernel)(void *to, u32 bytes, const void *from) = (void *)113;
static void *(*ring_reserve)(void *ring, u64 bytes, u64 flags) = (void *)131;
static void (*ring_submit)(void *record, u64 flags) = (void *)132;
static void *(*task_storage)(void *map, void *task, void *value, u64 flags) = (void *)156;
static void *(*this_task)(void) = (void *)158;

#endif
