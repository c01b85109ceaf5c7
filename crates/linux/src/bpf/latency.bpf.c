// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * How long something took in the kernel, from a begin to an end in the same thread, kept as a
 * histogram where it happens: only sums ever leave the kernel.
 *
 * The same two steps stand in this file once for every means by which they can be attached; the
 * loader tries them in order and loads those it needs. One object in memory measures one thing.
 */
#include "mini.h"

/* These mirror crates/model/src/latency/buckets.rs; a test compares the two. */
#define FINE_SLOTS 328
#define MICRO_SLOTS 32

/* Where the key of a histogram comes from: from nowhere, from the begin, from the end. */
#define KEY_NONE 0
#define KEY_AT_BEGIN 1
#define KEY_AT_END 2

/* Whose events count. */
#define EVERYONE 0
#define PROGRAMS 1
#define KERNEL_THREADS 2
#define AT_OWN_MMAP_LOCK 3

/* No duration is that long: none is kept by itself. */
#define NEVER (~0ULL)

/* include/linux/sched.h */
#define PF_KTHREAD 0x00200000

/* How far up a process is followed to its ancestors. */
#define GENERATIONS 64

/* Threads that are found by number alone; a power of two. */
#define PLACES 4096

/* Set by the loader before the programs are verified. */
const volatile u32 key_source = KEY_NONE;
const volatile u32 key_offset = 0; /* bytes into the context of the begin or the end */
const volatile u32 key_mask = 0xffffffff; /* 0xff for a bool: the rest of the register is noise */
const volatile u32 keys = 1; /* the last one also takes what is beyond */
const volatile u32 who = EVERYONE;
const volatile u64 long_ns = NEVER; /* durations from here on are kept one by one as well */

struct settings {
	u32 root; /* process whose descendants count, itself included; 0: all */
	u32 epoch; /* 0 or 1: which half is being written, so that the other can be read whole */
};

struct start {
	u64 ns; /* 0: nothing has begun that has not ended */
	u64 key;
};

/*
 * A thread's own place, where only it writes. It fills a cache line, because threads with numbers
 * next to each other begin and end at the same time.
 */
struct place {
	u32 thread; /* 0: nobody's */
	struct start start;
	u64 unused[5];
};

struct hist {
	u64 count;
	u64 total_ns;
	u64 fine[FINE_SLOTS];
	u64 micro[MICRO_SLOTS];
};

struct extremes {
	u64 max_ns;
	u64 min_complement; /* ~minimum, so that zero means none */
};

struct losses {
	u64 no_room; /* begins that could not be kept */
	u64 reentered; /* begins while an earlier one of the same thread was open */
};

struct stall {
	u64 begun_ns;
	u64 ns;
};

struct sums {
	u64 total_ns;
	u64 unkept; /* long durations for which the queue had no room */
};

struct {
	NUMBER(type, ARRAY);
	NUMBER(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, struct settings);
} settings SEC(".maps");

struct {
	NUMBER(type, ARRAY);
	NUMBER(max_entries, PLACES);
	TYPE(key, u32);
	TYPE(value, struct place);
} places SEC(".maps");

/* Of threads whose place is another's. */
struct {
	NUMBER(type, HASH);
	NUMBER(max_entries, 16384);
	TYPE(key, u32);
	TYPE(value, struct start);
} starts SEC(".maps");

struct {
	NUMBER(type, PERCPU_ARRAY);
	NUMBER(max_entries, 2);
	TYPE(key, u32);
	TYPE(value, struct hist);
} hists SEC(".maps");

struct {
	NUMBER(type, PERCPU_ARRAY);
	NUMBER(max_entries, 2);
	TYPE(key, u32);
	TYPE(value, struct extremes);
} extremes SEC(".maps");

struct {
	NUMBER(type, PERCPU_ARRAY);
	NUMBER(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, struct losses);
} losses SEC(".maps");

struct rw_semaphore {
	u64 count;
} KERNEL;

struct mm_struct {
	struct rw_semaphore mmap_lock;
} KERNEL;

/* Where none is kept by itself the loader makes it no larger. */
struct {
	NUMBER(type, QUEUE);
	NUMBER(max_entries, 1);
	TYPE(value, struct stall);
} stalls SEC(".maps");

struct {
	NUMBER(type, PERCPU_ARRAY);
	NUMBER(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, struct sums);
} sums SEC(".maps");

struct task_struct {
	u32 flags;
	s32 pid;
	s32 tgid;
	s32 pagefault_disabled;
	struct task_struct *real_parent;
	struct mm_struct *mm;
} KERNEL;

/*
 * Whether the running thread belongs to the process `root` or to one of its descendants. Walking
 * up needs no list of processes that could be late, full or left behind.
 */
INLINE int descends_from(const struct task_struct *task, u32 root)
{
	for (u32 generation = 0; generation < GENERATIONS; generation++) {
		s32 process = task->tgid;
		if (process == (s32)root)
			return 1;
		if (process <= 1)
			return 0;
		task = task->real_parent;
	}
	return 0;
}

