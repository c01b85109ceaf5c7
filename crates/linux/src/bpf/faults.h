/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Page faults one by one: begin and end are paired where they happen, so that one small record
 * leaves the kernel for each, and not two samples. The begin is that of the durations; the end is
 * a software event of the threads that are watched, which has the kernel look up the page.
 */
#ifndef FAULTS_H
#define FAULTS_H

/* include/uapi/linux/perf_event.h */
#define PHYSICAL_ADDRESS (1ULL << 19)
#define PAGE_SIZE_OF_DATA (1ULL << 22)

/* The kernel had looked up the page before we ran. */
#define LOOKED_UP 1
/* There was I/O. */
#define MAJOR 2

struct paired_fault {
	u64 begun_ns; /* 0: it began before it was watched */
	u64 ended_ns;
	u64 address;
	u64 physical; /* as the sample has it: 0 for a zero page */
	u64 page_bytes;
	u32 process;
	u32 thread;
	u32 processor;
	u32 flags; /* LOOKED_UP, MAJOR */
};

/* Where no faults are watched the loader leaves it as small as it is here. */
struct {
	NUMBER(type, RING);
	NUMBER(max_entries, 4096);
} paired_faults SEC(".maps");

struct perf_sample_data {
	u64 sample_flags;
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
	u64 flags = 0;

	read_kernel(&data, sizeof(data), &context->data);
	read_kernel(&flags, sizeof(flags), &data->sample_flags);
	read_kernel(&fault->address, sizeof(u64), &data->addr);
	read_kernel(&fault->physical, sizeof(u64), &data->phys_addr);
	read_kernel(&fault->page_bytes, sizeof(u64), &data->data_page_size);
	if ((flags & PHYSICAL_ADDRESS) && (flags & PAGE_SIZE_OF_DATA))
		fault->flags |= LOOKED_UP;
}

INLINE void pair(void *context, u32 flags)
{
	u64 now = time_ns(), begun = 0;
	const struct task_struct *task = this_task();
	struct start *start = find_start(number_of(task));
	struct paired_fault *fault;

	if (start) {
		begun = start->ns;
		start->ns = 0;
	}
	fault = ring_reserve(&paired_faults, sizeof(*fault), 0);
	if (!fault) {
		lose(0, 0, 1);
		return;
	}
	fault->begun_ns = begun;
	fault->ended_ns = now;
	fault->process = task->tgid;
	fault->thread = task->pid;
	fault->processor = processor();
	fault->flags = flags;
	look(fault, context);
	ring_submit(fault, NO_WAKEUP);
}

/* The event's own sample is not written after a fault without I/O, and is after one with it. */
SEC("perf_event") int paired_minor(void *context) { pair(context, 0); return 0; }
SEC("perf_event") int paired_major(void *context) { pair(context, MAJOR); return 1; }

#endif
