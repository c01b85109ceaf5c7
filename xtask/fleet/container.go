// Says what it was started with: what containers of a pod tell of their arm. With `wait` it stays until a signal, as
// the first container of a pod does.
package main

import (
	"encoding/json"
	"os"
	"os/signal"
	"regexp"
	"syscall"
)

func main() {
	// Huge pages of this process, by the kernel: 0 where they are forbidden.
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		panic(err)
	}
	huge := regexp.MustCompile(`(?m)^THP_enabled:\s*(\d)$`).FindSubmatch(status)
	told := map[string]any{"args": os.Args[1:], "environment": os.Environ(), "number": os.Getpid()}
	if huge != nil {
		told["huge"] = string(huge[1])
	}
	if err := json.NewEncoder(os.Stdout).Encode(told); err != nil {
		panic(err)
	}
	if len(os.Args) > 1 && os.Args[1] == "wait" {
		ended := make(chan os.Signal, 1)
		signal.Notify(ended, syscall.SIGTERM, syscall.SIGINT)
		<-ended
	}
}
