/* probe FILE OFFSET WORDS...: runs FILE with these words and prints how often it passed the offset, counted by a uprobe. */
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int count, char **words) {
    FILE *type = fopen("/sys/bus/event_source/devices/uprobe/type", "r");
    struct perf_event_attr event;
    int ready[2];
    char byte = 0;
    unsigned long long hits = 0;
    memset(&event, 0, sizeof event);
    event.size = sizeof event;
    if (count < 3 || !type || fscanf(type, "%u", &event.type) != 1 || pipe(ready)) return 1;
    event.config1 = (unsigned long)words[1];
    event.config2 = strtoull(words[2], 0, 10);
    event.disabled = event.enable_on_exec = event.inherit = 1;
    int child = fork();
    if (!child) {
        words[2] = words[1];
        if (read(ready[0], &byte, 1) == 1) execv(words[1], words + 2);
        _exit(1);
    }
    int counter = syscall(SYS_perf_event_open, &event, child, -1, -1, 0);
    if (counter < 0 || write(ready[1], &byte, 1) != 1) return 2;
    int status;
    if (waitpid(child, &status, 0) != child || status) return 3;
    if (read(counter, &hits, sizeof hits) != sizeof hits) return 4;
    printf("%llu\n", hits);
}