INLINE int counts(const struct task_struct *task, const struct settings *set)
{
	if (who == PROGRAMS || who == KERNEL_THREADS)
		if (((task->flags & PF_KTHREAD) != 0) != (who == KERNEL_THREADS))
			return 0;
	return !set->root || descends_from(task, set->root);
}

/*
 * Whether the first argument of the event is the lock of the running thread's own address space.
 * Within the wait for it the kernel may wait for smaller locks, whose events come between.
 */
INLINE int is_meant(void *context)
{
	const struct task_struct *task = this_task();
	struct mm_struct *mm = 0;
	u64 lock = 0;

	if (who != AT_OWN_MMAP_LOCK)
		return 1;
	if (read_kernel(&lock, sizeof(lock), context) || read_kernel(&mm, sizeof(mm), &task->mm))
		return 0;
	return mm && lock == (u64)&mm->mmap_lock;
}

/* The idle threads of all processors share the number 0. */
INLINE u32 number_of(const struct task_struct *task)
{
	u32 thread = task->pid;

	return thread ? thread : 0x80000000 | processor();
}

INLINE u64 key_in(void *context)
{
	u64 key = 0;

	read_kernel(&key, sizeof(key), (u8 *)context + key_offset);
	return key & key_mask;
}

INLINE struct settings *settings_now(void)
{
	u32 zero = 0;

	return map_lookup(&settings, &zero);
}

INLINE void lose(u64 no_room, u64 reentered)
{
	u32 zero = 0;
	struct losses *lost = map_lookup(&losses, &zero);

	if (!lost)
		return;
	lost->no_room += no_room;
	lost->reentered += reentered;
}

INLINE struct place *place_of(u32 thread)
{
	u32 index = thread % PLACES;

	return map_lookup(&places, &index);
}

/* Where the begin of a thread is, if it ever had one. */
INLINE struct start *find_start(u32 thread)
{
	struct place *place = place_of(thread);

	return place && place->thread == thread ? &place->start : map_lookup(&starts, &thread);
}

/* Where a thread's first begin goes. */
INLINE struct start *make_start(u32 thread)
{
	struct start nothing = {};
	struct place *place = place_of(thread);

	if (place && !__sync_val_compare_and_swap(&place->thread, 0, thread)) {
		place->start.ns = 0; /* of the thread that had it before */
		return &place->start;
	}
	return map_update(&starts, &thread, &nothing, 0) ? 0 : map_lookup(&starts, &thread);
}

INLINE int begin_in(const struct task_struct *task, void *context)
{
	u32 thread = number_of(task);
	struct settings *set = settings_now();
	struct start *start;

	if (!set || !is_meant(context) || !counts(task, set))
		return 0;
	start = find_start(thread);
	if (!start)
		start = make_start(thread);
	if (!start) {
		lose(1, 0);
		return 0;
	}
	if (start->ns)
		lose(0, 1);
	if (key_source == KEY_AT_BEGIN)
		start->key = key_in(context);
	start->ns = time_ns();
	return 0;
}

INLINE int begin(void *context)
{
	return begin_in(this_task(), context);
}

/*
 * A thread keeps its place, because making one and deleting it costs as much as all else; it is
 * taken away when nothing is left of the thread. Its number may have gone to another by then,
 * which loses one end at the most. Not when it exits: after that it still faults and takes locks.
 */
INLINE int gone(u64 *context)
{
	struct task_struct *task = (struct task_struct *)context[0];
	struct place *place;
	u32 thread = 0;

	if (read_kernel(&thread, sizeof(thread), &task->pid))
		return 0;
	place = place_of(thread);
	if (place && place->thread == thread)
		place->thread = 0;
	else
		map_delete(&starts, &thread);
	return 0;
}

/* Position of the highest bit that is set; `value` is not 0. */
INLINE u32 highest_bit(u64 value)
{
	u32 bit = 0;

	if (value >> 32) { value >>= 32; bit += 32; }
	if (value >> 16) { value >>= 16; bit += 16; }
	if (value >> 8) { value >>= 8; bit += 8; }
	if (value >> 4) { value >>= 4; bit += 4; }
	if (value >> 2) { value >>= 2; bit += 2; }
	return bit + (value >> 1);
}

/* Eight slots for each power of two of nanoseconds; `bit` is the highest of `ns`. */
INLINE u32 fine_slot(u64 ns, u32 bit)
{
	u32 slot;

	if (ns < 8)
		return ns;
	slot = (bit - 2) * 8 + ((ns >> (bit - 3)) & 7);
	return slot < FINE_SLOTS ? slot : FINE_SLOTS - 1;
}

/*
 * One slot for each power of two of microseconds, the first for less than one. 1000 lies between
 * 2^9 and 2^10, so that the power is one of two, and nothing is divided.
 */
