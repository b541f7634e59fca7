package app

import (
	"github.com/ironic-throttle/ironic-throttle/internal/httpserve"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// showCluster is what the status tells of the cluster; nil without one.
func (a *App) showCluster() *api.Cluster {
	if a.hosts == nil {
		return nil
	}
	s := a.hosts.Status()
	c := &api.Cluster{Hosts: s.Hosts, Errors: s.Errors, Synced: s.Synced, LastError: s.LastError}
	if !s.BrokenSince.IsZero() {
		c.BrokenSince = &s.BrokenSince
	}
	if a.recorder != nil {
		e := a.recorder.Stats().Events
		c.Events = &api.EventCounts{Sent: e.Sent, Failed: e.Failed, Dropped: e.Dropped, Pending: e.Pending}
	}
	if a.elector != nil {
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
	out := a.clusterWarnings()
	for _, c := range []*httpserve.InUse{a.apiCert, a.gatewayCert} {
		if fault := c.Fault(); fault != "" {
			out = append(out, fault)
		}
	}
	return out
}
