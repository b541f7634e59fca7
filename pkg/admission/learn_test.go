package admission_test

import (
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/admission"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// A restart finds hosts failed that have not asked: what is changed before they do counts.
func TestBO11_ASpecThatIsChangedBeforeTheFirstAskReleases(t *testing.T) {
	for _, first := range []string{"cluster", "failure"} {
		hosts := cluster{}
		spec := func(text string) { hosts.set("host-1", func(h *admission.Host) { h.Spec = text }) }
		f := newFront(t, 4, holding(hour), hosts.known())
		f.of(1)
		f.stamp(1, ironic.Deploying, "")
		f.after(5 * time.Second)
		if first == "cluster" {
			spec("one")
		}
		f.fails("broken", 1)
		if first == "failure" {
			f.Learn(f.now, uuid(1), "", "one")
		}
		f.of(1).State = ironic.Available
		f.passes(time.Minute)
		spec("one")
		ask := by(1, api.OpProvision)
		dry := ask
		dry.DryRun = true
		f.want(dry, api.ReasonHold)
		f.Learn(f.now, uuid(1), "", "two") // it is known already
		spec("two")
		f.want(ask, api.ReasonGranted)
	}
}

// Of a host of which nothing has failed there is nothing to learn.
func TestBO11_OnlyFailedHostsAreLearned(t *testing.T) {
	hosts := cluster{}
	f := newFront(t, 4, holding(hour), hosts.known())
	f.Learn(f.now, uuid(1), "", "one")
	if h := f.Holds(f.now).Hosts; len(h) > 0 {
		t.Errorf("%+v", h)
	}
}

// Another host that says it is of the same node teaches nothing of this one.
func TestBO11_AnotherHostOfTheNodeTeachesNothing(t *testing.T) {
	hosts := cluster{}
	f := newFront(t, 4, holding(time.Hour), hosts.known())
	f.of(1)
	f.stamp(1, ironic.Deploying, "")
	f.after(5 * time.Second)
	f.fails("broken", 1)
	f.of(1).State = ironic.Available
	f.passes(time.Minute)
	ask := by(1, api.OpProvision)
	ask.UID = "ours"
	f.want(ask, api.ReasonHold) // tells whose the node is
	f.Learn(f.now, uuid(1), "theirs", "two")
	is := func(spec string) {
		hosts.set("host-1", func(h *admission.Host) { h.UID, h.Spec = "ours", spec })
	}
	is("one")
	f.want(ask, api.ReasonHold)
	is("three")
	f.want(ask, api.ReasonGranted)
}
