package admission_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/admission"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/holdoff"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// told is what the journal of f tells of somebody, in one line.
func told(f *front, who string) string {
	var texts []string
	for _, e := range f.Events() {
		if e.Host == who || e.Scope == who {
			texts = append(texts, e.Text)
		}
	}
	return strings.Join(texts, "; ")
}

// TestEventsTellWhatHappened to hosts, breakers and conductor groups, once each.
func TestEventsTellWhatHappened(t *testing.T) {
	full := newFront(t, 1)
	full.of(2)
	full.starts(1)
	for range 5 { // told the same again and again
		full.want(by(2, api.OpProvision), api.ReasonFull)
		full.passes(time.Minute)
	}
	paused := newFront(t, 5, holding(hour, func(c *admission.Config) {
		quota, err := holdoff.ParseQuota("0")
		if err != nil {
			t.Fatal(err)
		}
		c.MaxFailed = quota
	}))
	paused.failedAndCleaned(1)
	if _, err := paused.ReleaseHold(paused.now, "metal3", "host-1", ""); err != nil {
		t.Fatal(err)
	}
	open := opened(t, 8)
	if _, err := open.ResetBreaker(open.now, "ironic"); err != nil {
		t.Fatal(err)
	}
	stuck := newFront(t, 5, func(c *admission.Config) { c.Slots.StuckAfter, c.Slots.StuckCap = time.Hour, 5 })
	stuck.starts(1)
	for range 130 {
		stuck.passes(time.Minute)
	}
	stuck.becomes(1, ironic.Active, "")
	for _, row := range []struct {
		f         *front
		who, want string
	}{
		{full, "metal3/host-2", "asked to provision: no (full)"},
		{paused, "metal3/host-1", "deploy failed"},
		{paused, "metal3/host-1", "its hold was released"},
		{paused, "group:default", "is paused: 1 of 1 hosts have failed or are held, 0 may"},
		{paused, "group:default", "goes on: few enough hosts have failed or are held"},
		{open, "ironic", "is OPEN: nothing starts there ("},
		{open, "ironic", "is CLOSED: hosts may start, by hand"},
		{stuck, "metal3/host-1", "does not move any more, and takes no slot"},
	} {
		if n := strings.Count(told(row.f, row.who), row.want); n != 1 {
			t.Errorf("%s: %d times %q in: %s", row.who, n, row.want, told(row.f, row.who))
		}
	}
}

// TestEventsAreBoundedAndNumbered: of many the last ones are kept, in order, each with its number.
func TestEventsAreBoundedAndNumbered(t *testing.T) {
	f := newFront(t, 1)
	f.starts(1)
	for i := range 700 {
		f.IsReady(f.now, api.Ask{Namespace: "metal3", Name: fmt.Sprintf("crowd-%d", i), Op: api.OpProvision})
	}
	all := f.Events()
	if len(all) != 512 || all[511].Host != "metal3/crowd-699" {
		t.Fatalf("%d events, the last of %s", len(all), all[len(all)-1].Host)
	}
	for i, e := range all[1:] {
		if e.Seq != all[i].Seq+1 {
			t.Fatalf("number %d follows %d", e.Seq, all[i].Seq)
		}
	}
}
