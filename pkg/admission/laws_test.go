package admission_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/nodes"
	"github.com/ironic-throttle/ironic-throttle/pkg/admission"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// Whoever only asks what would be changes nothing that anybody is told: status, queue, holds and what is saved stay the
// same to the byte. And it is told the same as whoever asks in earnest, directly after. And whatever changes something
// changes Revision. Random histories of a few hosts of two tenants have failures, breakers and holds.
func TestDryRunsAndReadsChangeNothing(t *testing.T) {
	const settings = "limit=3 group:rack=1 holdoff=10m breaker=3 maxfailed=60% rate=4 weight:beta=2"
	hosts := map[string]string{
		"a": "", "b": "", "c": "", "d": "errors=3", "e": "errors=1", "beta/f": "", "beta/g": "",
	}
	lines := []string{
		"poll", "+5s poll", "+5s poll", "+20s poll", "+2m poll", "+11m poll", "fail down", "trip group:rack", "reset ironic",
		"ask HOST provision", "ask HOST provision", "ask HOST deprovision", "ask HOST none", "ask HOST provision name",
		"ask HOST provision uuid", "ask HOST provision planned", "ask HOST inspect",
		"ironic HOST deploying", "ironic HOST deploying agent", "ironic HOST active", "ironic HOST available",
		"ironic HOST available group=rack", "ironic HOST deploy_failed error=x", "ironic HOST gone",
		"limit 2", "limit 3", "start", "saved",
		"put p HOST active; sent p; answered p 202", "put p HOST active; sent p; broken p", "put p HOST active; unsent p",
	}
	rapid.Check(t, func(t *rapid.T) {
		s, err := newStage(settings)
		if err != nil {
			t.Fatal(err)
		}
		history := []string{"ironic a available; ironic c available group=rack; ironic d available; ironic beta/f available"}
		if _, err := s.all(history[0]); err != nil {
			t.Fatal(err)
		}
		for range rapid.IntRange(1, 60).Draw(t, "lines") {
			host := rapid.SampledFrom(slices.Sorted(maps.Keys(hosts))).Draw(t, "host")
			line := strings.ReplaceAll(rapid.SampledFrom(lines).Draw(t, "line"), "HOST", host)
			if strings.HasPrefix(line, "ask") {
				line += " " + hosts[host]
			}
			history = append(history, line)
			before := s.everything()
			dry, err := s.dry(host, line)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(before, s.everything()); diff != "" {
				t.Fatalf("%s\nis asked dry, and that changes %s", strings.Join(history, "\n"), diff)
			}
			revision := s.Revision()
			result, err := s.try(line)
			if !strings.HasPrefix(line, "+") && s.Revision() == revision && s.everything() != before {
				t.Fatalf("%s\nchanges %s, and Revision says nothing", strings.Join(history, "\n"), cmp.Diff(before, s.everything()))
			}
			if err != nil || strings.HasPrefix(line, "ask") && result != dry && !(turns[result] && turns[dry]) {
				t.Fatalf("%s\nis %q, and was foreseen as %q: %v", strings.Join(history, "\n"), result, dry, err)
			}
		}
	})
}

// turns are the answers that go by the order: an ask in earnest takes those out of the line first that ask no more.
var turns = map[string]bool{"granted": true, "full": true, "turn": true, "failing-cap": true}

// dry asks about a host whatever can be asked without a change; where line is an ask, the result is that of a dry run.
func (s *stage) dry(host, line string) (result string, err error) {
	namespace, name, _ := strings.Cut(nodes.Name(host), "~")
	s.Why(s.now, namespace, name)
	s.Vacancy(s.now)
	s.Stands(s.now, namespace, name, nodes.UUID(host))
	s.HasSlot(s.now, nodes.UUID(host))
	if _, err = s.all("ask " + host + " provision dry"); err != nil || line[:3] != "ask" {
		return "", err
	}
	return s.all(line + " dry")
}

// try is all, of which a PUT may be refused.
func (s *stage) try(line string) (string, error) {
	put, rest, _ := strings.Cut(line, ";")
	result, err := s.all(put)
	if err != nil || rest == "" || strings.HasPrefix(put, "put") && !s.last.Ready {
		return result, err
	}
	return s.all(rest)
}

