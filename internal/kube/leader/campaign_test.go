package leader

import (
	"testing"
	"testing/synctest"
	"time"
)

// Who stands by could take over as long as it reads the Lease and nothing is refused.
func TestLH41_WhoCampaigns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var server api
		a := server.join(t, "a_1", nil)
		<-a.led
		b := server.joinOver(t, &wire{api: &server, is: swallow}, "b_1", nil)
		want := func(r *replica, campaigns bool, when string) {
			t.Helper()
			if r.Campaigns() != campaigns {
				t.Errorf("%s, %s: it campaigns: %t (%s)", r.name, when, !campaigns, r.Status().Standby())
			}
		}
		want(b, false, "before it has read the Lease")
		b.wire.set(fine)
		<-time.After(deadline + longRetry)
		want(b, true, "standing by")
		want(a, false, "leading")
		for _, row := range []struct {
			name string
			is   weather
			then bool
		}{{"swallowed", swallow, false}, {"refused", refuse, false}, {"broken", broken, false}, {"fine", fine, true}} {
			b.wire.set(row.is)
			<-time.After(duration + longRetry)
			want(b, row.then, row.name)
		}
		// A request that hangs for ever tells of no failure.
		b.wire.set(stuck)
		<-time.After(duration + longRetry)
		want(b, false, "stuck")
		b.wire.set(fine)
		<-time.After(time.Hour)
		want(b, true, "when it is over")

		a.wire.set(swallow)
		<-b.led
		want(b, false, "leading")
		<-a.gone
		want(a, false, "after its term")
		if got := b.Former(); got != "a_1" {
			t.Errorf("who led before b: %q", got)
		}
		if err := b.leave(); err != nil {
			t.Error(err)
		}
		c := server.join(t, "c_1", nil)
		<-c.led
		if got := a.Former() + c.Former(); got != "" {
			t.Errorf("who led before those who came in order: %q", got)
		}
	})
}

// Who may not write the Lease learns so when it is its turn, and is no hope for anybody.
func TestLH41_WhoMayNotTakeTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var server api
		w := &wire{api: &server, is: refuse, only: "POST"}
		r := server.joinOver(t, w, "a_1", nil)
		<-time.After(duration)
		if r.Campaigns() {
			t.Error("it campaigns, and may not make the Lease")
		}
	})
}

// Who gave the Lease up in order may have its label still: who saw it lead takes that off.
func TestLH42_WhoLedBeforeAnOrderlyEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var server api
		a := server.join(t, "a_1", nil)
		a.leads(time.Second)
		b := server.join(t, "b_1", nil)
		<-time.After(time.Minute)
		if err := a.leave(); err != nil {
			t.Error(err)
		}
		b.leads(longRetry + time.Second)
		if got := b.Former(); got != "a_1" {
			t.Errorf("%q led before, want a_1; log %s", got, b)
		}
		if err := b.leave(); err != nil {
			t.Error(err)
		}
	})
}
