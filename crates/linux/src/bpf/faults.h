/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Page faults one by one: begin and end are paired where they happen, so that one small record
 * leaves the kernel for each, and not two samples. The begin is that of the durations; the end is
 * a software event of the threads that are watched, which has the kernel look up the page before
 * the program runs (since Linux 6.3).
 */
#ifndef FAULTS_H
#define FAULTS_H

/* There was I/O. */
#define MAJOR 1

/* It fills a cache line. */
struct paired_fault {
	u64 number; /* of this processor, from 1; 0 while it is being written */
	u64 begun_ns; /* 0: it began before it was watched */
	u64 ended_ns;
	/* One behind the other as in the kernel, so that one call reads them; the loader tries it. */
	u64 address;
	u64 physical; /* 0 for a zero page */
	u64 page_bytes;
	u32 process;
	u32 thread;
	u64 flags; /* MAJOR */
};

/* How many records a processor has written. */
struct written {
	u64 records;
	u64 unused[7];
};

/* Records of each processor; a power of two. Set by the loader. */
const volatile u32 records_each = 1;

/*
 * The records of each processor, a ring in which the newest takes the place of the oldest. The
 * kernel's own (BPF_MAP_TYPE_RINGBUF) is one for all processors, with a lock.
 * Where no faults are watched the loader leaves it as small as it is here.
 */
struct {
	NUMBER(type, ARRAY);
	NUMBER(map_flags, MAPPED);
	NUMBER(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, struct paired_fault);
} paired_faults SEC(".maps");

struct {
	NUMBER(type, ARRAY);
	NUMBER(map_flags, MAPPED);
	NUMBER(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, struct written);
} paired_written SEC(".maps");

struct perf_sample_data {
	u64 addr;
	u64 phys_addr;
	u64 data_page_size;
} KERNEL;

struct bpf_perf_event_data_kern {
	struct perf_sample_data *data;
} KERNEL;

INLINE void look(struct paired_fault *fault, struct bpf_perf_event_data_kern *context)
{
	struct perf_sample_data *data = 0;

	read_kernel(&data, sizeof(data), &context->data);
	read_kernel(&fault->address, 3 * sizeof(u64), &data->addr);
}

/* Only this processor writes here, and is not interrupted by another fault while it does. */
INLINE void pair(void *context, u64 flags)
{
	u64 now = time_ns(), number;
	const struct task_struct *task = this_task();
	u32 thread = task->pid, here = processor(), slot;
	struct start *start = find_start(thread);
	struct written *written = map_lookup(&paired_written, &here);
	struct paired_fault *fault;

	if (!written)
		return;
	number = written->records;
	slot = here * records_each + (number & (records_each - 1));
	fault = map_lookup(&paired_faults, &slot);
	if (!fault)
		return;
	/* The reader takes a record only if its number is the same before and after; x86 keeps the order. */
	*(volatile u64 *)&fault->number = 0;
	BARRIER;
	fault->begun_ns = start ? start->ns : 0;
	fault->ended_ns = now;
	fault->process = task->tgid;
	fault->thread = thread;
	fault->flags = flags;
	look(fault, context);
	if (start)
		start->ns = 0;
	BARRIER;
	*(volatile u64 *)&fault->number = number + 1;
	BARRIER;
	*(volatile u64 *)&written->records = number + 1;
}

/* The event's own sample is not written after a fault without I/O, and is after one with it. */
SEC("perf_event") int paired_minor(void *context) { pair(context, 0); return 0; }
SEC("perf_event") int paired_major(void *context) { pair(context, MAJOR); return 1; }

#endif
