// A control plane of Kubernetes without a kubelet, and kubectl, as one program: the first argument
// says which. Debian packages none of them.
package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	kubectl "k8s.io/kubectl/pkg/cmd"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllers "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
)

func main() {
	commands := map[string]func() *cobra.Command{
		"kube-apiserver":          apiserver.NewAPIServerCommand,
		"kube-controller-manager": controllers.NewControllerManagerCommand,
		"kube-scheduler":          func() *cobra.Command { return scheduler.NewSchedulerCommand() },
		"kubectl":                 kubectl.NewDefaultKubectlCommand,
	}
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "which program?")
		os.Exit(2)
	}
	os.Args = os.Args[1:]
	if os.Args[0] == "etcd" {
		etcdmain.Main(os.Args)
		return
	}
	command, known := commands[os.Args[0]]
	if !known {
		fmt.Fprintln(os.Stderr, "no such program:", os.Args[0])
		os.Exit(2)
	}
	os.Exit(cli.Run(command()))
}
