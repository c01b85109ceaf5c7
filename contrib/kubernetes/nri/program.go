package main

import (
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"
)

// output is what a program says within a time; the error has what it complains of.
func output(ctx context.Context, limit time.Duration, program string, words ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	command := exec.CommandContext(ctx, program, words...)
	// What it started may outlive it, and would keep its output open.
	command.WaitDelay = limit / 10
	said, err := command.Output()
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		return "", fmt.Errorf("%w: %s", err, strings.TrimSpace(string(failed.Stderr)))
	}
	return string(said), err
}

// checkStatic refuses a program that needs a loader: an image need not have one.
func checkStatic(program string) error {
	file, err := elf.Open(program)
	if err != nil {
		return err
	}
	defer file.Close()
	for _, part := range file.Progs {
		if part.Type == elf.PT_INTERP {
			return fmt.Errorf("%s is dynamically linked: containers need the static program of a release", program)
		}
	}
	return nil
}
