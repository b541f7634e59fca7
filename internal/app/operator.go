package app

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/config"
	"github.com/ironic-throttle/ironic-throttle/internal/kube/capi"
	"github.com/ironic-throttle/ironic-throttle/internal/kube/find"
)

// operatorEvery is how often BMO's Deployment is read for its workers.
const operatorEvery = time.Minute

// operatorPart is what App has to do with BMO's Deployment and the place of Ironic; empty without a cluster.
type operatorPart struct {
	bmo    find.BMO
	finder *find.Finder                 // nil: IRONIC_ENDPOINT says where Ironic is
	known  atomic.Pointer[find.Workers] // as last read; nil before that
	health *capi.Checks                 // nil without a cluster
}

// newOperator finds out how to read BMO's Deployment and, where IRONIC_ENDPOINT is not set, how Ironic is found. Nothing is
// sent yet. Credentials and authority that are mounted go before those of BMO.
func (a *App) newOperator(c config.Config, identity string) {
	a.bmo = find.BMO{
		Client: a.cluster.Client, Deployment: c.Kubernetes.Operator, Namespace: a.cluster.Namespace,
		CPUs: runtime.NumCPU(), Own: c.Gateway.Own, Instance: identity,
	}
	a.health = &capi.Checks{Client: a.cluster.Client, Waits: a.machinesWaiting, Events: c.Kubernetes.Events, Instance: identity, Log: a.log}
	moved := func() { a.controller.Unsettle(a.now()) }
	switch to := c.Ironic; {
	case to.Name != "":
		namespace := cmp.Or(c.IronicNamespace(), a.cluster.Namespace)
		a.finder = find.New(find.IrSO{Client: a.cluster.Client, Namespace: namespace, Name: to.Name}.Look, moved, a.log)
	case to.Endpoint == "":
		_, noCredentials := os.Stat(filepath.Join(to.AuthRootDir, "ironic"))
		_, noAuthority := os.Stat(to.CACertFile)
		a.bmo.HasCredentials, a.bmo.HasAuthority = noCredentials == nil, noAuthority == nil
		a.finder = find.New(a.bmo.Look, moved, a.log)
	}
}

// runOperator looks at BMO's workers every minute until ctx ends. The warning about them goes to the log and onto the
// Deployment, once for each text.
func (a *App) runOperator(ctx context.Context) error {
	tick := time.NewTicker(operatorEvery)
	defer tick.Stop()
	for logged, event := "", ""; ; {
		a.lookAtOperator(ctx)
		text, c := a.workersWarning(), a.force.Load().config
		news := text != logged
		if logged = text; news && text != "" && c.BMOConcurrency == 0 { // else the settings have told it
			a.log.Warn("BMO", "warning", text)
		}
		if k := a.known.Load(); text == "" {
			event = ""
		} else if text != event && c.Kubernetes.Events && k != nil && k.Read() {
			err := a.bmo.Warn(ctx, *k, text)
			if err == nil {
				event = text
			} else if news && ctx.Err() == nil {
				a.log.Warn("BMO's Deployment gets no Event about its workers: tried again every minute", "error", err)
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// lookAtOperator reads BMO's workers. With an error what was known stays.
func (a *App) lookAtOperator(ctx context.Context) {
	workers, err := a.bmo.Workers(ctx)
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		before := a.known.Load()
		if before == nil || before.LastError == "" {
			a.log.Warn("how many workers BMO has cannot be read, and what is not known is not compared with the limit: tried again every minute",
				"deployment", a.bmo.Name(), "error", err)
		}
		if before != nil && before.Read() {
			workers = *before
		}
		workers.LastError = err.Error()
	}
	a.known.Store(&workers)
}

// workersWarning says that BMO has more workers than there are slots; "" when it has not, or nobody knows. What was set by
// hand wins.
func (a *App) workersWarning() string {
	c, k := a.force.Load().config, a.known.Load()
	limit := c.Limits.Total
	switch {
	case c.BMOConcurrency > limit:
		return config.TooManyWorkers(c.BMOConcurrency, limit)
	case c.BMOConcurrency > 0 || k == nil || k.Workers <= limit:
		return ""
	case k.Estimated:
		return fmt.Sprintf("BMO_CONCURRENCY of BMO's Deployment %s is not set: by %s it has %d workers, which is greater than the limit of %d: "+
			"more workers than slots. An estimate: its machine may have other CPUs", a.bmo.Name(), k.WorkersFrom, k.Workers, limit)
	}
	return fmt.Sprintf("%s (BMO's Deployment %s, %s)", config.TooManyWorkers(k.Workers, limit), a.bmo.Name(), k.WorkersFrom)
}

// limitWarning says that BMO, which meets the gateway, has another limit than the throttle; "" when it has not, or nobody
// knows.
func (a *App) limitWarning() string {
	c, k := a.force.Load().config, a.known.Load()
	limit := c.Limits.Total
	if c.Gateway.Listen == "" || k == nil || k.Limit == 0 || k.Limit == limit {
		return ""
	}
	return fmt.Sprintf("PROVISIONING_LIMIT of BMO's Deployment %s is %d, and the limit is %d: set it to %d too, "+
		"so that hosts that wait are shown as delayed, and ask every one to two minutes", a.bmo.Name(), k.Limit, limit, limit)
}

// operatorWarnings are those of BMO's settings, of Ironic's place and of MachineHealthChecks.
func (a *App) operatorWarnings() (out []string) {
	if a.finder != nil {
		out = append(out, a.finder.Fault())
	}
	if a.force.Load().config.BMOConcurrency == 0 { // else the settings say it
		out = append(out, a.workersWarning())
	}
	out = append(out, a.limitWarning())
	if a.health != nil {
		out = append(out, a.health.Warnings()...)
	}
	return slices.DeleteFunc(out, func(text string) bool { return text == "" })
}

// settings are those in force, and where Ironic was found.
func (a *App) settings() map[string]string {
	all := a.force.Load().settings
	if a.finder == nil {
		return all
	}
	if url := a.finder.URL(); url != "" {
		all = maps.Clone(all)
		all["ironicEndpoint"] = url
	}
	return all
}
