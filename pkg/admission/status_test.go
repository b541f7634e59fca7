package admission_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/nodes"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// The headline is the one thing that matters now: what stops everybody, then what stops some, then the slots.
func TestTheHeadlineSaysWhatMatters(t *testing.T) {
	const failed = `ironic a deploying agent; +5s poll; ironic a deploy_failed error=x; +5s poll; `
	const opens = `ironic h1..h2 deploying agent; +5s poll; ironic h1..h2 deploy_failed error=x; +5s poll; `
	for _, row := range []struct{ settings, lines, want string }{
		{"", `away; trip ironic`, "This replica stands by: another one decides."},
		{"fresh", `ask a provision`, "Nothing new starts: no poll of Ironic has succeeded yet."},
		{"fresh", `fail no route to host`, "Nothing new starts: no poll of Ironic has succeeded yet (no route to host)."},
		{"fresh", `poll; ask a provision`,
			"Nothing new starts yet: the throttle has just started and is finding out who is at work."},
		{"", `ask a provision; +5m fail down; ask b provision`,
			"Nothing new starts: the last good poll of Ironic was 5m ago (down); 1 host waits."},
		{"", `fail down; +1s poll; +31s ask b none`,
			"Nothing new starts: the last good poll of Ironic was 31s ago; no host waits."},
		{"breaker=2", opens + `ask b provision`,
			"Nothing starts: breaker ironic is OPEN, probes in 15m; 1 host is stopped."},
		{"breaker=2 limit=4", opens + `+15m poll; ask a provision; +1s poll`,
			"Nothing starts: breaker ironic is HALF_OPEN, 1 of 2 probes run; no host waits."},
		{"limit=1", `ironic a available; ask a provision; ask b provision; +1m poll 3; +1m poll; +1m poll`,
			"No ask has come for 3m, and 1 host waits: is BMO running?"},
		{"limit=8 maxfailed=0 holdoff=1h", failed + `trip group:rack; ask b provision; poll; ask b provision`,
			"Breaker group:rack is OPEN, probes in 15m; the default conductor group is paused; 1 failed host is held; " +
				"0 of 8 slots are taken, 1 host is stopped."},
		{"limit=1", `ironic a available; ask a provision; ask b provision; ask c provision`,
			"1 of 1 slots are taken, 2 hosts wait."},
		{"", ``, "0 of 2 slots are taken, no host waits."},
		{"limit=1", `ironic a available; ask a provision; ask b provision; ironic a deploying; +5s poll; ironic a active; +25s poll`,
			"1 slot is free; 1 host waits: the first in line, metal3/b, has not asked again for 30s."},
		{"limit=1", `ask a provision; ask b provision; ask c provision; ironic a deploying; +40s poll; ask b provision
			ironic a active; +5s poll`, "0 of 1 slots are taken, 2 hosts wait."},
		{"limit=1 observe", `ironic a deploying agent; +5s poll`,
			"Mode observe: nothing is refused. 1 of 1 slots are taken."},
		{"limit=1 observe", `ironic h1..h3 deploying agent; +5s poll`,
			"Mode observe: nothing is refused. 3 of 1 slots are taken: enforce would let 2 hosts wait."},
	} {
		s, err := newStage(row.settings)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.all(strings.ReplaceAll(row.lines, "\n", ";")); err != nil {
			t.Fatal(err)
		}
		if got := s.Status(s.now).Headline; got != row.want {
			t.Errorf("%s\n got %q\nwant %q", row.lines, got, row.want)
		}
	}
}

// While nobody knows who is at work, the first in line is promised nothing; when a slot is free for it, it waits for 0 s.
func TestWhatTheFirstInLineIsPromised(t *testing.T) {
	for _, row := range []struct {
		settings, lines string
		promised        bool
	}{
		{"fresh", "ask a provision; poll; ask a provision", false},
		{"limit=1", "ask b provision; ask a provision; ironic b deploying; +5s poll; ironic b active; +5s poll", true},
	} {
		s, err := newStage(row.settings)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.all(row.lines); err != nil {
			t.Fatal(err)
		}
		q := s.QueueOf(s.now, api.QueueQuery{Limit: 1}).Pools[0]
		if len(q.Hosts) != 1 || q.Hosts[0].Position != 1 {
			t.Fatalf("%s: queue %+v, want a host in the first place", row.lines, q)
		}
		if seconds := q.Hosts[0].ExpectSeconds; (seconds != nil) != row.promised || row.promised && *seconds != 0 {
			t.Errorf("%s: queue %+v", row.lines, q)
		}
	}
}

