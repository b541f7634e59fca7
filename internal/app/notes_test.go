package app

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/config"
	"github.com/ironic-throttle/ironic-throttle/internal/kube"
	"github.com/ironic-throttle/ironic-throttle/internal/kube/events"
	"github.com/ironic-throttle/ironic-throttle/internal/kube/hosts"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/admission"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/holdoff"
)

func noted(name string, change func(*hosts.Host)) *hosts.Host {
	h := &hosts.Host{Namespace: "metal3", Name: name}
	if change != nil {
		change(h)
	}
	return h
}

func TestHoldsOfHostsAreAboveThoseOfTheSettings(t *testing.T) {
	n := newHostNotes()
	settings := map[string]time.Duration{"metal3/a": time.Hour, "metal3/b": time.Hour}
	for _, step := range []struct {
		host, text string
		news       bool
		want       map[string]time.Duration
	}{
		{"metal3/a", "", false, settings},
		{"metal3/a", "48h", true, map[string]time.Duration{"metal3/a": 48 * time.Hour, "metal3/b": time.Hour}},
		{"metal3/a", "48h", false, map[string]time.Duration{"metal3/a": 48 * time.Hour, "metal3/b": time.Hour}},
		{"metal3/c", "0", true, map[string]time.Duration{"metal3/a": 48 * time.Hour, "metal3/b": time.Hour, "metal3/c": 0}},
		{"metal3/a", "soon", true, map[string]time.Duration{"metal3/a": time.Hour, "metal3/b": time.Hour, "metal3/c": 0}},
		{"metal3/c", "", true, settings},
	} {
		news, _ := n.note(step.host, step.text)
		got := n.over(settings, 48*time.Hour)
		if news != step.news || len(got) != len(step.want) {
			t.Errorf("%s=%q: news %v, %v, want %v", step.host, step.text, news, got, step.want)
		}
		for host, d := range step.want {
			if got[host] != d {
				t.Errorf("%s=%q: %s has %v, want %v", step.host, step.text, host, got[host], d)
			}
		}
	}
	if f := n.faults(); len(f) != 1 || !strings.Contains(f[0], `metal3/a: annotation ironic-throttle.metal3.io/holdoff="soon" is ignored: must be a duration`) {
		t.Errorf("%q", f)
	}
	for _, host := range []string{"b", "c", "d", "e", "f", "g"} {
		n.note("metal3/"+host, "-1h")
	}
	if f := n.faults(); len(f) != maxFaults+1 || f[maxFaults] != "annotations of 2 more hosts cannot be read" {
		t.Errorf("%q", f)
	}
	if f := n.fault("metal3", "g"); !strings.HasPrefix(f, `annotation ironic-throttle.metal3.io/holdoff="-1h" is ignored: must be`) || n.fault("metal3", "x") != "" {
		t.Errorf("%q", f)
	}
	n.note("metal3/a", "876000h") // others would be paused with it, by MAX_FAILED
	if got := n.over(settings, 48*time.Hour)["metal3/a"]; got != 48*time.Hour {
		t.Errorf("held for %v", got)
	}
	if len(settings) != 2 {
		t.Error("the settings were changed")
	}
}

// heldHost lets a failed host be known from before, in the settings' hold of an hour.
func heldHost(s *stage) {
	s.Helper()
	record := holdoff.Record{Version: holdoff.RecordVersion, UUID: "6e2b8a6e-0c1d-4e5f-8a9b-0c1d2e3f4a5b", Name: "metal3~lab", Episodes: []holdoff.EpisodeRecord{
		{ID: "first", Kind: holdoff.Deployment, State: "deploy failed", Failures: 1, Since: time.Now()},
	}}
	if err := s.app.controller.Start(time.Now(), []holdoff.Record{record}, true); err != nil {
		s.Fatal(err)
	}
	s.app.notes = newHostNotes()
	s.pass(70 * time.Second)
}

func (s *stage) lab(want api.Reason) {
	s.Helper()
	a := s.app.controller.IsReady(time.Now(), api.Ask{Namespace: "metal3", Name: "lab", NodeUUID: "6e2b8a6e-0c1d-4e5f-8a9b-0c1d2e3f4a5b", Op: api.OpProvision, DryRun: true})
	if a.Reason != want {
		s.Errorf("%+v, want %s", a, want)
	}
}

func anHour(o *Options, _ *fakeironic.Server) { o.Config.Holdoff.Timeout = time.Hour }

