//go:build e2e

// Package kube runs the product against a real Kubernetes API server, and a fake Ironic.
package kube

import (
	"context"
	"flag"
	"fmt"
	"os"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/child"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/realkube"
)

// cluster is the API server that all tests share; each takes namespaces of its own.
var cluster *realkube.Kube

// second is the API server of workload clusters, which the first test that needs it starts.
var second struct {
	sync.Once
	*realkube.Kube

	err error
}

// workloads is the API server of workload clusters. It has no CustomResourceDefinitions.
func workloads(t *testing.T) *realkube.Kube {
	t.Helper()
	second.Do(func() { second.Kube, second.err = realkube.Start(context.Background(), realkube.Options{}) })
	if second.err != nil {
		t.Fatal(second.err)
	}
	return second.Kube
}

// binary is the product, built once for all tests.
var binary string

// prepared runs the tests with the API server there.
type prepared struct{ *testing.M }

func (p prepared) Run() int {
	program, remove, err := child.BuildProduct()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer remove()
	binary = program
	k, err := realkube.Start(context.Background(), realkube.Options{})
	if err == nil {
		defer k.Stop()
		err = k.InstallCRDs(context.Background())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	cluster = k
	defer func() {
		if second.Kube != nil {
			second.Stop()
		}
	}()
	// Most tests mostly wait.
	flag.Parse()
	if err := flag.Set("test.parallel", "24"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer gatewayClient.CloseIdleConnections()
	return p.M.Run()
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(prepared{m}) }
