package main

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/containerd/nri/pkg/api"
)

const (
	// annotation of a pod names its experiment.
	annotation = "hugewise/experiment"
	// armVariable tells a container the arm of its pod.
	armVariable = "HUGEWISE_ARM"
	// asIs is the policy that changes nothing.
	asIs        = "as-is"
	programName = "hugewise"
	// inside is where containers see the folder of both programs.
	inside = "/.hugewise"
	// patience is below the two seconds after which containerd cuts a plugin off.
	patience = time.Second
)

// arms answers for the containers of this node.
type arms struct {
	plans, folder, node string
}

// CreateContainer says what to change. It never returns an error: that would stop the container.
func (a *arms) CreateContainer(ctx context.Context, pod *api.PodSandbox, container *api.Container) (*api.ContainerAdjustment, []*api.ContainerUpdate, error) {
	experiment, takesPart := pod.GetAnnotations()[annotation]
	if !takesPart {
		return nil, nil, nil
	}
	unit := a.node + "/" + pod.GetName()
	arm, policy, err := a.assign(ctx, experiment, unit)
	if err == nil {
		_, err = os.Stat(filepath.Join(a.folder, pluginName))
	}
	if err != nil {
		log.Printf("%s, container %s, starts without an arm: %v", unit, container.GetName(), err)
		return nil, nil, nil
	}
	log.Printf("%s, container %s: arm %s of %s, policy %s", unit, container.GetName(), arm, experiment, policy)
	return a.adjusted(container.GetArgs(), arm, policy), nil, nil
}

// adjusted tells the arm, and puts the start under the policy before the command.
func (a *arms) adjusted(command []string, arm, policy string) *api.ContainerAdjustment {
	adjustment := &api.ContainerAdjustment{}
	adjustment.AddEnv(armVariable, arm)
	if policy == asIs {
		return adjustment
	}
	adjustment.AddMount(&api.Mount{
		Source: a.folder, Destination: inside, Type: "bind", Options: []string{"bind", "ro", "nosuid", "nodev"},
	})
	own := filepath.Join(inside, pluginName)
	adjustment.UpdateArgs(append([]string{own, startWord, policy}, command...))
	return adjustment
}

// assign asks the program for the arm of a unit and its policy.
func (a *arms) assign(ctx context.Context, experiment, unit string) (arm, policy string, err error) {
	if experiment != filepath.Base(experiment) {
		return "", "", fmt.Errorf("%q is no name of an experiment", experiment)
	}
	plan := filepath.Join(a.plans, experiment+".toml")
	said, err := output(ctx, patience, filepath.Join(a.folder, programName), "fleet", "assign", plan, unit)
	if err != nil {
		return "", "", err
	}
	return armAndPolicy(said)
}

func armAndPolicy(table string) (arm, policy string, err error) {
	rows, err := csv.NewReader(strings.NewReader(table)).ReadAll()
	if err != nil {
		return "", "", err
	}
	if len(rows) != 2 {
		return "", "", fmt.Errorf("the assignment has %d lines, not 2", len(rows))
	}
	values := map[string]string{}
	for column, name := range rows[0] {
		values[name] = rows[1][column]
	}
	if values["arm"] == "" || values["policy"] == "" {
		return "", "", errors.New("the assignment has no arm or no policy")
	}
	return values["arm"], values["policy"], nil
}
