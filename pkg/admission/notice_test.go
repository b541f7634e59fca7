package admission_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ironic-throttle/ironic-throttle/pkg/admission"
	"github.com/ironic-throttle/ironic-throttle/pkg/holdoff"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/sizing"
)

// toldLines are the notices of single hosts since it was called last.
func (f *front) toldLines() []string {
	lines := []string{}
	for _, n := range f.told {
		text := fmt.Sprintf("%s %s/%s %s", n.Kind, n.Hold.Namespace, n.Hold.Name, n.Work+n.End)
		if n.Hold.Held {
			text += " held"
		}
		lines = append(lines, text)
	}
	f.told = nil
	return lines
}

// The log has one line for a host that failed, held or not, and one for the end of a hold that
// nobody ended by hand.
func TestBO19_FailuresAndEndsOfHoldsAreTold(t *testing.T) {
	f := newFront(t, 4, holding(hour))
	tells := func(when string, want ...string) {
		t.Helper()
		if diff := cmp.Diff(append([]string{}, want...), f.toldLines()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", when, diff)
		}
	}
	f.starts(1)
	tells("nothing failed")
	f.fails("no DHCP on the provisioning network", 1)
	if n := f.told[0]; n.Hold.Cause != "no DHCP on the provisioning network" || n.Hold.Episode == "" || n.Hold.Until.IsZero() || n.Hold.NodeUUID != uuid(1) {
		t.Errorf("notice %+v", n)
	}
	tells("it failed", "failed metal3/host-1 deploy held")
	f.of(1).State = ironic.Available
	f.passes(time.Minute)
	tells("the same failure")
	f.passes(hour)
	tells("its time is over", "ended metal3/host-1 time")

	f.starts(2)
	f.fails("broken", 2)
	tells("another one", "failed metal3/host-2 deploy held")
	if _, err := f.ReleaseHold(f.now, "metal3", "host-2", ""); err != nil {
		t.Fatal(err)
	}
	f.passes(time.Minute)
	tells("released by hand")

	off := newFront(t, 4, func(c *admission.Config) { c.Breakers = nil })
	off.starts(1)
	off.fails("broken", 1)
	if diff := cmp.Diff([]string{"failed metal3/host-1 deploy"}, off.toldLines()); diff != "" {
		t.Errorf("nobody is held (-want +got):\n%s", diff)
	}
	off.of(1).State = ironic.Available
	off.linger()
	off.becomes(1, ironic.Deleting, "")
	off.becomes(1, ironic.Error, "no route to the BMC")
	if diff := cmp.Diff([]string{"failed metal3/host-1 delete"}, off.toldLines()); diff != "" {
		t.Errorf("work for which nobody is held (-want +got):\n%s", diff)
	}
}

// A hold of the process before ends with the name that was saved: nobody has asked for the host
// since, or a poll shown it.
func TestBO19_TheEndOfARestoredHoldNamesItsHost(t *testing.T) {
	f := newFront(t, 4, holding(hour))
	kept := holdoff.Record{Version: holdoff.RecordVersion, UUID: uuid(7), Name: "metal3~host-7", Episodes: []holdoff.EpisodeRecord{
		{ID: "e", Kind: holdoff.Deployment, State: "deploy failed", Failures: 1, Since: f.now.Add(-30 * time.Minute)},
	}}
	if err := f.Start(f.now, []holdoff.Record{kept}, true, sizing.State{}); err != nil {
		t.Fatal(err)
	}
	f.passes(time.Hour)
	if len(f.told) != 1 || f.told[0].Hold.Namespace != "metal3" || f.told[0].Hold.Name != "host-7" || f.told[0].Hold.NodeUUID != uuid(7) {
		t.Errorf("told %+v, want the end of the hold of metal3/host-7", f.told)
	}
}
