package gateway_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/gateway"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/admission"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// leaseTTL is how long after its last yes a host that was never seen at work keeps its slot (LH-12).
var leaseTTL = admission.DefaultConfig().Slots.LeaseTTL

// From its first byte on a PUT can start work, so its yes counts from then, however long Ironic took to be dialed.
func TestGW3_AYesCountsFromTheFirstByte(t *testing.T) {
	neither := func(http.Handler) http.Handler { // no yes and no error: the lease is left to its time (GW-5)
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusSeeOther) })
	}
	playWired(t, options{limit: 1, nodes: 1}, neither, func(w *wired) {
		w.letIn()
		w.dialSlowly(15 * time.Second)
		w.ask(w.putText(0, ironic.TargetActive), http.StatusSeeOther, 15*time.Second)
		w.pass(leaseTTL - time.Second)
		w.occupied(1)
		w.pass(2 * time.Second)
		w.occupied(0)
	})
}

// After the first byte it is waited for, whether its client is there or not: it may have begun.
func TestGW6_WhoGoesAfterTheFirstByteIsNotGivenUp(t *testing.T) {
	log := &journal{}
	playWired(t, options{limit: 1, nodes: 1, gate: func(o *gateway.Options) { o.Log = log.logger() }}, nil, func(w *wired) {
		w.letIn()
		w.fault(fakeironic.Fault{Trouble: fakeironic.Slow, Delay: 10 * time.Second, Requests: "put"})
		c := w.call(w.putText(0, ironic.TargetActive))
		<-time.After(time.Second)
		_ = c.Close()
		<-time.After(10 * time.Second)
		if w.state(0) != ironic.Deploying {
			t.Errorf("it was cut off: the node is %s", w.state(0))
		}
		w.occupied(1)
		log.want(t, "WARN", 0)
	})
}