// everything is all that can be read.
func (s *stage) everything() string {
	out, err := json.MarshalIndent([]any{
		s.Status(s.now), s.QueueOf(s.now, api.QueueQuery{Limit: 100}), s.Holds(s.now), s.Breakers(s.now), s.Sizing(s.now), s.UnsavedHolds(),
		s.Revision(), s.LearnedLimits(),
	}, "", " ")
	if err != nil {
		panic(err)
	}
	return string(out)
}

// From many goroutines at once, and with the race detector: never more hosts have a slot than there are.
func TestManyAtOnceNeverGoAboveTheLimit(t *testing.T) {
	const limit, hosts = 7, 40
	s, err := newStage(fmt.Sprintf("limit=%d", limit))
	if err != nil {
		t.Fatal(err)
	}
	now := s.now
	var work sync.WaitGroup
	for i := range hosts {
		work.Go(func() {
			host := fmt.Sprintf("h%d", i)
			ask := api.Ask{NodeUUID: nodes.UUID(host), Namespace: "metal3", Name: host, Op: api.OpProvision}
			for n := range 50 {
				at := now.Add(time.Duration(n) * 100 * time.Millisecond)
				answer, pass := s.Forward(at, ask, ironic.TargetActive)
				if pass != nil && (i+n)%3 > 0 {
					pass.Sent(at)
					pass.Answered(at, 200+(i+n)%2*209)
				} else if pass != nil {
					pass.Unsent(at)
				}
				again := s.IsReady(at, ask)
				if most := max(answer.Slots.Occupied, again.Slots.Occupied); most > limit {
					t.Errorf("%d slots are occupied", most)
				}
			}
		})
	}
	work.Go(func() {
		for n := range 50 {
			at := now.Add(time.Duration(n) * 100 * time.Millisecond)
			s.Observe(at, ironic.Observation{Mark: s.Begin(at), Whole: true})
			s.ObserveNode(at, ironic.NodeObservation{Key: nodes.UUID("h1"), Mark: s.Begin(at)})
			if n := s.Status(at).Slots.Total.Occupied; n > limit {
				t.Errorf("status: %d slots are occupied", n)
			}
			s.Why(at, "metal3", "h2")
			s.QueueOf(at, api.QueueQuery{Limit: 10})
		}
	})
	work.Wait()
}

// What one ask costs that finds nothing free, where each host asks every 90 s of virtual time.
func BenchmarkAskThatFindsNothingFree(b *testing.B) {
	for _, waiting := range []int{5_000, 100_000} {
		b.Run(fmt.Sprint(waiting), func(b *testing.B) {
			cfg := admission.DefaultConfig()
			cfg.Slots.MaxStale = 1000 * time.Hour
			c, err := admission.New(cfg, start)
			if err != nil {
				b.Fatal(err)
			}
			now := start.Add(time.Hour)
			c.Observe(now, ironic.Observation{Mark: c.Begin(now), Whole: true})
			asks := make([]api.Ask, waiting+cfg.Slots.Total)
			for i := range asks {
				asks[i] = api.Ask{
					NodeUUID: fmt.Sprintf("uuid-%d", i), Namespace: fmt.Sprintf("ns-%d", i%10), Name: fmt.Sprintf("h%d", i),
					Op: api.OpProvision,
				}
			}
			step, longest := 90*time.Second/time.Duration(len(asks)), time.Duration(0)
			ask := func(i int) {
				now = now.Add(step)
				before := time.Now()
				answer := c.IsReady(now, asks[i%len(asks)])
				longest = max(longest, time.Since(before))
				if i >= cfg.Slots.Total && answer.Ready && answer.Reason != api.ReasonHeldSlot {
					b.Fatalf("ask %d: %+v", i, answer)
				}
			}
			for i := range 2 * len(asks) {
				ask(i)
			}
			longest = 0
			b.ResetTimer()
			for i := range b.N {
				ask(i)
			}
			b.ReportMetric(float64(longest.Microseconds()), "µs-longest")
		})
	}
}
