package leader

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
)

// leads waits until r leads.
func (r *replica) leads(atMost time.Duration) {
	r.t.Helper()
	if !within(atMost, r.led) || !r.Leading() {
		r.t.Fatalf("%s does not lead after %s: %s", r.name, atMost, r)
	}
}

// loses waits until r's Run ends with ErrLost.
func (r *replica) loses(atMost time.Duration) {
	r.t.Helper()
	if !within(atMost, r.gone) {
		r.t.Fatalf("%s goes on after %s, leading %v: %s", r.name, atMost, r.Leading(), r)
	}
	if !errors.Is(r.result, ErrLost) || r.Leading() {
		r.t.Fatalf("%s: %v, leading %v: %s", r.name, r.result, r.Leading(), r)
	}
}

func TestLH27_OneLeads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var server api
		a := server.join(t, "a", nil)
		a.leads(time.Second)
		b := server.join(t, "b", nil)
		if within(10*time.Minute, b.led) || b.Leading() || !a.Leading() {
			t.Error("b leads beside a")
		}
		if got := b.Status(); got.Leading || got.Identity != "b" || got.Holder != "a" || got.Err != nil || time.Since(got.Since) < 9*time.Minute {
			t.Errorf("%+v", got)
		}
		if got := a.Status(); !got.Leading || got.Holder != "a" {
			t.Errorf("%+v", got)
		}
		if err := b.leave(); err != nil || !a.Leading() {
			t.Error(err)
		}
		if err := a.leave(); err != nil || server.holder() != "" {
			t.Errorf("%v, %q holds it", err, server.holder())
		}
	})
}

func TestLH27_AnotherTakesOverAtOnceWhenTheLeaderEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var server api
		const work = time.Minute // longer than the Lease
		a := server.join(t, "a", func(ctx context.Context) error {
			<-ctx.Done()
			<-time.After(work)
			if server.holder() != "a" {
				t.Error("the lease is given up before led has returned")
			}
			return nil
		})
		a.leads(time.Second)
		b := server.join(t, "b", nil)
		a.stop()
		if within(work-time.Second, b.led) || !a.Leading() {
			t.Error("what a led goes on, and its lease does not")
		}
		b.leads(longRetry + time.Second)
		if err := a.leave(); err != nil {
			t.Error(err)
		}
		if err := b.leave(); err != nil || b.said("this replica leads") != 1 {
			t.Errorf("%v: %s", err, b)
		}
	})
}

func TestLH27_HandOverAfterADeath(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var server api
		a := server.join(t, "a", nil)
		a.leads(time.Second)
		b := server.join(t, "b", nil)
		<-time.After(time.Minute)
		a.wire.set(swallow)
		b.leads(duration + 2*longRetry)
		a.loses(time.Second)
		_ = b.leave()
	})
}

func TestLeadersErrorIsRunsError(t *testing.T) {
	broken := errors.New("broken")
	synctest.Test(t, func(t *testing.T) {
		var server api
		a := server.join(t, "a", func(context.Context) error { return broken })
		<-a.gone
		if err := a.leave(); !errors.Is(err, broken) || server.holder() != "" {
			t.Errorf("%v, %q holds it", err, server.holder())
		}
		if err := a.Run(t.Context(), nil); !errors.Is(err, errTwice) {
			t.Error(err)
		}
	})
}

// ErrLost comes within the renew deadline and a retry, whatever happens to requests.
func TestLH27_LostWhenNothingIsConfirmed(t *testing.T) {
	for name, is := range map[string]weather{
		"swallow": swallow, "deaf": deaf, "refuse": refuse, "broken": broken, "stuck": stuck,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var server api
				a := server.join(t, "a", nil)
				a.leads(time.Second)
				<-time.After(time.Minute)
				a.wire.set(is)
				<-time.After(deadline)
				if a.Leading() {
					t.Error("leading after the renew deadline")
				}
				limit := retry + time.Second
				if is == stuck {
					limit = 2*retry + deadline // for the one that does not end
				}
				a.loses(limit)
				if n := a.said("leads no more"); n != 1 {
					t.Errorf("said %d times: %s", n, a)
				}
				<-time.After(time.Hour) // the one that is stuck ends
			})
		})
	}
}

// An answer that comes late opens the fence for what is left of its time.
func TestLH27_LateAnswerDoesNotHoldTheFenceOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var server api
		a := server.join(t, "a", nil)
		a.leads(time.Second)
		thaw := a.wire.freeze()
		<-time.After(retry + deadline + time.Second)
		thaw()
		if a.Leading() {
			t.Error("leading before anything is confirmed")
		}
		_ = a.leave()
	})
}

