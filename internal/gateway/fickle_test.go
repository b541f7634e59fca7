package gateway_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/gateway"
	"github.com/ironic-throttle/ironic-throttle/internal/gateway/gate"

	"github.com/ironic-throttle/ironic-throttle/pkg/admission"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// hasty is a decision that foresees so many slots which somebody else has by the time that they are asked for.
type hasty struct {
	*admission.Controller
	slots int
}

func (h *hasty) Foresee(now time.Time, ask api.Ask, target ironic.Target) api.Answer {
	if h.slots > 0 {
		h.slots--
		return api.Answer{Ready: true}
	}
	return h.Controller.Foresee(now, ask, target)
}

// Who finds a slot taken by somebody else waits on, how often that may be.
func TestGW19_WhoComesTooLateForASlotWaitsOn(t *testing.T) {
	gate := func(o *gateway.Options) {
		withPlaces(1)(o)
		o.Decider = &hasty{o.Decider.(*admission.Controller), 5}
	}
	play(t, options{limit: 1, nodes: 2, gate: gate}, func(s *stage) {
		s.put(0, ironic.TargetActive).want(http.StatusAccepted)
		next := s.ask(putRequest(s.uuids[1], ironic.TargetActive))
		<-time.After(6 * queueTick)
		synctest.Wait()
		if next.done() {
			t.Fatalf("it waits no more: %d %s", next.Code, next.Body)
		}
		if n := s.gate.Stats().Waited; n != 6 {
			t.Errorf("it began to wait %d times, want 6", n)
		}
		s.over(0)
		next.want(http.StatusAccepted)
	})
}

// renaming is an Ironic in which the only node has another name at each of so many looks after the first.
type renaming struct {
	gate.Ironic
	times, looks int
}

func (r *renaming) Node(ctx context.Context, key string) (ironic.Node, bool, error) {
	n, found, err := r.Ironic.Node(ctx, key)
	n.Name = fmt.Sprint("metal3~name-", min(r.looks, r.times))
	r.looks++
	return n, found, err
}

// A PUT goes out when two looks at its node agree. When three pairs do not, its client is told to come again.
func TestGW17_ANodeThatChangesItsNameAllTheTime(t *testing.T) {
	for _, row := range []struct {
		observe        bool
		changes, looks int // the first one is that of the refusal before
		status         int
	}{
		{false, 0, 2, http.StatusAccepted},
		{false, 2, 4, http.StatusAccepted},
		{false, 3, 4, http.StatusConflict},
		{true, 2, 4, http.StatusAccepted},
		{true, 3, 5, http.StatusAccepted}, // nothing is refused (GW-14); the last look is at who works now
	} {
		t.Run(fmt.Sprintf("%+v", row), func(t *testing.T) {
			names := &renaming{times: row.changes}
			o := options{limit: 1, nodes: 1, gate: func(o *gateway.Options) {
				names.Ironic = o.Ironic
				o.Ironic = names
			}}
			if row.observe {
				o = watching(o)
			}
			play(t, o, func(s *stage) {
				s.put(0, "nothing").want(http.StatusBadRequest)
				s.occupied(0)
				got := s.put(0, ironic.TargetActive).want(row.status)
				if names.looks != row.looks {
					t.Errorf("%d looks, want %d", names.looks, row.looks)
				}
				if row.status == http.StatusConflict {
					got.refused(api.ReasonStarting)
					if puts, _ := s.wire.sent(); puts != 1 {
						t.Errorf("%d PUTs reached Ironic, want the first alone", puts)
					}
				}
				s.occupied(len(s.working()))
			})
		})
	}
}
