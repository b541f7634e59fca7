//go:build e2e

// Package bmo runs the whole system: a released BareMetal Operator as it is, a real API
// server, the product, and a real Ironic in which only the hardware is pretended. What
// happened is read from Ironic's own database.
package bmo

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/child"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/realkube"
)

// The programs, there for all tests: hack/bmo/install.sh and hack/ironic/chroot.sh print
// the folders, BMO_ASSETS and IRONIC_CHROOT name them.
var (
	product      string // the product
	operatorPath string // the operator
	chroot       string // where Ironic is installed
)

// cluster is the API server that all storms share; each takes namespaces of its own.
var cluster *realkube.Kube

// prepared runs the tests with all of that there.
type prepared struct{ *testing.M }

func (p prepared) Run() int {
	remove, err := prepare()
	defer remove()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return p.M.Run()
}

func prepare() (remove func(), err error) {
	remove = func() {}
	assets := os.Getenv("BMO_ASSETS")
	operatorPath, chroot = filepath.Join(assets, "baremetal-operator"), os.Getenv("IRONIC_CHROOT")
	if assets == "" || chroot == "" {
		return remove, fmt.Errorf("BMO_ASSETS %q and IRONIC_CHROOT %q: must be what hack/bmo/install.sh and hack/ironic/chroot.sh print", assets, chroot)
	}
	if product, remove, err = child.BuildProduct(); err != nil {
		return func() {}, err
	}
	if cluster, err = realkube.Start(context.Background(), realkube.Options{}); err != nil {
		return remove, err
	}
	removeProduct := remove
	remove = func() {
		cluster.Stop()
		removeProduct()
	}
	return remove, cluster.InstallCRDsFrom(context.Background(), filepath.Join(assets, "crds"))
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(prepared{m}) }