// A pause in which nobody took the Lease is no interruption, however long; nothing is
// said before the next renewal.
func TestLH27_PauseWithoutAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var server api
		a := server.join(t, "a", nil)
		a.leads(time.Second)
		<-time.After(time.Second) // between two renewals
		for range 3 {
			before := server.renewals()
			a.wire.suspend(time.Hour)
			if a.Leading() || a.Status().Leading || server.renewals() != before {
				t.Error("leading before a renewal")
			}
			<-time.After(retry)
			if !a.Leading() || server.renewals() == before {
				t.Errorf("not leading after the renewal: %s", a)
			}
		}
		if err := a.leave(); err != nil {
			t.Error(err)
		}
	})
}

func TestLH27_PauseWithAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var server api
		a := server.join(t, "a", nil)
		a.leads(time.Second)
		b := server.join(t, "b", nil)
		<-time.After(time.Minute)
		thaw := a.wire.freeze()
		b.leads(duration + 2*longRetry)
		if err := b.leave(); err != nil { // and gives it up: it is there for the taking
			t.Fatal(err)
		}
		thaw()
		if a.Leading() {
			t.Error("leading after another did")
		}
		a.loses(retry + time.Second)
		if server.holder() != "" {
			t.Error("taken again by one whose term is over")
		}
	})
}

func TestLeaseThatSomebodyElseEdits(t *testing.T) {
	for _, row := range []struct {
		name   string
		change func(*coordinationv1.Lease)
		lost   bool
	}{
		{"a label", func(l *coordinationv1.Lease) { l.Labels = map[string]string{"a": "b"} }, false},
		{"the time of the renewal", func(l *coordinationv1.Lease) { l.Spec.RenewTime = nil }, false},
		{"no duration", func(l *coordinationv1.Lease) { l.Spec.LeaseDurationSeconds = nil }, false},
		{"no holder", func(l *coordinationv1.Lease) { l.Spec.HolderIdentity = nil }, true},
		{"another holder", func(l *coordinationv1.Lease) { l.Spec.HolderIdentity = new("x") }, true},
		{"the transitions", func(l *coordinationv1.Lease) { l.Spec.LeaseTransitions = new(int32(7)) }, true},
		{"deleted", nil, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var server api
				a := server.join(t, "a", nil)
				a.leads(time.Second)
				<-time.After(time.Minute)
				server.edit(row.change)
				if row.lost {
					a.loses(retry + time.Second)
					return
				}
				<-time.After(5 * time.Minute)
				if !a.Leading() || server.holder() != "a" {
					t.Errorf("lost: %s", a)
				}
				if err := a.leave(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// What keeps us from competing is said once, and that it is over.
func TestFaultsAreSaidOnce(t *testing.T) {
	for name, is := range map[string]weather{"no answer": swallow, "no rights": refuse, "unavailable": broken} {
		for _, method := range []string{"", "POST"} {
			t.Run(name+method, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var server api
					a := server.joinOver(t, &wire{api: &server, is: is, only: method}, "a", nil)
					<-time.After(2 * time.Minute)
					if n := a.said("level=WARN"); n != 1 || a.Leading() || a.Status().Err == nil {
						t.Errorf("%d times: %s", n, a)
					}
					a.wire.set(fine)
					a.leads(longRetry + deadline)
					if n := a.said("does again"); n != 1 || a.Status().Err != nil {
						t.Errorf("%d times: %s", n, a)
					}
					_ = a.leave()
				})
			})
		}
	}
}

// Who ends while it takes the Lease does not leave it behind.
func TestEndInTheMiddleOfTaking(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var server api
		a := server.joinOver(t, &wire{api: &server, is: deaf, only: "POST"}, "a", nil)
		<-time.After(time.Second)
		if server.holder() != "a" || a.Leading() {
			t.Fatal("a has not asked yet")
		}
		if err := a.leave(); err != nil || server.holder() != "" {
			t.Errorf("%v, %q holds it", err, server.holder())
		}
	})
}

// A request that hangs whatever happens keeps nobody from ending.
func TestEndWhileARequestHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var server api
		a := server.joinOver(t, &wire{api: &server, is: stuck}, "a", nil)
		<-time.After(time.Second)
		begin := time.Now()
		if err := a.leave(); err != nil || time.Since(begin) > deadline {
			t.Errorf("%v after %s", err, time.Since(begin))
		}
		<-time.After(time.Hour)
	})
}