func TestBO10_ReleaseByAnnotation(t *testing.T) {
	play(t, anHour, func(s *stage) {
		heldHost(s)
		s.lab(api.ReasonHold)
		s.app.hostChanged(nil, noted("lab", func(h *hosts.Host) { h.Release = "another" }))
		s.lab(api.ReasonHold)
		if n := s.log.count("no effect", "present=first", "metal3/lab"); n != 1 {
			t.Errorf("%d lines", n)
		}
		s.app.hostChanged(nil, noted("other", func(h *hosts.Host) { h.Release = "first" })) // not its own
		s.lab(api.ReasonHold)
		with := noted("lab", func(h *hosts.Host) { h.Release = "first" })
		s.app.hostChanged(noted("lab", nil), with)
		s.lab(api.ReasonGranted)
		s.app.hostChanged(with, noted("lab", func(h *hosts.Host) { h.Release, h.ErrorCount = "first", 2 }))
		if n := s.log.count("hold released by annotation", "metal3/lab"); n != 1 {
			t.Errorf("%d lines", n)
		}
	})
}

// A failed host that has not asked since our start is known as the watch first shows it.
func TestBO11_TheWatchTellsWhatAFailedHostIsToBe(t *testing.T) {
	play(t, anHour, func(s *stage) {
		heldHost(s)
		is := func(spec string) *hosts.Host {
			return noted("lab", func(h *hosts.Host) { h.NodeUUID, h.Spec = "6e2b8a6e-0c1d-4e5f-8a9b-0c1d2e3f4a5b", spec })
		}
		s.app.hostChanged(nil, is("k1:a/b"))
		s.app.hostChanged(is("k1:a/b"), is("k1:c/b"))
		if puts := s.app.controller.UnsavedHolds(time.Now()).Puts; len(puts) != 1 || puts[0].Spec != "k1:a/b" {
			t.Errorf("%+v", puts)
		}
	})
}

func TestBO2_AHostsOwnHoldoff(t *testing.T) {
	play(t, anHour, func(s *stage) {
		heldHost(s)
		ctx, cancel := context.WithCancel(s.Context())
		defer cancel()
		go func() { _ = s.app.runNotes(ctx) }()
		s.lab(api.ReasonHold)
		mine := noted("lab", func(h *hosts.Host) { h.Holdoff = "0" })
		s.app.hostChanged(nil, mine)
		s.pass(time.Second)
		s.lab(api.ReasonGranted)
		// The settings are read again, and its own is still above them.
		c := s.app.force.Load().config
		c.Holdoff.Timeout = 2 * time.Hour
		s.app.apply(config.Update{Config: c})
		s.lab(api.ReasonGranted)
		s.app.hostChanged(mine, nil) // it is gone, and another one comes
		s.pass(time.Second)
		s.lab(api.ReasonHold)
	})
}

// Whoever may annotate hosts must not fill our log.
func TestAnnotationsFillNoLog(t *testing.T) {
	play(t, anHour, func(s *stage) {
		heldHost(s)
		bad := func(i int) *hosts.Host {
			return noted("lab", func(h *hosts.Host) { h.Holdoff, h.Release = fmt.Sprint(i), fmt.Sprint("e", i) })
		}
		for i := range 40 {
			s.app.hostChanged(bad(i), bad(i+1))
		}
		s.pass(notesGap)
		s.app.hostChanged(bad(40), bad(41))
		for _, words := range [][]string{
			{"level=WARN", "annotation of a host is ignored", "host=metal3/lab", "before=0"}, {"level=WARN", "annotation of a host is ignored", "before=39"},
			{"level=INFO", "has no effect", "before=0"}, {"level=INFO", "has no effect", "before=39"},
		} {
			if n := s.log.count(words...); n != 1 {
				t.Errorf("%d lines with %q", n, words)
			}
		}
		if n := s.log.count("ignored"); n != 2 {
			t.Errorf("%d lines", n)
		}
	})
}

