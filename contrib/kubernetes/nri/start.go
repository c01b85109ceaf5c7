package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

const (
	pluginName = "hugewise-nri"
	// startWord is the first argument of the entry point: start POLICY COMMAND...
	startWord = "start"
	// policyVariable tells a container the policy that it was started under.
	policyVariable = "HUGEWISE_POLICY"
	// trial is how long the policy may take on a program that ends at once.
	trial = 5 * time.Second
)

// start becomes the command of a container, under the policy where this container allows it and as it is elsewhere. It
// returns where there is no such command.
func start(policy string, command []string) error {
	program := filepath.Join(inside, programName)
	if err := try(program, policy); err != nil {
		log.Printf("starts as it is, %s is not possible here: %v", policy, err)
		return become(command, os.Environ())
	}
	environment := append(os.Environ(), policyVariable+"="+policy)
	return become(append([]string{program, "exec", "--policy", policy, "--"}, command...), environment)
}

// try starts a program that does nothing under the policy.
func try(program, policy string) error {
	_, err := output(context.Background(), trial, program, "exec", "--policy", policy, "--", program, "--version")
	return err
}

func become(command, environment []string) error {
	path, err := exec.LookPath(command[0])
	if err != nil {
		return err
	}
	return fmt.Errorf("%s: %w", path, syscall.Exec(path, command, environment))
}
