package app

import (
	"crypto/rand"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/config"
	"github.com/ironic-throttle/ironic-throttle/internal/kube"
	"github.com/ironic-throttle/ironic-throttle/internal/kube/events"
	"github.com/ironic-throttle/ironic-throttle/internal/kube/holds"
	"github.com/ironic-throttle/ironic-throttle/internal/kube/hosts"
	"github.com/ironic-throttle/ironic-throttle/internal/kube/leader"
	"github.com/ironic-throttle/ironic-throttle/pkg/admission"
)

// kubePart is what App has to do with the cluster; all of it is nil without one.
type kubePart struct {
	cluster  *kube.Cluster
	hosts    *hosts.Directory
	recorder *events.Recorder
	elector  *leader.Elector // nil: the only replica
	holdMap  *holds.Options  // nil: the holds are not in ConfigMaps
	notes    hostNotes
	begun    atomic.Bool            // this process decides, as far as its Lease goes
	waits    atomic.Pointer[string] // why a term cannot begin
}

// newKube finds the cluster, where one is wanted. Nothing is sent to it yet.
func (a *App) newKube(o Options) (err error) {
	c := o.Config.Kubernetes
	if !c.On {
		return nil
	}
	a.cluster, err = kube.Connect(kube.Options{Kubeconfig: c.Kubeconfig, Namespace: c.Namespace, Version: a.version, Log: a.log})
	if err != nil {
		return err
	}
	if o.ClusterTransport != nil {
		a.cluster.Config.Transport = o.ClusterTransport
	}
	identity := c.Identity
	if identity == "" {
		if identity, err = os.Hostname(); err != nil {
			return fmt.Errorf("POD_NAME is not set, and there is no host name: %w", err)
		}
	}
	a.notes = newHostNotes()
	if a.hosts, err = hosts.New(hosts.Options{
		Config: a.cluster.Config, Namespaces: c.Watch, Changed: a.hostChanged, Log: a.log, Now: a.now,
	}); err != nil {
		return err
	}
	if c.Events || c.AnnotatePosition {
		if a.recorder, err = events.New(events.Options{
			Config: a.cluster.Config, Find: a.findUID, Stands: a.stands, PerMinute: c.EventsPerMinute, Silent: !c.Events, Annotate: c.AnnotatePosition,
			Instance: identity, Log: a.log, Now: a.now,
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
	if a.elector, err = leader.New(leaderOptions(a, c, identity)); err == nil && a.holdMap != nil {
		a.holdMap.Leading = a.elector.Leading
	}
	return err
}

func leaderOptions(a *App, c config.Kubernetes, identity string) leader.Options {
	return leader.Options{
		Config: a.cluster.Config, Namespace: a.cluster.Namespace, Name: c.Leader.LeaseName,
		// A container that was started anew in the same pod is another process.
		Identity: identity + "_" + strings.ToLower(rand.Text()[:8]),
		Duration: c.Leader.Duration, RenewDeadline: c.Leader.RenewDeadline(), RetryPeriod: c.Leader.RetryPeriod(),
		Log: a.log,
	}
}

// observes reports whether nothing is refused, whoever leads. A reload cannot change it.
func (a *App) observes() bool { return a.force.Load().config.Mode == config.Observe }

// mayStart reports whether this process may say yes.
func (a *App) mayStart() bool {
	return a.begun.Load() && (a.elector == nil || a.elector.Leading())
}

// standby tells why this process does not decide; "" where it does.
func (a *App) standby() string {
	if a.mayStart() {
		return ""
	}
	if a.elector != nil {
		if s := a.elector.Status(); !s.Leading {
			return whoLeads(s)
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

// whoLeads tells who leads instead of us, or led when that could be seen last: while the
// API server is away nobody knows who does now.
func whoLeads(s leader.Status) string {
	switch {
	case s.Err != nil && s.Holder == "":
		return fmt.Sprintf("nobody leads, as far as is known: %v", s.Err)
	case s.Err != nil:
		return fmt.Sprintf("%s led when the Lease was seen last, at %s; since then: %v", s.Holder, clock(s.Seen), s.Err)
	case s.Holder == "":
		return "nobody leads yet"
	case s.Holder == s.Identity:
		return "it leads no more: its Lease could not be renewed in time"
	default:
		return s.Holder + " leads"
	}
}

// clock is a time of day as status and probes tell it: one that stays, so that a status
// in which nothing changes stays the same.
func clock(t time.Time) string { return t.UTC().Format("15:04:05Z") }

// knownHosts is the directory of hosts as the decision asks it.
type knownHosts struct {
	directory
	now func() time.Time
}

// directory is what knownHosts needs of a hosts.Directory.
type directory interface {
	ByName(namespace, name string) (hosts.Host, bool)
	ByNode(uuid string) (hosts.Host, bool)
	BrokenSince(namespace string) time.Time
}

// find returns the host that is asked about. Its node decides where the name leads to none
// or to the host of another node: a host that was moved has left its name on its node.
func (k knownHosts) find(namespace, name, nodeUUID string) (h hosts.Host, ok bool) {
	if namespace != "" && name != "" {
		h, ok = k.ByName(namespace, name)
		if ok && (nodeUUID == "" || h.NodeUUID == "" || strings.EqualFold(h.NodeUUID, nodeUUID)) {
			return h, true
		}
	}
	if nodeUUID != "" {
		if of, found := k.ByNode(nodeUUID); found {
			return of, true
		}
	}
	return h, ok
}

// Host implements admission.Hosts.
func (k knownHosts) Host(namespace, name, nodeUUID string) (admission.Host, bool) {
	h, ok := k.find(namespace, name, nodeUUID)
	if !ok {
		return admission.Host{}, false
	}
	return admission.Host{
		Namespace: h.Namespace, Name: h.Name, UID: h.UID,
		NodeUUID: h.NodeUUID, ErrorCount: h.ErrorCount, FailCount: h.ProvisioningFailCount, Old: k.old(h.Namespace),
		Deleting: h.Deleting, Left: h.Paused || h.Detached, Bare: h.Bare, Spec: h.Spec, Release: h.Release,
	}, true
}

// old reports whether the hosts of a namespace could not be read for too long to know of
// failures that are over.
func (k knownHosts) old(namespace string) bool {
	since := k.BrokenSince(namespace)
	return !since.IsZero() && k.now().Sub(since) > hostsOld
}

const hostsOld = 2 * time.Minute

func (a *App) findUID(namespace, name string) (uid string, found bool) {
	h, found := a.hosts.ByName(namespace, name)
	return h.UID, found
}

// stands tells how a host stands at this moment.
func (a *App) stands(namespace, name string) (waits, works bool) {
	h, _ := a.hosts.ByName(namespace, name)
	return a.controller.Stands(a.now(), namespace, name, h.NodeUUID)
}

// clusterWarnings are what the status should tell of the cluster.
func (a *App) clusterWarnings() []string {
	if a.hosts == nil {
		return nil
	}
	var out []string
	if s := a.hosts.Status(); s.LastError != "" {
		out = append(out, fmt.Sprintf("BareMetalHosts are as they were known at %s, their watch is broken: %s", clock(s.BrokenSince), s.LastError))
	}
	if a.elector != nil {
		if s := a.elector.Status(); s.Err != nil {
			out = append(out, fmt.Sprintf("the Lease %s cannot be renewed or read: %v", a.force.Load().config.Kubernetes.Leader.LeaseName, s.Err))
		}
	}
	if why := a.standby(); why != "" && a.observes() {
		out = append(out, "this throttle does not decide, and lets everything pass, for its mode is observe: "+why)
	} else if why := a.waits.Load(); why != nil {
		out = append(out, *why)
	}
	return append(out, a.notes.faults()...)
}
