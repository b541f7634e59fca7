package gateway_test

import (
	"context"
	"flag"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/gateway"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakebmo"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// RoundTrip is the way from the operator to the gateway.
func (l *lab) RoundTrip(r *http.Request) (*http.Response, error) {
	in := r.Clone(r.Context())
	in.Host, in.URL.Host, in.URL.Scheme = r.URL.Host, "", ""
	w := httptest.NewRecorder()
	l.gate.ServeHTTP(w, in)
	return w.Result(), nil
}

// newOperator has a host for each node of the fleet. Each asks for capacity as BMO does,
// with its PROVISIONING_LIMIT.
func newOperator(l *lab, limit int) *fakebmo.Operator {
	l.Helper()
	client, err := fakebmo.NewClient("http://gateway.test:6390", &released{next: l, inspected: map[string]bool{}})
	if err != nil {
		l.Fatal(err)
	}
	o := fakebmo.Options{
		Workers: 32, Ironic: client, Capacity: fakebmo.BuiltIn(client, limit), Timings: fakebmo.DefaultTimings(), Speed: 1, Seed: 1,
	}
	o.Timings.Act = fakebmo.Span{} // it would keep hosts from asking
	o.Timings.Ready = 0
	l.ironic.With(func(now time.Time, w *fakeironic.World) {
		for _, uuid := range l.uuids {
			n, _ := w.Node(now, uuid)
			host := fakebmo.Host{Name: n.Name, Provision: true}
			if namespace, name, ok := strings.Cut(n.Name, "~"); ok {
				host.Namespace, host.Name = namespace, name
			}
			o.Hosts = append(o.Hosts, host)
		}
	})
	op, err := fakebmo.New(o)
	if err != nil {
		l.Fatal(err)
	}
	return op
}

// during plays the operator and the polls: until they have settled, and from begin on for
// d more.
func (l *lab) during(op *fakebmo.Operator, settle, d time.Duration, begin func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var parts sync.WaitGroup
	parts.Go(func() { _ = op.Run(ctx) })
	parts.Go(func() { _ = l.poller.Run(ctx) })
	<-time.After(settle)
	begin()
	<-time.After(d)
	cancel()
	parts.Wait()
}

// whole plays what waiting costs at full length (make search), not a short taste of it.
var whole = flag.Bool("gateway.whole", false, "play the cost of waiting hosts at full length")

// What 200 hosts that wait for a slot cost Ironic, each as a real BMO asks for it
// (docs/dev/reference/bmo.md): the capacity list, the node, its ports, firmware, inventory, then the PUT,
// every three to four seconds.
func TestGW18_WhatWaitingHostsCost(t *testing.T) {
	// The polls are for all hosts together: the fewer there are, the more for each.
	const few = 50
	both, minutes, most := 20.0, 1, 0.3
	if *whole {
		both, minutes, most = 200, 10, 0.05
	}
	for _, row := range []struct {
		name         string
		lists, reads bool
		hosts        float64 // fewer where each of them makes much to play
		minutes      int
		most         float64 // requests a second for each host; 0: nothing is demanded, it is for comparison
	}{
		{"neither", false, false, few, 1, 0},
		{"GW-11 only", true, false, few, 1, 0},
		{"GW-18 only", false, true, few, 1, 0},
		{"both", true, true, both, minutes, most},
	} {
		t.Run(row.name, func(t *testing.T) {
			if row.most == 0 && !*whole {
				t.Skip("only with -gateway.whole")
			}
			synctest.Test(t, func(t *testing.T) {
				l := newLab(t, labOptions{
					limit: 1,
					fake: func(o *fakeironic.Options) {
						o.API.MaxMinor = 96
						o.Fleet.Nodes, o.Fleet.Start = int(row.hosts)+1, ironic.Manageable
						o.Durations.InspectRun = fakeironic.Span{Min: 10 * time.Hour, Max: 10 * time.Hour}
						o.Durations.Callback = 20 * time.Hour
					},
					gate: func(o *gateway.Options) {
						if o.ReadCache = row.reads; !row.lists {
							o.Nodes = nil
						}
					},
				})
				defer l.close()
				op := newOperator(l, 1_000_000)
				var before fakeironic.Requests
				var counts fakebmo.Counts
				d := time.Duration(row.minutes) * time.Minute
				l.during(op, 2*time.Minute, d, func() {
					before, counts = l.ironic.Truth().Requests, op.Counts()
					l.wire.count()
				})
				n := l.ironic.Truth().Requests
				busy := op.Counts().Busy - counts.Busy
				cost := float64(n.All-before.All) / (row.hosts * d.Seconds())
				t.Logf("%-10s %.4f requests/s and host at Ironic (of these lists %.4f); each asked every %.1f s",
					row.name, cost, float64(n.Lists-before.Lists)/(row.hosts*d.Seconds()), row.hosts*d.Seconds()/float64(busy))
				if float64(busy) < row.hosts*d.Seconds()/5 {
					t.Errorf("only %d refusals: the hosts do not wait", busy)
				}
				if row.most > 0 && cost > row.most {
					t.Errorf("%.4f requests/s and host reach Ironic, want at most %v", cost, row.most)
				}
			})
		})
	}
}

// 500 hosts that their operator has delayed ask every one or two minutes. All that costs
// one full list per LIST_MAX_AGE.
func TestGW11_DelayedHostsShareOneList(t *testing.T) {
	hosts, minutes := 40, 2
	if *whole {
		hosts, minutes = 500, 10
	}
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, labOptions{limit: 1, fake: func(o *fakeironic.Options) {
			o.API.MaxMinor = 96
			o.Fleet.Nodes, o.Fleet.Start = hosts+1, ironic.Manageable
			o.Durations.InspectRun = fakeironic.Span{Min: 10 * time.Hour, Max: 10 * time.Hour}
			o.Durations.Callback = 20 * time.Hour
		}})
		defer l.close()
		op := newOperator(l, 1)
		var counts fakebmo.Counts
		l.during(op, 2*time.Minute, time.Duration(minutes)*time.Minute, func() { counts = op.Counts(); l.wire.count() })
		asks := op.Counts().Asks - counts.Asks
		lists := l.wire.counts("/v1/nodes?fields=uuid,name,provision_state,boot_interface,conductor_group")
		others := l.wire.counts("fields=uuid%2Cname%2Cprovision_state%2Cboot_interface")
		t.Logf("%d asks, %d lists of all nodes by us, %d passed through, %d requests of any kind", asks, lists, others, l.wire.counts(""))
		if asks < hosts*minutes/2 || lists > minutes+1 || others != 0 {
			t.Errorf("%d asks cost %d lists and %d passed through, want at most one in a minute", asks, lists, others)
		}
	})
}