// The queue can be had of one namespace, of those that were told a reason, and cut.
func TestTheQueueIsFiltered(t *testing.T) {
	s, err := newStage("limit=3 holdoff=1h group:rack=1")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.all(strings.ReplaceAll(`ironic a available; ironic b available group=rack
		ironic f deploying agent; poll; ironic f deploy_failed error=x; ask a provision; ask b provision; poll; +50s poll; ask f provision
		ironic h1..h3 available; ask h1..h3 provision; ask beta/c provision; poll
		ironic r available group=rack; ask r provision; poll
		ask a provision; ask b provision; ask h1..h3 provision; ask beta/c provision; ask r provision
		ask p provision planned; poll; ask p provision planned`, "\n", ";")); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		query api.QueueQuery
		want  string
	}{
		{api.QueueQuery{Limit: 10}, "beta/c,h2,h3,r"},
		{api.QueueQuery{Limit: 10, Namespace: "beta"}, "beta/c"},
		{api.QueueQuery{Limit: 10, Reason: api.ReasonHold}, "f"},
		{api.QueueQuery{Limit: 10, Reason: api.ReasonPlannedYields}, "p"},
		{api.QueueQuery{Limit: 0, Reason: api.ReasonFull}, ""},
	} {
		var got []string
		for _, pool := range s.QueueOf(s.now, row.query).Pools {
			for _, h := range pool.Hosts {
				got = append(got, nodes.Host(h.NodeUUID, h.Name))
			}
		}
		if strings.Join(got, ",") != row.want {
			t.Errorf("%+v: %q, want %q", row.query, got, row.want)
		}
	}
}

func TestWhatAnOperatorCannotDo(t *testing.T) {
	const fails = "ironic a deploying agent; +5s poll; ironic a deploy_failed error=x; +5s poll; "
	for _, row := range []struct{ settings, lines, want string }{
		{"", "release a", "404: name: metal3/a has not failed"},
		{"holdoff=1h", fails + "release a before", `409: episode: "before" is not the present one`},
		{"breaker=off", "trip ironic", "404: scope: ironic has no breaker"},
		{"", "trip ironic:a", `400: scope: "ironic:a" must be ironic or group:NAME`},
		{"", "trip group", "400"},
		{"", "trip host:a", "400"},
	} {
		s, err := newStage(row.settings)
		if err != nil {
			t.Fatal(err)
		}
		if s.Breakers(s.now).Enabled != (row.settings != "breaker=off") {
			t.Errorf("%q: are there breakers? %+v", row.settings, s.Breakers(s.now))
		}
		if _, err := s.all(row.lines); err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: error %v, want one with %q", row.lines, err, row.want)
		}
	}
}

func TestSettingsThatAreWrongAreNamed(t *testing.T) {
	for settings, want := range map[string]string{
		"limit=0": "limit: 0", "breaker=0": "breaker of the whole Ironic: ", "breaker=1": "failure threshold: 1 would let one host open it",
		"weight:beta=101": `weight of tenant "beta"`, "holdoff=-1h": "timeout: -1h0m0s", "maxfailed=-1": "max failed",
		"group:rack=9": `limit of conductor group "rack": 9`,
	} {
		if _, err := newStage(settings); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one with %q", settings, err, want)
		}
	}
	s, err := newStage("limit=3")
	if err != nil {
		t.Fatal(err)
	}
	before := s.everything()
	if _, err := s.all("limit 0"); err == nil {
		t.Error("a limit of 0 was taken")
	}
	if _, err := s.all("mode both"); err == nil {
		t.Error("a mode that is none was taken")
	}
	if diff := cmp.Diff(before, s.everything()); diff != "" {
		t.Errorf("what was refused has changed something: %s", diff)
	}
}
