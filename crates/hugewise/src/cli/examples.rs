//! Examples for the end of each verb's help.

/// The verbs as they are typed, each with its examples.
const EXAMPLES: [(&str, &str); 32] = [
    (
        "run",
        "
  # Do huge pages help this program?
  hugewise run -- ./prog --size 10
  # The system-wide setting too, in five minutes
  hugewise run --system --max-time 5m -- ./prog
  # More rounds for the last record
  hugewise run --continue last --max-time 2m
  # Two policies, judged by what the program prints
  hugewise run --policy as-is --policy malloc=thp \\
    --metric 'tps:1/s:higher=tps = ([0-9.]+)' -- ./prog
  # Old against new, with and without huge pages
  hugewise run --matrix program=./old,./new --matrix thp=never,always \\
    -- --size 10
  # A server under load
  hugewise run --service 'redis-server --port {port} --dir {dir}' \\
    --ready tcp:{port} --latency redis-benchmark \\
    --load 'redis-benchmark -p {port} -t set -r 100000 -n 100000 -d 1024' \\
    --judge-by set_throughput_per_second",
    ),
    (
        "report",
        "
  # The newest record, with everything
  hugewise report -v last
  # The last two against each other
  hugewise report last~1 last
  # A copy to share
  hugewise report --redact --out share.jsonl last
  # Fail a pipeline
  hugewise report --fail-if 'wall_seconds > +2%' record.jsonl",
    ),
    (
        "history",
        "
  # Everything that was measured here
  hugewise history
  # One command over time
  hugewise history -- sort -n
  # The records of a pipeline
  hugewise history --folder records/ --format json",
    ),
    (
        "bench",
        "
  # Speed of memory by block size
  hugewise bench memory
  # Cost of prefaulting 1 GiB
  hugewise bench prefault --sizes 1G",
    ),
    (
        "bench memory",
        "
  # Copies that fit the caches and that do not
  hugewise bench memory --ops copy --sizes 64K,256M
  # As a picture
  hugewise bench memory --svg memory.svg",
    ),
    (
        "bench latency",
        "
  # Up to 1 GiB
  hugewise bench latency --to 1G
  # Small and huge pages as curves
  hugewise bench latency --pages 4k,2m --svg latency.svg",
    ),
    (
        "bench prefault",
        "
  # Two methods
  hugewise bench prefault --methods store,populate-write
  # With one thread and with four
  hugewise bench prefault --sizes 1G --threads 1,4",
    ),
    (
        "bench growth",
        "
  # Steps of 1 MiB against 4 MiB
  hugewise bench growth --steps 1M,4M
  # A heap grown by brk
  hugewise bench growth --means brk",
    ),
    (
        "bench heap",
        "
  # The heaps of Go and of glibc
  hugewise bench heap --programs go,glibc
  # Up to 256 MiB
  hugewise bench heap --heap 256M",
    ),
    (
        "bench fork",
        "
  # A process of 1 GiB
  hugewise bench fork --sizes 1G
  # More writes after the fork
  hugewise bench fork --writes 1000000",
    ),
    (
        "bench slab",
        "
  # All page sizes and ways of prefaulting
  hugewise bench slab
  # Two allocators
  hugewise bench slab --allocators=glibc,jemalloc",
    ),
    (
        "bench fragment",
        "
  # Free memory 50 % and 90 % fragmented
  sudo hugewise bench fragment --system --to 50%,90%
  # More memory in each state
  sudo hugewise bench fragment --system --sizes 256M",
    ),
    (
        "stat",
        "
  # The whole machine, a line per second
  hugewise stat
  # A process for ten seconds
  hugewise stat -p 1234 --duration 10s
  # A command, recorded
  hugewise stat --json stat.jsonl -- ./prog",
    ),
    (
        "watch",
        "
  # Until q; ? has the keys
  hugewise watch
  # One moment as text
  hugewise watch --once
  # Recorded, and shown again
  hugewise watch --record watch.jsonl
  hugewise watch --replay watch.jsonl",
    ),
    (
        "misses",
        "
  # A process for ten seconds
  hugewise misses -p 1234 --duration 10s
  # A command, recorded for later
  hugewise misses --out misses.jsonl -- ./prog
  # The recording again
  hugewise misses --replay misses.jsonl",
    ),
    (
        "simulate",
        "
  # The TLB of this machine
  hugewise simulate -- ./prog
  # Another processor, longer
  hugewise simulate --cpu skylake --max-accesses 1000000000 -- ./prog",
    ),
    (
        "trace",
        "
  # The rare stalls, until Ctrl-C
  sudo hugewise trace
  # Compaction and reclaim, every 5 s
  sudo hugewise trace compaction reclaim -I 5s
  # A kernel function
  sudo hugewise trace --duration 10s do_huge_pmd_anonymous_page",
    ),
    (
        "attribute",
        "
  # Which of the large mappings of this program earn the effect?
  hugewise attribute -- ./prog --size 10
  # By the lines of source that map them; keep those that help
  hugewise attribute --by site --sites prog.sites -- ./prog --size 10",
    ),
    (
        "live",
        "
  # Do huge pages help this server, as it runs now?
  sudo hugewise live 1234
  # What would be switched, and what it may cost
  sudo hugewise live --dry-run 1234
  # A long program, started again whenever it ends
  sudo hugewise live -- xz -6 -k -c FILE
  # Work by a metric of its own; end when it refuses connections
  sudo hugewise live 1234 --work http://127.0.0.1:9100/metrics#requests_total \\
    --guard 'redis:6379#rejected_connections > 0'",
    ),
    (
        "collapse",
        "
  # What would become huge
  hugewise collapse --dry-run 1234
  # At most 1 GiB of the heap
  sudo hugewise collapse --mapping '[heap]' --max-bytes 1G 1234",
    ),
    (
        "inspect",
        "
  # A process by name or PID
  hugewise inspect redis-server
  # Its heap alone, with all evidence
  hugewise inspect -v --mapping '[heap]' 1234
  # What huge pages would add and could gain
  hugewise inspect --forecast 1234
  # What a reason means
  hugewise inspect --explain VMA_SMALL",
    ),
    (
        "faults",
        "
  # A command
  hugewise faults -- ./prog
  # A process for ten seconds, as a flame graph
  hugewise faults -p 1234 --duration 10s --flame faults.svg",
    ),
    (
        "exec",
        "
  # malloc with huge pages
  hugewise exec --policy malloc=thp -- ./prog
  # Memory in use becomes huge 10 s after the start, without root
  hugewise exec --policy collapse=after:10s -- ./prog
  # Its code in huge pages
  hugewise exec --policy text=huge -- ./prog
  # The same in the page cache, shared and with symbols
  hugewise exec --policy text=file -- ./prog
  # A system setting for the time of the command
  sudo hugewise exec --system --policy thp=always -- ./prog",
    ),
    (
        "advise",
        "
  # What to set for what runs here
  hugewise advise
  # For one program, with reasons and sources
  hugewise advise -v redis-server
  # For a version that does not run here
  hugewise advise --app postgresql=17
  # Files that make it last, to review
  hugewise advise --write ./advice redis-server",
    ),
    (
        "doctor",
        "
  # What can be measured here
  hugewise doctor
  # Restore what a killed experiment left
  sudo hugewise doctor --undo",
    ),
    (
        "completions",
        "
  # For bash
  hugewise completions bash \\
    > ~/.local/share/bash-completion/completions/hugewise
  # For fish
  hugewise completions fish > ~/.config/fish/completions/hugewise.fish",
    ),
    (
        "export",
        "
  # Look once
  hugewise export --once
  # Answer Prometheus, on this machine only
  hugewise export
  # For node_exporter, every 15 s
  hugewise export --textfile /var/lib/prometheus/node-exporter
  # With the reasons of a program's small memory
  hugewise export --group 'db=postgres*'",
    ),
    (
        "fleet",
        "
  # The arms of two hosts
  hugewise fleet assign plan.toml web-1 web-2
  # Carry out the arm of this host
  sudo hugewise fleet agent plan.toml",
    ),
    (
        "fleet assign",
        "
  # The arms of two hosts
  hugewise fleet assign plan.toml web-1 web-2
  # Those of a list
  hugewise fleet assign plan.toml --format csv < hosts.txt
  # The same function for DuckDB
  hugewise fleet assign plan.toml --as sql",
    ),
    (
        "fleet agent",
        "
  # The arm of this host, until the plan ends
  sudo hugewise fleet agent /etc/hugewise/plan.toml \\
    --out /var/lib/hugewise/fleet
  # One period, for a job of Slurm or Ansible
  sudo hugewise fleet agent plan.toml --once --out rows",
    ),
    (
        "fleet analyse",
        "
  # What the rows of all hosts show
  hugewise fleet analyse /srv/fleet --plan plan.toml
  # A metric of your own decides
  hugewise fleet analyse rows --lower checkout_seconds",
    ),
    (
        "man",
        "
  # Read a page
  hugewise man run | man -l -
  # The page of a bench
  hugewise man bench-memory > hugewise-bench-memory.1
  # All pages, for a package
  hugewise man --all /usr/share/man/man1",
    ),
];

/// The examples of a verb as text; empty if it has none.
pub fn text(verb: &str) -> String {
    let found = EXAMPLES.iter().find(|(name, _)| *name == verb);
    found.map_or_else(String::new, |(_, examples)| format!("Examples:{examples}"))
}
