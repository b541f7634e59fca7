package clusterhosts

import (
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/kube/hosts"
	"github.com/ironic-throttle/ironic-throttle/pkg/admission"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/holdoff"
	"github.com/ironic-throttle/ironic-throttle/pkg/sizing"
)

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

func (twoHosts) Knows(namespace string) bool { return namespace != "theirs" }

func host(namespace, name, node string) hosts.Host {
	return hosts.Host{Host: admission.Host{Namespace: namespace, Name: name, NodeUUID: node}}
}

// A node keeps the name of a host that was moved, and the host its errors.
func TestAMovedHostIsFoundByItsNode(t *testing.T) {
	const moved, other, unknown = "6e2b8a6e-0c1d-4e5f-8a9b-0c1d2e3f4a5b", "7e2b8a6e-0c1d-4e5f-8a9b-0c1d2e3f4a5b", "8e2b8a6e-0c1d-4e5f-8a9b-0c1d2e3f4a5b"
	k := &Hosts{Directory: twoHosts{
		"ns-02/lab": host("ns-02", "lab", moved),
		"ns-01/new": host("ns-01", "new", other),
		"ns-01/raw": host("ns-01", "raw", ""),
	}}
	for _, row := range [][4]string{
		{"ns-01", "lab", strings.ToUpper(moved), "ns-02/lab"},
		{"ns-01", "new", moved, "ns-02/lab"},
		{"ns-01", "new", strings.ToUpper(other), "ns-01/new"},
		{"ns-01", "new", "", "ns-01/new"},
		{"ns-01", "new", unknown, "/"},       // it is another one
		{"ns-01", "raw", moved, "ns-01/raw"}, // it may be about to get that node
		{"", "lab", moved, "ns-02/lab"},
		{"theirs", "lab", moved, "/"}, // that namespace cannot be read: it is there, perhaps
		{"ns-01", "lab", unknown, "/"},
		{"", "", "", "/"},
	} {
		h, ok := k.Host(row[0], row[1], row[2])
		if got := h.Namespace + "/" + h.Name; got != row[3] || ok != (got != "/") {
			t.Errorf("%v: %+v", row, h)
		}
	}
}

// Hold-offs of hosts are above those of the settings. What cannot be read is in the log, once.
func TestHoldoffsOfHosts(t *testing.T) {
	var log strings.Builder
	h := New(time.Now, slog.New(slog.NewTextHandler(&log, nil)))
	decision, err := admission.New(admission.DefaultConfig(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	h.Directory, h.Decision = twoHosts{}, decision
	settings := map[string]time.Duration{"metal3/a": time.Hour, "metal3/b": time.Hour}
	before := map[string]*hosts.Host{}
	asks := func(name, holdoff string) {
		now := host("metal3", name, "")
		now.Holdoff = holdoff
		h.Changed(before[name], &now)
		before[name] = &now
	}
	for _, step := range []struct {
		host, text string
		want       map[string]time.Duration // besides b
	}{
		{"a", "", map[string]time.Duration{"metal3/a": time.Hour}},
		{"a", "48h", map[string]time.Duration{"metal3/a": 48 * time.Hour}},
		{"c", "0", map[string]time.Duration{"metal3/a": 48 * time.Hour, "metal3/c": 0}},
		{"c", "soon", map[string]time.Duration{"metal3/a": 48 * time.Hour}},
		{"c", "", map[string]time.Duration{"metal3/a": 48 * time.Hour}},
		{"a", "876000h", map[string]time.Duration{"metal3/a": 48 * time.Hour}}, // others would be paused with it, by MAX_FAILED
	} {
		asks(step.host, step.text)
		step.want["metal3/b"] = time.Hour
		if got := h.Holdoffs(settings, 48*time.Hour); !maps.Equal(got, step.want) {
			t.Errorf("%s=%q: %v, want %v", step.host, step.text, got, step.want)
		}
	}
	if len(h.HoldoffsChanged()) != 1 {
		t.Error("nobody hears of it")
	}
	asks("c", "")
	asks("c", "soon")
	asks("c", "soon")
	const says = `host=metal3/c annotation="ironic-throttle.metal3.io/holdoff=soon" error="must be a duration`
	if strings.Count(log.String(), says) != 2 || strings.Count(log.String(), "\n") != 2 {
		t.Errorf("log: %s", &log)
	}
}

// Only the annotation of the host itself, with its episode, ends its hold.
func TestReleaseByAnnotation(t *testing.T) {
	const uuid = "6e2b8a6e-0c1d-4e5f-8a9b-0c1d2e3f4a5b"
	c := admission.DefaultConfig()
	c.Holdoff.Timeout = time.Hour
	decision, err := admission.New(c, time.Now())
	if err == nil {
		err = decision.Start(time.Now(), []holdoff.Record{{Version: holdoff.RecordVersion, UUID: uuid, Name: "metal3~lab", Episodes: []holdoff.EpisodeRecord{
			{ID: "first", Kind: holdoff.Deployment, State: "deploy failed", Failures: 1, Since: time.Now()},
		}}}, sizing.State{})
	}
	if err != nil {
		t.Fatal(err)
	}
	saved := 0
	h := New(time.Now, slog.New(slog.DiscardHandler))
	known := twoHosts{}
	h.Directory, h.Decision, h.HoldChanged = known, decision, func() { saved++ }
	for _, row := range []struct {
		host, release string
		held          bool
	}{{"lab", "", true}, {"lab", "another", true}, {"other", "first", true}, {"lab", "first", false}} {
		now := host("metal3", row.host, "")
		now.Release = row.release
		known["metal3/"+row.host] = now
		h.Changed(nil, &now)
		if held := decision.Holds(time.Now()).Hosts[0].Held; held != row.held || held == (saved > 0) {
			t.Errorf("%+v: held %t, saved %d times", row, held, saved)
		}
	}
}

// An Event is read in the namespace of its host, and tells nothing of others.
func TestEventsDoNotTellOfOthersHosts(t *testing.T) {
	for _, reason := range api.Reasons() {
		a := forTenant(api.Answer{Reason: reason, Message: "1 host of secret: Timeout", Position: 3})
		storm := slices.Contains([]api.Reason{api.ReasonBreakerOpen, api.ReasonHalfOpen, api.ReasonShortCircuit}, reason)
		if strings.Contains(a.Message, "secret") == storm || a.Reason != reason || a.Position != 3 {
			t.Errorf("%+v", a)
		}
	}
}
