package config

import (
	"cmp"
	"os"
	"strings"
	"time"
)

// What no site sets. Of what the decision does by itself the constants are its own (admission.DefaultConfig).
const (
	// GrowthCap is the longest hold that HOLDOFF_GROWTH makes; it shortens none.
	GrowthCap = 48 * time.Hour

	// LeaseDuration is the age of the last renewal from which another replica may take the Lease,
	// LeaseRenewDeadline the one from which a leader grants nothing more, and ends.
	LeaseDuration      = 15 * time.Second
	LeaseRenewDeadline = LeaseDuration * 2 / 3
	LeaseRetryPeriod   = LeaseDuration / 15 // between two tries to take or renew it

	EventsPerMinute = 300 // of all hosts together

	GatewayTimeout = 2 * time.Minute // of one request, from its first byte to the last of its answer
	GatewayMaxBody = 64 << 20        // bytes of the body of a gated request

	IronicTimeout = 30 * time.Second // of one request to Ironic
)

// GroupThreshold is how many failures of different hosts open the breaker of a conductor group: 3 where 10 open that
// of the whole Ironic.
func (b Breaker) GroupThreshold() int { return max(2, (3*b.Threshold+9)/10) }

// derive fills in what follows from settings, and where things are that they say in other words.
func (c *Config) derive() {
	c.View.MaxStale = max(30*time.Second, 6*c.View.PollInterval)
	c.View.ListMaxAge = min(time.Minute, 12*c.View.PollInterval)
	c.Leases.StartupSettle = c.Leases.Linger + c.Leases.Linger/3
	if c.Kubernetes.Leader.Elect {
		// What a leader granted before it knew that it leads no more has begun when the next one grants its first slot.
		c.Leases.StartupSettle = max(c.Leases.StartupSettle, LeaseRenewDeadline)
	}
	h := &c.Holdoff
	if name, ok := strings.CutPrefix(h.State, inConfigMap); ok {
		h.ConfigMap = name
	} else {
		h.File = h.State
	}
	c.Kubernetes.Leader.LeaseName = cmp.Or(h.ConfigMap, "ironic-throttle")
	if beyond(c.Listen.API) && !collide(c.Listen.API, localAPI) {
		c.Listen.Local = localAPI
		if _, port := split(c.Listen.API); port == 0 { // any free one, in tests
			c.Listen.Local = "127.0.0.1:0"
		}
	}
}

// localAPI is where commands look for the API, inConfigMap begins a state that is in no file.
const (
	localAPI    = "127.0.0.1:8087"
	inConfigMap = "configmap:"
)

// findPod reads what a pod, and each client of Kubernetes, has in its environment; none of it is a setting.
func (k *Kubernetes) findPod() {
	k.Kubeconfig, k.Namespace, k.Identity = os.Getenv("KUBECONFIG"), os.Getenv("POD_NAMESPACE"), os.Getenv("POD_NAME")
}
