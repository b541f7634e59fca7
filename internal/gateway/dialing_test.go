package gateway_test

import (
	"context"
	"net"
	"net/http"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/gateway"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/admission"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// dialSlowly makes connections to Ironic take a while: a handshake on a bad line.
func (w *wired) dialSlowly(d time.Duration) {
	w.back.dialing = func(context.Context) error {
		<-time.After(d)
		return nil
	}
}

// notSent wants nothing left of a PUT a good while later, and the node free to be
// asked for again.
func (w *wired) notSent() {
	w.Helper()
	<-time.After(time.Minute)
	w.poll()
	if w.state(0) != ironic.Available {
		w.Errorf("it was sent: the node is %s", w.state(0))
	}
	if slots := w.controller.Status(time.Now()).Slots.Total; slots.Occupied != 0 || slots.Waiting != 0 {
		w.Errorf("left of it: %+v", slots)
	}
	w.roomIsFree()
	w.back.dialing, w.back.wrap = nil, nil
	w.ask(w.putText(0, ironic.TargetActive), http.StatusAccepted, 0)
	w.occupied(1)
}

// deadConn breaks at the first write after kill.
type deadConn struct {
	net.Conn
	kill *atomic.Bool
}

func (c deadConn) Write(p []byte) (int, error) {
	if c.kill.Load() {
		return 0, syscall.EPIPE
	}
	return c.Conn.Write(p)
}

// A kept connection may turn out dead, and net/http makes another one.
func TestWhatIsNotDialedInTimeIsNotSent(t *testing.T) {
	for what, row := range map[string]struct {
		dialing time.Duration // 0: refused
		leaves  bool          // its client, meanwhile
		kept    bool          // there is a connection, which is dead
		status  int
	}{
		"its client goes":        {5 * time.Second, true, false, 0},
		"too late":               {maxAge + time.Second, false, false, http.StatusConflict},
		"refused":                {0, false, false, http.StatusBadGateway},
		"again, its client goes": {5 * time.Second, true, true, 0},
		"again, too late":        {maxAge + time.Second, false, true, http.StatusConflict},
	} {
		playWired(t, options{limit: 1, nodes: 1}, nil, func(w *wired) {
			w.letIn()
			if row.kept {
				var kill atomic.Bool
				w.back.wrap = func(_ int64, near net.Conn) net.Conn { return deadConn{near, &kill} }
				w.ask(getText("/v1/nodes"), http.StatusOK, 0) // makes it
				w.back.wrap = nil
				kill.Store(true)
			}
			w.back.dialing = func(context.Context) error { return syscall.ECONNREFUSED }
			if row.dialing > 0 {
				w.dialSlowly(row.dialing)
			}
			c := w.call(w.putText(0, ironic.TargetActive))
			if row.leaves {
				<-time.After(time.Second)
				w.occupied(1) // it has its yes
				_ = c.Close()
				synctest.Wait()
				w.occupied(0)
			} else if got := c.want(row.status, maxAge).Header.Get(reasonHeader); (got == "starting") != (row.status == http.StatusConflict) {
				w.Errorf("%s: refused for %q", what, got)
			}
			w.notSent()
		})
	}
}

// leaseTTL is how long after its last yes a host that was never seen at work keeps its slot (LH-12).
var leaseTTL = admission.DefaultConfig().Slots.LeaseTTL

// From its first byte on a PUT can start work, so its yes counts from then, however long Ironic took to be dialed.
func TestAYesCountsFromTheFirstByte(t *testing.T) {
	neither := func(http.Handler) http.Handler { // no yes and no error: the lease is left to its time
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
func TestWhoGoesAfterTheFirstByteIsNotGivenUp(t *testing.T) {
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