INLINE u32 micro_slot(u64 ns, u32 bit)
{
	u32 power, slot;

	if (ns < 1000)
		return 0;
	power = bit - 9;
	slot = ns < (1000ULL << power) ? power : power + 1;
	return slot < MICRO_SLOTS ? slot : MICRO_SLOTS - 1;
}

INLINE void record(const struct settings *set, u64 ns, u64 key)
{
	u32 index = (key < keys ? key : keys - 1) * 2 + (set->epoch & 1);
	struct hist *hist = map_lookup(&hists, &index);
	struct extremes *extreme = map_lookup(&extremes, &index);
	u32 bit = ns ? highest_bit(ns) : 0;
	u32 fine = fine_slot(ns, bit), micro = micro_slot(ns, bit);

	if (!hist || !extreme)
		return;
	hist->count++;
	hist->total_ns += ns;
	if (fine < FINE_SLOTS)
		hist->fine[fine]++;
	if (micro < MICRO_SLOTS)
		hist->micro[micro]++;
	if (ns > extreme->max_ns)
		extreme->max_ns = ns;
	if (~ns > extreme->min_complement)
		extreme->min_complement = ~ns;
}

/*
 * What a timeline is made of: sums that can be read at any moment, because each is one number,
 * and the long durations themselves, in a queue that is bounded.
 */
INLINE void keep(u64 begun_ns, u64 ns)
{
	u32 zero = 0;
	struct stall stall = { .begun_ns = begun_ns, .ns = ns };
	struct sums *sum;

	if (long_ns == NEVER)
		return;
	sum = map_lookup(&sums, &zero);
	if (!sum)
		return;
	sum->total_ns += ns;
	if (ns >= long_ns && map_push(&stalls, &stall, 0))
		sum->unkept++;
}

INLINE int end_as(u64 key_at_end)
{
	u64 now = time_ns();
	struct start *start = find_start(number_of(this_task()));
	struct settings *set = settings_now();

	if (!start || !start->ns || !set)
		return 0;
	record(set, now - start->ns, key_source == KEY_AT_END ? key_at_end : start->key);
	keep(start->ns, now - start->ns);
	start->ns = 0;
	return 0;
}

INLINE int end(void *context)
{
	if (!is_meant(context))
		return 0;
	return end_as(key_source == KEY_AT_END ? key_in(context) : 0);
}

/* Something that happens, of which only the kind is told. */
INLINE int happened(void *context)
{
	struct settings *set = settings_now();

	if (set && counts(this_task(), set))
		record(set, 0, key_in(context));
	return 0;
}

SEC("raw_tp/sched_process_free") int thread_gone(void *context) { return gone(context); }

SEC("fentry/function") int fentry_begin(void *context) { return begin(context); }
SEC("fexit/function") int fexit_end(void *context) { return end(context); }

SEC("kprobe/function") int kprobe_begin(void *context) { return begin(context); }
SEC("kretprobe/function") int kretprobe_end(void *context) { return end(context); }

SEC("tp_btf/begin") int tp_btf_begin(void *context) { return begin(context); }
SEC("tp_btf/end") int tp_btf_end(void *context) { return end(context); }
SEC("tp_btf/event") int tp_btf_event(void *context) { return happened(context); }

SEC("raw_tp/begin") int raw_tp_begin(void *context) { return begin(context); }
SEC("raw_tp/end") int raw_tp_end(void *context) { return end(context); }
SEC("raw_tp/event") int raw_tp_event(void *context) { return happened(context); }

SEC("tracepoint/group/begin") int tracepoint_begin(void *context) { return begin(context); }
SEC("tracepoint/group/end") int tracepoint_end(void *context) { return end(context); }
SEC("tracepoint/group/event") int tracepoint_event(void *context) { return happened(context); }

/*
 * Page faults: before the fault one of two tracepoints, which take a quarter of the time of a software
 * event of perf, or else that; after it one of two software events.
 *
 * The tracepoints also see what never comes to that end: faults at the kernel's own addresses, and
 * those of a reader that forbids waiting, who may stand within another fault.
 */
INLINE int fault_begins(u64 *context)
{
	/* Not by the helper, which forbids waiting itself while it reads. */
	const struct task_struct *task = this_task();

	if ((s64)context[0] < 0 || task->pagefault_disabled)
		return 0;
	return begin_in(task, context);
}

SEC("tp_btf/page_fault_user") int user_fault_begin(u64 *context) { return fault_begins(context); }
SEC("tp_btf/page_fault_kernel") int kernel_fault_begin(u64 *context) { return fault_begins(context); }
SEC("perf_event") int fault_begin(void *context) { return begin(context); }
SEC("perf_event") int minor_fault_end(void *context) { (void)context; return end_as(0); }
SEC("perf_event") int major_fault_end(void *context) { (void)context; return end_as(1); }

#include "faults.h"

/* The verifier opens helpers that read kernel memory to this licence (include/linux/license.h). */
char LICENSE[] SEC("license") = "Dual BSD/GPL";
