// A heap that grows to 500 MiB, of which the runtime gives most back: every hundredth block of 8 KiB stays in use. How much memory is resident
// three seconds later?
package main

import (
	"fmt"
	"os"
	"runtime/debug"
	"time"
)

func main() {
	live := make([][]byte, 64_000)
	for nth := range live {
		live[nth] = make([]byte, 8192)
		for at := range live[nth] {
			live[nth][at] = 1
		}
	}
	for nth := range live {
		if nth%100 != 0 {
			live[nth] = nil
		}
	}
	debug.FreeOSMemory()
	fmt.Println("given back:", resident())
	time.Sleep(3 * time.Second)
	fmt.Println("kept:", resident(), len(live[0]))
}

func resident() int {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		panic(err)
	}
	var size, pages int
	fmt.Sscan(string(text), &size, &pages)
	return pages * os.Getpagesize()
}
