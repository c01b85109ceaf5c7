// Gives each container of a pod the arm of its pod, by the Node Resource Interface of containerd and CRI-O.
//
// A pod takes part by the annotation hugewise/experiment. Its plan is EXPERIMENT.toml in the folder of plans, its unit
// is NODE/POD, and the arm is what `hugewise fleet assign` says. docs/guide/fleet-pods.md has the installation.
package main

import (
	"context"
	"errors"
	"flag"
	"log"
	"os"
	"path/filepath"

	"github.com/containerd/nri/pkg/stub"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("hugewise-nri: ")
	if len(os.Args) > 3 && os.Args[1] == startWord {
		log.Fatal(start(os.Args[2], os.Args[3:]))
	}
	log.Fatal(serve())
}

// serve answers the runtime until it goes away; who supervises it starts it again.
func serve() error {
	plans := flag.String("plans", "/etc/hugewise/plans", "folder of plans, each NAME.toml")
	node := flag.String("node", hostName(), "name of this node")
	socket := flag.String("socket", "/var/run/nri/nri.sock", "socket of the runtime")
	flag.Parse()
	own, err := os.Executable()
	if err != nil {
		return err
	}
	folder := filepath.Dir(own)
	if err := checkStatic(filepath.Join(folder, programName)); err != nil {
		return err
	}
	arms := &arms{plans: *plans, folder: folder, node: *node}
	// The last index: other plugins have changed the command line by then.
	served, err := stub.New(arms, stub.WithPluginName("hugewise"), stub.WithPluginIdx("99"), stub.WithSocketPath(*socket))
	if err != nil {
		return err
	}
	if err := served.Run(context.Background()); err != nil {
		return err
	}
	return errors.New("the runtime went away")
}

func hostName() string {
	name, _ := os.Hostname()
	return name
}