// The owner of a host sees neither our log nor the status.
func TestAnIgnoredAnnotationIsAnEvent(t *testing.T) {
	cluster, err := kube.Connect(kube.Options{Kubeconfig: kubeconfig(t)})
	if err != nil {
		t.Fatal(err)
	}
	told, err := events.New(events.Options{Config: cluster.Config, Find: func(string, string) (string, bool) { return "uid", true }})
	if err != nil {
		t.Fatal(err)
	}
	a := &App{log: slog.New(slog.DiscardHandler), now: time.Now}
	a.notes, a.recorder, a.hosts = newHostNotes(), told, directoryOf(t, cluster)
	pending := func(want int) {
		t.Helper()
		if n := told.Stats().Events.Pending; n != want {
			t.Errorf("%d Events to send, want %d", n, want)
		}
	}
	bad := noted("lab", func(h *hosts.Host) { h.Holdoff = "soon" })
	a.hostChanged(nil, bad) // another one leads
	pending(0)
	a.begun.Store(true)
	a.hostChanged(noted("lab", nil), bad)
	pending(1)
	a.hostChanged(bad, noted("lab", nil))
	pending(0)
}

func directoryOf(t *testing.T, cluster *kube.Cluster) *hosts.Directory {
	t.Helper()
	d, err := hosts.New(hosts.Options{Config: cluster.Config})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// twoHosts is a directory: lab was moved to ns-02, and a new one has its old name.
type twoHosts map[string]hosts.Host

func (d twoHosts) ByName(namespace, name string) (hosts.Host, bool) {
	h, ok := d[namespace+"/"+name]
	return h, ok
}

func (d twoHosts) ByNode(uuid string) (hosts.Host, bool) {
	for _, h := range d {
		if strings.EqualFold(h.NodeUUID, uuid) {
			return h, true
		}
	}
	return hosts.Host{}, false
}
func (twoHosts) BrokenSince(string) time.Time { return time.Time{} }

// A node keeps the name of a host that was moved, and the host its errors.
func TestLH28_AMovedHostIsFoundByItsNode(t *testing.T) {
	const moved, anew = "6e2b8a6e-0c1d-4e5f-8a9b-0c1d2e3f4a5b", "7e2b8a6e-0c1d-4e5f-8a9b-0c1d2e3f4a5b"
	d := twoHosts{
		"ns-02/lab": {Namespace: "ns-02", Name: "lab", NodeUUID: moved, ErrorCount: 6},
		"ns-01/new": {Namespace: "ns-01", Name: "new", NodeUUID: anew},
		"ns-01/raw": {Namespace: "ns-01", Name: "raw"},
	}
	for _, row := range []struct{ namespace, name, uuid, want string }{
		{"ns-01", "lab", moved, "ns-02/lab"},
		{"ns-01", "lab", strings.ToUpper(moved), "ns-02/lab"},
		{"ns-01", "new", moved, "ns-02/lab"},
		{"ns-01", "new", strings.ToUpper(anew), "ns-01/new"},
		{"ns-01", "new", "", "ns-01/new"},
		{"ns-01", "new", "8e2b8a6e-0c1d-4e5f-8a9b-0c1d2e3f4a5b", "ns-01/new"}, // as before: the decision sees that it is another
		{"ns-01", "raw", moved, "ns-01/raw"},                                  // it may be about to get that node
		{"", "", moved, "ns-02/lab"},
		{"", "lab", moved, "ns-02/lab"},
		{"ns-01", "lab", "", "/"},
		{"ns-01", "lab", "8e2b8a6e-0c1d-4e5f-8a9b-0c1d2e3f4a5b", "/"},
	} {
		k := knownHosts{d, time.Now}
		h, ok := k.Host(row.namespace, row.name, row.uuid)
		if got := h.Namespace + "/" + h.Name; got != row.want || ok != (row.want != "/") || h.Name == "lab" && h.ErrorCount != 6 {
			t.Errorf("%s/%s %s: %+v, want %s", row.namespace, row.name, row.uuid, h, row.want)
		}
	}
}

func TestKnownHostsAnswerByNameOrNode(t *testing.T) {
	cluster, err := kube.Connect(kube.Options{Kubeconfig: kubeconfig(t)})
	if err != nil {
		t.Fatal(err)
	}
	d := directoryOf(t, cluster)
	var h admission.Hosts = knownHosts{d, time.Now}
	for _, q := range [][3]string{{"metal3", "lab", ""}, {"", "", "6e2b8a6e-0c1d-4e5f-8a9b-0c1d2e3f4a5b"}, {"", "", ""}, {"metal3", "", ""}} {
		if got, ok := h.Host(q[0], q[1], q[2]); ok {
			t.Errorf("%q: %+v", q, got)
		}
	}
}
