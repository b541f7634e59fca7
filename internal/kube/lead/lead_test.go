package lead_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"

	"github.com/ironic-throttle/ironic-throttle/internal/kube/lead"
)

func isLost(err error) bool { return errors.Is(err, lead.ErrLost) }

func TestALeaderThatEndsKeepsItsLeaseUntilItHasSaved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var server api
		const work = time.Minute // longer than the Lease
		a := server.join(t, "a", func(ctx context.Context) error {
			<-ctx.Done()
			<-time.After(work)
			if server.holder() != "a" {
				t.Error("the Lease is released before led has returned")
			}
			return nil
		})
		a.leads(time.Second)
		b := server.join(t, "b", nil)
		a.stop()
		if within(work-time.Second, b.led) || !a.Leading() {
			t.Error("led goes on, and its Lease does not")
		}
		b.leads(time.Second + longRetry)
		if err := a.leave(); err != nil {
			t.Error(err)
		}
	})
}

// ErrLost comes within the renew deadline and a retry, whatever happens to requests.
func TestATermEndsWhenNothingIsConfirmed(t *testing.T) {
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
					limit = 2*retry + deadline // for the request that does not end
				}
				a.loses(limit)
				if n := a.said("leads no more"); n != 1 {
					t.Errorf("said %d times: %s", n, &a.log)
				}
				<-time.After(time.Hour) // the one that is stuck ends
			})
		})
	}
}

func TestPauses(t *testing.T) {
	for name, do := range map[string]func(t *testing.T, server *api, a *replica){
		"an answer that comes late": func(t *testing.T, _ *api, a *replica) {
			thaw := a.wire.freeze()
			<-time.After(retry + deadline + time.Second)
			thaw()
			if a.Leading() {
				t.Error("leading before anything is confirmed")
			}
		},
		"a renewal counts from when it was sent": func(t *testing.T, _ *api, a *replica) {
			a.wire.set(late)
			<-time.After(retry)
			a.wire.set(swallow)
			if <-time.After(deadline); a.Leading() {
				t.Error("leading after the renew deadline")
			}
		},
		"without another leader": func(t *testing.T, _ *api, a *replica) {
			<-time.After(retry / 2) // between two renewals
			for range 3 {
				a.wire.suspend(time.Hour)
				if a.Leading() || a.Status().Leading {
					t.Error("leading before a renewal")
				}
				if <-time.After(retry); !a.Leading() {
					t.Errorf("not leading after the renewal: %s", &a.log)
				}
			}
		},
		"with another leader": func(t *testing.T, server *api, a *replica) {
			b := server.join(t, "b", nil)
			<-time.After(time.Minute)
			thaw := a.wire.freeze()
			b.leads(duration + 2*longRetry)
			if err := b.leave(); err != nil { // and releases the Lease: it is there for the taking
				t.Fatal(err)
			}
			thaw()
			if a.Leading() {
				t.Error("leading after another did")
			}
			a.loses(retry + time.Second)
			if server.holder() != "" {
				t.Error("taken back by a replica whose term is over")
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var server api
				a := server.join(t, "a", nil)
				a.leads(time.Second)
				do(t, &server, a)
				_ = a.leave()
			})
		})
	}
}

func TestALeaseThatSomebodyElseEdits(t *testing.T) {
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
				if server.edit(row.change); row.lost {
					a.loses(retry + time.Second)
					return
				}
				<-time.After(5 * time.Minute)
				if !a.Leading() || server.holder() != "a" {
					t.Errorf("lost: %s", &a.log)
				}
			})
		})
	}
}

// What keeps a replica from competing is logged once, and that it is over.
func TestFaultsAreSaidOnce(t *testing.T) {
	for name, is := range map[string]weather{"no answer": swallow, "no rights": refuse, "unavailable": broken} {
		for _, method := range []string{"", "POST"} {
			t.Run(name+method, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var server api
					a := server.joinOver(t, &wire{api: &server, is: is, only: method}, "a", nil)
					<-time.After(2 * time.Minute)
					if n := a.said("level=WARN"); n != 1 || a.Leading() || a.CouldLead() || a.Status().Fault == nil {
						t.Errorf("%d times: %s", n, &a.log)
					}
					a.wire.set(fine)
					a.leads(longRetry + deadline)
					if n := a.said("asks for again"); n != 1 || a.Status().Fault != nil {
						t.Errorf("%d times: %s", n, &a.log)
					}
				})
			})
		}
	}
}

