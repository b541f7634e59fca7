package admission_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/admission"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

// roster is a list of all nodes.
type roster struct {
	names  map[string]bool
	wanted int
}

func (r *roster) Has(uuid, name string) bool { return r.names[uuid+name] }
func (r *roster) Want()                      { r.wanted++ }

// shownHosts is a cluster with one host.
type shownHosts struct{ one admission.Host }

func (h shownHosts) Host(_, name, _ string) (admission.Host, bool) { return h.one, name == h.one.Name }

// Junk may ask as it likes: what is kept of it is bounded, real hosts get their turn, and
// once the list of all nodes is there junk is out.
func TestLH39_InventedHostsDoNotCrowdOutRealOnes(t *testing.T) {
	for _, mode := range []admission.Mode{admission.Enforce, admission.Observe} {
		list := &roster{names: map[string]bool{}}
		cfg := admission.DefaultConfig()
		cfg.Mode, cfg.Nodes = mode, list
		cfg.Hosts = shownHosts{admission.Host{Namespace: "metal3", Name: "of-the-cluster"}}
		now := time.Now()
		c, err := admission.New(cfg, now)
		if err != nil {
			t.Fatal(err)
		}
		look := func() {
			now = now.Add(cfg.Slots.Settle)
			seen := ironic.Observation{Mark: c.Begin(now)}
			for _, key := range c.Missing(now, nil) {
				seen.Fetched = append(seen.Fetched, ironic.NodeObservation{Key: key, Mark: c.Begin(now)}) // there is no such node
			}
			c.Observe(now, seen)
		}
		look()
		ask := func(name string) api.Answer {
			return c.IsReady(now, api.Ask{Namespace: "metal3", Name: name, Op: api.OpProvision})
		}
		for i := range slots.MaxUnknown + 1000 {
			ask(fmt.Sprint("junk-", i))
			c.IsReady(now, api.Ask{Namespace: "metal3", Name: fmt.Sprint("media-", i), Op: api.OpProvision, VirtualMedia: true})
		}
		if list.wanted == 0 {
			t.Error("the list of all nodes is not wanted")
		}
		no := ask("real")
		if mode == admission.Observe {
			if !no.Ready {
				t.Errorf("observe refuses: %+v", no)
			}
		} else if no.Ready || no.Reason != api.ReasonStarting || !strings.Contains(no.Message, "10000 such hosts") || no.RetryAfterSeconds < 1 {
			t.Errorf("%+v", no)
		}
		if a := ask("of-the-cluster"); strings.Contains(a.Message, "such hosts") {
			t.Errorf("a host of the cluster: %+v", a)
		}
		now = now.Add(time.Second)
		begun := c.Begin(now)
		list.names["metal3~real"] = true
		now = now.Add(time.Second)
		c.PruneUnknown(now, begun, list.Has)
		waiting := c.Status(now).Slots.Total.Waiting
		if waiting > 1 {
			t.Errorf("mode %s: %d still wait", mode, waiting)
		}
		// The slots that junk was given end, and go to nobody else.
		for range 8 {
			look()
		}
		if a := ask("real"); !a.Ready || mode == admission.Enforce && a.Reason != api.ReasonGranted {
			t.Errorf("mode %s: %+v", mode, a)
		}
		if a := ask("junk-new"); mode == admission.Enforce && a.Ready {
			t.Errorf("mode %s: %+v", mode, a)
		}
	}
}
