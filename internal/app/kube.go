package app

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/clusterhosts"
	"github.com/ironic-throttle/ironic-throttle/internal/config"
	"github.com/ironic-throttle/ironic-throttle/internal/kube"
	"github.com/ironic-throttle/ironic-throttle/internal/kube/execute"
	"github.com/ironic-throttle/ironic-throttle/internal/kube/hosts"
	"github.com/ironic-throttle/ironic-throttle/internal/kube/lead"
	"github.com/ironic-throttle/ironic-throttle/internal/kube/tell"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// kubePart is what App needs for the cluster. Without a cluster all pointers are nil.
type kubePart struct {
	cluster   *kube.Cluster
	identity  string // the name of our pod, or of the machine
	directory *hosts.Directory
	hosts     *clusterhosts.Hosts
	elector   *lead.Elector          // nil: the only replica
	label     *lead.Label            // of our pod; nil without elector
	holdMap   *kube.ConfigMap        // nil: the holds are not in a ConfigMap
	clusters  *kube.Clusters         // the clients of the workload clusters; nil: nothing is planned
	execution *execute.Runner        // nil: nothing carries plans out
	begun     atomic.Bool            // this process may decide while it has the Lease, if there is one
	waits     atomic.Pointer[string] // why the term cannot begin yet; nil: nothing is wrong
}

// newKube makes what App needs for the cluster, if the settings want one. It sends nothing to the cluster yet.
func (a *App) newKube(o Options) (err error) {
	c := o.Config.Kubernetes
	if !c.On {
		return nil
	}
	if a.cluster, err = kube.Connect(kube.Options{
		Kubeconfig: c.Kubeconfig, Namespace: c.Namespace, Version: a.version, Log: a.log, Transport: o.ClusterTransport,
	}); err != nil {
		return err
	}
	if a.identity = c.Identity; a.identity == "" {
		if a.identity, err = os.Hostname(); err != nil {
			return fmt.Errorf("POD_NAME is not set, and there is no host name: %w", err)
		}
	}
	a.newOperator(o.Config)
	a.hosts = clusterhosts.New(a.now, a.log)
	if a.directory, err = hosts.New(hosts.Options{
		Config: a.cluster.Config, Namespaces: c.Watch, Changed: a.hosts.Changed, Log: a.log,
	}); err != nil {
		return err
	}
	a.hosts.Directory = a.directory
	a.hosts.Recorder = tell.New(tell.Options{
		Client: a.cluster.Client, Stands: a.hosts.Stands, Leading: a.mayStart,
		Instance: a.identity, Log: a.log, Now: a.now,
	})
	if !c.Leader.Elect {
		return nil
	}
	if a.elector, err = lead.New(lead.Options{
		Config: a.cluster.Config, Namespace: a.cluster.Namespace, Name: c.Leader.LeaseName, Identity: lead.Identity(a.identity),
		Duration: 15 * time.Second, RenewDeadline: config.LeaseRenewDeadline, RetryPeriod: time.Second,
		Log: a.log, Clock: time.Now,
	}); err != nil {
		return err
	}
	if name := o.Config.Holdoff.ConfigMap; name != "" {
		a.holdMap = &kube.ConfigMap{
			Client: a.cluster.Client, Namespace: a.cluster.Namespace, Name: name,
			Identity: a.elector.Status().Identity, Leading: a.elector.Leading,
		}
	}
	a.label = &lead.Label{
		Client: a.cluster.Client, Namespace: a.cluster.Namespace, Pod: a.identity, Log: a.log,
		// In mode observe every replica has the label, because none of them refuses anything.
		Leading: func() bool { return a.observes() || a.mayStart() },
		Former: func() string {
			if a.observes() {
				return ""
			}
			return a.elector.Status().Former
		},
	}
	return nil
}

// observes reports whether the mode is observe: nothing is refused, whoever leads.
func (a *App) observes() bool { return a.force.Load().config.Mode == config.Observe }

// mayStart reports whether this process may say yes.
func (a *App) mayStart() bool {
	return a.begun.Load() && (a.elector == nil || a.elector.Leading())
}

// standby says why this process does not decide, or why it did not when the caller asked mayStart.
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
	return "the holds of failed hosts are being read"
}

// couldLead reports whether this process stands by and could take over, so that the Services would find it.
func (a *App) couldLead() bool {
	return a.elector != nil && a.elector.CouldLead() && a.label.Fault() == nil
}

// showCluster returns what the status shows of the cluster; nil without one.
func (a *App) showCluster() *api.Cluster {
	if a.cluster == nil {
		return nil
	}
	c := a.directory.Status()
	if o := a.others.Load(); o != nil {
		c.Operator = &o.operator
	}
	if a.elector != nil {
		l := a.elector.Status()
		c.Leader = &api.Leader{Leads: l.Leading, Identity: l.Identity, Holder: l.Holder}
		if l.Fault != nil {
			c.Leader.LastError = l.Fault.Error()
		}
	}
	return &c
}

// presentWarnings returns the warnings that come and go. They name when a fault began, and never its age: so the status
// stays the same while nothing changes.
func (a *App) presentWarnings(c *api.Cluster) []string {
	out := []string{a.finder.Fault(), a.holds.Fault(), a.api.cert.Fault(), a.metrics.cert.Fault(), a.gatewayCert.Fault()}
	if c != nil && c.LastError != "" {
		out = append(out, fmt.Sprintf("the watch of BareMetalHosts is broken, so they are shown as of %s: %s",
			api.Instant(*c.BrokenSince), c.LastError))
	}
	if o := a.others.Load(); o != nil {
		out = append(append(out, o.bmo...), o.checks...)
	}
	if a.elector != nil {
		if s := a.elector.Status(); s.Fault != nil {
			lease := a.force.Load().config.Kubernetes.Leader.LeaseName
			out = append(out, fmt.Sprintf("the Lease %s cannot be renewed or read: %v", lease, s.Fault))
		}
		if fault := a.label.Fault(); fault != nil {
			out = append(out, "Services may not find the leader: "+fault.Error())
		}
	}
	if !a.mayStart() && a.observes() {
		out = append(out, "this throttle does not decide, and lets everything pass because its mode is observe: "+a.standby())
	} else if why := a.waits.Load(); why != nil {
		out = append(out, *why)
	}
	if a.execution != nil {
		out = append(out, a.execution.Warnings(a.now())...)
	}
	return slices.DeleteFunc(out, func(text string) bool { return text == "" })
}

// runAnnotations applies the hold-offs that BareMetalHosts ask for, each time they change, until ctx ends.
func (a *App) runAnnotations(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-a.hosts.HoldoffsChanged():
		}
		a.forcing.Lock()
		if err := a.reconfigure(a.force.Load().config); err != nil { // each value was checked
			a.log.Error("cannot apply the hold-offs that BareMetalHosts ask for", "error", err)
		}
		a.forcing.Unlock()
	}
}

// reconfigure gives the Controller the settings c, and the hold-offs that BareMetalHosts ask for.
func (a *App) reconfigure(c config.Config) error {
	to, err := admissionConfig(c, a.hosts)
	if err != nil {
		return err
	}
	return a.controller.Reconfigure(a.now(), to)
}
