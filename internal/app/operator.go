package app

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/config"
	"github.com/ironic-throttle/ironic-throttle/internal/kube"
	"github.com/ironic-throttle/ironic-throttle/internal/kube/capi"
	"github.com/ironic-throttle/ironic-throttle/internal/kube/tell"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// othersEvery is the time from one read of the settings of BMO and Cluster API to the next.
const othersEvery = time.Minute

// operatorPart reads the settings of BMO and Cluster API, and finds Ironic. It is empty without a cluster.
type operatorPart struct {
	bmo    kube.BMO
	finder *kube.Finder // nil: IRONIC_ENDPOINT says where Ironic is
	warner *tell.Warner
	others atomic.Pointer[others] // nil: not read yet
}

// others is what App last read of BMO's Deployment and of MachineHealthChecks. It is immutable.
type others struct {
	operator    api.Operator
	bmo, checks []string // warnings
}

// newOperator makes the reader of BMO's Deployment and, without IRONIC_ENDPOINT, the finder of Ironic. It sends nothing
// yet. Mounted credentials and a mounted CA certificate go before those of BMO.
func (a *App) newOperator(c config.Config) {
	a.bmo = kube.BMO{
		Client: a.cluster.Client, Deployment: c.Kubernetes.Operator, Namespace: a.cluster.Namespace,
		Own: c.OwnGateway,
	}
	a.warner = &tell.Warner{Client: a.cluster.Client, Instance: a.identity, Log: a.log}
	moved := func() { a.controller.Unsettle(a.now()) }
	switch to := c.Ironic; {
	case to.Name != "":
		namespace := cmp.Or(c.IronicNamespace(), a.cluster.Namespace)
		a.finder = kube.NewFinder(kube.IrSO{Client: a.cluster.Client, Namespace: namespace, Name: to.Name}.Look, moved, a.log)
	case to.Endpoint == "":
		_, noCredentials := os.Stat(filepath.Join(to.AuthRootDir, "ironic"))
		_, noAuthority := os.Stat(to.CACertFile)
		a.bmo.HasCredentials, a.bmo.HasAuthority = noCredentials == nil, noAuthority == nil
		a.finder = kube.NewFinder(a.bmo.Look, moved, a.log)
	}
}

// runOthers compares the settings of BMO and Cluster API with the limit, every minute until ctx ends. The warner tells
// each warning once.
func (a *App) runOthers(ctx context.Context) error {
	tick := time.NewTicker(othersEvery)
	defer tick.Stop()
	last, unread := others{operator: api.Operator{Deployment: a.bmo.Name()}}, ""
	for {
		a.lookAtBMO(ctx, &last)
		checks, err := capi.Look(ctx, a.cluster.Client, a.machinesWaiting())
		switch {
		case ctx.Err() != nil:
			return nil
		case err == nil:
			unread, last.checks = "", nil
		case err.Error() != unread:
			unread = err.Error()
			a.log.Info("MachineHealthChecks of Cluster API cannot be read (component kubernetes gives the right), so the throttle "+
				"does not warn of those that remove Machines whose hosts wait: trying again every minute", "error", err)
		}
		for _, w := range checks {
			last.checks = append(last.checks, w.Text)
			a.warner.Warn(ctx, w.On, capi.Reason, w.Text)
		}
		now := last
		a.others.Store(&now)
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// lookAtBMO reads BMO's workers and limit. If it cannot, last keeps what it had, and the error.
func (a *App) lookAtBMO(ctx context.Context, last *others) {
	read, on, err := a.bmo.Workers(ctx)
	if err != nil {
		if last.operator.LastError == "" && ctx.Err() == nil {
			a.log.Warn("how many workers BMO has cannot be read, so nothing compares them with the limit: trying again every minute",
				"error", err)
		}
		last.operator.LastError = err.Error()
		return
	}
	c := a.force.Load().config
	limit, workers, from := c.Limits.Total, c.BMOConcurrency, "" // a BMO_CONCURRENCY that is set wins
	if workers == 0 {
		workers, from = read.Workers, fmt.Sprintf(" (BMO's Deployment %s, %s)", read.Deployment, read.WorkersFrom)
	}
	*last = others{operator: read, checks: last.checks}
	if workers > limit {
		text := config.TooManyWorkers(workers, limit) + from
		a.warner.Warn(ctx, on, kube.ReasonWorkers, text)
		if from != "" { // else the settings say it
			last.bmo = append(last.bmo, text)
		}
	}
	if c.Gateway.Listen != "" && read.Limit > 0 && read.Limit != limit {
		last.bmo = append(last.bmo, fmt.Sprintf("PROVISIONING_LIMIT of BMO's Deployment %s is %d, and the limit is %d: "+
			"set it to %[3]d too, so that BMO shows hosts that wait as delayed, and asks every one to two minutes",
			read.Deployment, read.Limit, limit))
	}
}

// mostWaits bounds the hosts of each pool that machinesWaiting looks at. Those behind them wait at least as long.
const mostWaits = 5000

// machinesWaiting returns the Metal3Machines whose hosts wait for a slot, and how long each waits in all. Nine of ten
// wait no longer than that.
func (a *App) machinesWaiting() map[capi.Machine]time.Duration {
	all := map[capi.Machine]time.Duration{}
	for _, pool := range a.controller.QueueOf(a.now(), api.QueueQuery{Limit: mostWaits}).Pools {
		for _, queued := range pool.Hosts {
			namespace, name, _ := strings.Cut(queued.Name, "~")
			host, known := a.hosts.Find(namespace, name, queued.NodeUUID)
			if !known || host.Machine == "" {
				continue
			}
			seconds := queued.WaitedSeconds
			if queued.AtMostSeconds != nil {
				seconds += *queued.AtMostSeconds
			}
			machine := capi.Machine{Namespace: host.Tenant, Name: host.Machine}
			all[machine] = max(all[machine], time.Duration(seconds*float64(time.Second)))
		}
	}
	return all
}