func TestEnds(t *testing.T) {
	fault := errors.New("broken")
	for name, do := range map[string]func(t *testing.T, server *api){
		"led's error is Run's": func(t *testing.T, server *api) {
			a := server.join(t, "a", func(context.Context) error { return fault })
			if <-a.gone; !errors.Is(a.result, fault) || server.holder() != "" {
				t.Errorf("%v, %q holds it", a.result, server.holder())
			}
		},
		"led's error at the end of the term": func(t *testing.T, server *api) {
			a := server.join(t, "a", func(ctx context.Context) error { <-ctx.Done(); return fault })
			a.leads(time.Second)
			server.edit(nil)
			if a.loses(retry + time.Second); !errors.Is(a.result, fault) {
				t.Error(a.result)
			}
		},
		"in the middle of taking the Lease": func(t *testing.T, server *api) {
			a := server.joinOver(t, &wire{api: server, is: deaf, only: "POST"}, "a", nil)
			<-time.After(time.Second)
			if server.holder() != "a" || a.Leading() {
				t.Fatal("a has not asked yet")
			}
			if err := a.leave(); err != nil || server.holder() != "" {
				t.Errorf("%v, %q holds it", err, server.holder())
			}
		},
		"while a request hangs": func(t *testing.T, server *api) {
			a := server.joinOver(t, &wire{api: server, is: stuck}, "a", nil)
			<-time.After(time.Second)
			begun := time.Now()
			if err := a.leave(); err != nil || time.Since(begun) > deadline {
				t.Errorf("%v after %s", err, time.Since(begun))
			}
			<-time.After(time.Hour)
		},
		"of a standby that is cut off": func(t *testing.T, server *api) {
			server.join(t, "b", nil).leads(time.Second)
			a := server.joinOver(t, &wire{api: server, is: swallow}, "a", nil)
			<-time.After(time.Minute)
			begun := time.Now()
			if err := a.leave(); err != nil || time.Since(begun) > time.Second {
				t.Errorf("%v after %s", err, time.Since(begun))
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { do(t, new(api)) })
		})
	}
}

// A standby could take over as long as it reads the Lease and nothing is refused.
func TestWhoCouldLead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var server api
		a := server.join(t, "a_1", nil)
		a.leads(time.Second)
		b := server.joinOver(t, &wire{api: &server, is: swallow}, "b_1", nil)
		want := func(r *replica, could bool, when string) {
			t.Helper()
			if r.CouldLead() != could {
				t.Errorf("%s, %s: could lead %t (%s)", r.name, when, !could, r.Status().Standby())
			}
		}
		want(b, false, "before it has read the Lease")
		for _, row := range []struct {
			name string
			is   weather
			then bool
		}{{"fine", fine, true}, {"swallowed", swallow, false}, {"refused", refuse, false}, {"broken", broken, false}, {"fine again", fine, true}} {
			b.wire.set(row.is)
			<-time.After(duration + longRetry)
			want(b, row.then, row.name)
		}
		want(a, false, "leading")
		b.wire.set(stuck) // a request that hangs for ever tells of no failure
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
			t.Errorf("%q led before b_1", got)
		}
		c := server.joinOver(t, &wire{api: &server, is: refuse, only: http.MethodPost}, "c_1", nil)
		server.edit(nil)
		<-b.gone
		<-time.After(longRetry)
		want(c, false, "when it may not make the Lease")
		b = server.join(t, "b_1", nil)
		<-time.After(time.Minute)
		want(c, true, "when somebody else has made it")
		_ = b.leave()
		c.leads(longRetry + time.Second)
		if got := a.Former() + ", " + c.Former(); got != ", b_1" {
			t.Errorf("who led before: %q", got)
		}
	})
}

func TestWordsOfAStandby(t *testing.T) {
	fault := http.ErrServerClosed
	seen := time.Date(2026, 11, 22, 3, 4, 5, 0, time.UTC)
	for _, row := range []struct {
		s    lead.Status
		want string
	}{
		{lead.Status{Identity: "a"}, "nobody leads yet"},
		{lead.Status{Identity: "a", Fault: fault}, "nobody leads, as far as is known: http: Server closed"},
		{lead.Status{Identity: "a", Holder: "b", Seen: seen}, "b leads"},
		{lead.Status{Identity: "a", Holder: "b", Seen: seen, Fault: fault}, "b led when the Lease was seen last, at 03:04:05Z; since then: http: Server closed"},
		{lead.Status{Identity: "a", Holder: "a", Seen: seen}, "it leads no more: its Lease could not be renewed in time"},
	} {
		if got := row.s.Standby(); got != row.want {
			t.Errorf("%q, want %q", got, row.want)
		}
	}
}
