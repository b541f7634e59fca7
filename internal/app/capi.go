package app

import (
	"strings"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/kube/capi"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// mostWaits bounds the hosts that are looked at for MachineHealthChecks. Those behind them wait no shorter.
const mostWaits = 5000

// machinesWaiting are the Metal3Machines whose hosts wait for a slot, and how long in all: nine of ten not longer.
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
			of := capi.Machine{Namespace: host.Tenant, Name: host.Machine}
			all[of] = max(all[of], time.Duration(seconds*float64(time.Second)))
		}
	}
	return all
}
