package app

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"strings"
	"sync/atomic"

	"github.com/ironic-throttle/ironic-throttle/internal/clusterhosts"
	"github.com/ironic-throttle/ironic-throttle/internal/config"
	"github.com/ironic-throttle/ironic-throttle/internal/disrupt"
	"github.com/ironic-throttle/ironic-throttle/internal/httpserve"
	"github.com/ironic-throttle/ironic-throttle/internal/kube"
	"github.com/ironic-throttle/ironic-throttle/internal/kube/events"
	"github.com/ironic-throttle/ironic-throttle/internal/kube/holds"
	"github.com/ironic-throttle/ironic-throttle/internal/kube/hosts"
	"github.com/ironic-throttle/ironic-throttle/internal/kube/leader"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// kubePart is what App has to do with the cluster; all of it is nil without one.
type kubePart struct {
	cluster   *kube.Cluster
	directory *hosts.Directory
	hosts     *clusterhosts.Hosts
	elector   *leader.Elector        // nil: the only replica
	label     *leader.Label          // of our pod; nil without elector
	holdMap   *holds.Options         // nil: the holds are not in ConfigMaps
	execution *disrupt.Runner        // nil: no plan is carried out
	begun     atomic.Bool            // this process decides, as far as its Lease goes
	waits     atomic.Pointer[string] // why a term cannot begin
}

// newKube finds the cluster, where one is wanted. Nothing is sent to it yet.
func (a *App) newKube(o *Options) (err error) {
	c := o.Config.Kubernetes
	if !c.On {
		return nil
	}
	a.cluster, err = kube.Connect(kube.Options{Kubeconfig: c.Kubeconfig, Namespace: c.Namespace, Version: a.version, Log: a.log, Transport: o.ClusterTransport})
	if err != nil {
		return err
	}
	identity, err := identityOf(c)
	if err != nil {
		return err
	}
	a.newOperator(o.Config, identity)
	a.hosts = clusterhosts.New(a.now, a.log)
	a.hosts.Leads = a.mayStart
	if a.directory, err = hosts.New(hosts.Options{
		Config: a.cluster.Config, Namespaces: c.Watch, Changed: a.hosts.Changed, Log: a.log, Now: a.now,
	}); err != nil {
		return err
	}
	a.hosts.Directory = a.directory
	if c.Events || c.AnnotatePosition {
		if a.hosts.Recorder, err = events.New(events.Options{
			Config: a.cluster.Config, Find: a.hosts.UID, Stands: a.hosts.Stands, PerMinute: c.EventsPerMinute,
			Silent: !c.Events, Annotate: c.AnnotatePosition, Instance: identity, Log: a.log, Now: a.now,
		}); err != nil {
			return err
		}
	}
	if name := o.Config.Holdoff.ConfigMap; name != "" {
		a.holdMap = &holds.Options{Config: a.cluster.Config, Namespace: a.cluster.Namespace, Name: name, Identity: identity, Log: a.log}
	}
	if !c.Leader.Elect {
		return nil
	}
	if a.elector, err = leader.New(leaderOptions(a, c, identity)); err != nil {
		return err
	}
	if a.holdMap != nil {
		a.holdMap.Leading = a.elector.Leading
	}
	a.label, err = leader.NewLabel(leader.LabelOptions{
		Config: a.cluster.Config, Namespace: a.cluster.Namespace, Pod: identity, Log: a.log,
		Leading: func() bool { return a.observes() || a.elector.Leading() },
	})
	return err
}

// identityOf is the name of our pod, else that of the machine.
func identityOf(c config.Kubernetes) (string, error) {
	if c.Identity != "" {
		return c.Identity, nil
	}
	name, err := os.Hostname()
	if err != nil {
		return "", fmt.Errorf("POD_NAME is not set, and there is no host name: %w", err)
	}
	return name, nil
}

func leaderOptions(a *App, c config.Kubernetes, identity string) leader.Options {
	return leader.Options{
		Config: a.cluster.Config, Namespace: a.cluster.Namespace, Name: c.Leader.LeaseName,
		// A container that was started anew in the same pod is another process.
		Identity: leader.Holder(identity, strings.ToLower(rand.Text()[:8])),
		Duration: c.Leader.Duration, RenewDeadline: c.Leader.RenewDeadline(), RetryPeriod: c.Leader.RetryPeriod(),
		Log: a.log,
	}
}

// observes reports whether nothing is refused now, whoever leads.
func (a *App) observes() bool { return a.force.Load().config.Mode == config.Observe }

// mayStart reports whether this process may say yes.
func (a *App) mayStart() bool {
	return a.begun.Load() && (a.elector == nil || a.elector.Leading())
}

// standby tells why this process does not decide, or did not a moment ago.
func (a *App) standby() string {
	if a.elector != nil {
		if s := a.elector.Status(); !s.Leading {
			if fault := a.label.Fault(); fault != nil {
				return s.Standby() + "; " + fault.Error()
			}
			return s.Standby()
		}
	}
	if why := a.waits.Load(); why != nil {
		return *why
	}
	if a.holdMap != nil {
		return "the holds of failed hosts are being read from their ConfigMaps"
	}
	return "it has just begun to lead"
}

// couldLead reports whether this process stands by and could take over: it
// campaigns, and as a leader its Services would find it.
func (a *App) couldLead() bool {
	return a.elector != nil && a.elector.Campaigns() && a.label.Fault() == nil
}

// standBy keeps the label off our pod until a term begins or ctx ends. In mode observe all
// replicas have it: nothing is refused, whoever leads.
func (a *App) standBy(ctx context.Context) { a.label.KeepIf(ctx, a.observes) }

// carryLabel lets Services find this process, which leads, until ctx ends.
func (a *App) carryLabel(ctx context.Context) error {
	former := a.elector.Former()
	if a.observes() {
		former = ""
	}
	a.label.KeepOn(ctx, former)
	a.label.Off()
	return nil
}

// showCluster is what the status tells of the cluster; nil without one.
func (a *App) showCluster() *api.Cluster {
	c := a.hosts.Show()
	if c != nil {
		c.Operator = a.showOperator()
	}
	if c != nil && a.elector != nil {
		l := a.elector.Status()
		c.Leader = &api.Leader{Leads: l.Leading, Identity: l.Identity, Holder: l.Holder, Since: l.Since}
		if l.Err != nil {
			c.Leader.LastError = l.Err.Error()
		}
	}
	return c
}

// presentWarnings are those that come and go with time.
func (a *App) presentWarnings() []string {
	out := append(a.hosts.Warnings(), a.operatorWarnings()...)
	if a.elector != nil {
		if s := a.elector.Status(); s.Err != nil {
			out = append(out, fmt.Sprintf("the Lease %s cannot be renewed or read: %v", a.force.Load().config.Kubernetes.Leader.LeaseName, s.Err))
		}
		if fault := a.label.Fault(); fault != nil {
			out = append(out, "Services may not find the leader: "+fault.Error())
		}
	}
	if !a.mayStart() && a.observes() {
		out = append(out, "this throttle does not decide, and lets everything pass, for its mode is observe: "+a.standby())
	} else if why := a.waits.Load(); why != nil {
		out = append(out, *why)
	}
	if a.execution != nil {
		out = append(out, a.execution.Status().Warnings(a.now())...)
	}
	for _, c := range []*httpserve.InUse{a.api.cert, a.metrics.cert, a.gatewayCert} {
		if fault := c.Fault(); fault != "" {
			out = append(out, fault)
		}
	}
	return out
}

// runAnnotations puts the hold-offs that hosts ask for over the settings in force, until ctx
// ends.
func (a *App) runAnnotations(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-a.hosts.HoldoffsChanged():
		}
		if err := a.forceHoldoffs(); err != nil { // each value was checked
			a.log.Error("hold-offs of single hosts cannot be put in force", "error", err)
		}
	}
}

func (a *App) forceHoldoffs() error {
	a.forcing.Lock()
	defer a.forcing.Unlock()
	holds, quota, err := a.holdoffConfig(a.force.Load().config.Holdoff)
	if err != nil {
		return err
	}
	return a.controller.SetHoldoff(a.now(), holds, quota)
}
