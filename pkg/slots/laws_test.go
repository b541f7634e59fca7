package slots_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

// history is a random life of a few hosts, in lines of stage.do, and what it comes to in truth.
type history struct {
	*stage
	twin  *stage // does the same, and must answer the same
	lines []string
	// may is until when a host may start on its last yes, and out its PUT that may still be carried out: the gateway
	// has it, or its outcome is unknown since then.
	may map[string]time.Time
	out map[string]*flight

	sentAt time.Time // when the poll that is on its way was sent
}

type flight struct {
	name   string
	sent   bool
	broken time.Time
}

// A yes to a host without a slot is good for LeaseTTL, and one to a host that has one for Linger. Ironic carries a PUT
// whose answer was lost out within Settle, or never. What clients and Ironic do here is a little faster.
const (
	afterGrant = 4 * time.Minute
	afterHeld  = 40 * time.Second
	afterLoss  = 50 * time.Second

	pollTimeout = 30 * time.Second
)

func (h *history) play(t *rapid.T, line string) string {
	h.lines = append(h.lines, line)
	h.line, h.told, h.twin.told = len(h.lines), nil, nil
	result, err := h.do(line)
	if err != nil {
		t.Fatal(err)
	}
	same, err := h.twin.do(line)
	if err != nil || same != result || h.stage.String() != h.twin.String() || !slices.Equal(h.told, h.twin.told) {
		t.Fatalf("%s\ntwice the same events: %q %q %s, then %q %q %s", h, result, h.told, h.stage, same, h.twin.told, h.twin)
	}
	if wrong := h.inconsistent(); wrong != "" {
		t.Fatalf("%s\n%s", h, wrong)
	}
	return result
}

func (h *history) String() string { return strings.Join(h.lines, "\n") + "\n" + h.stage.String() }

func (h *history) busy(host string) bool {
	return h.ironic.State(host).Busy()
}

// begun counts the hosts that are at work on a yes, or may be in a moment.
func (h *history) begun() (n int) {
	for _, host := range hosts {
		f := h.out[host]
		if h.busy(host) || h.now.Before(h.may[host]) || f != nil && (f.broken.IsZero() || h.now.Sub(f.broken) < afterLoss) {
			n++
		}
	}
	return n
}

var hosts = []string{"a", "b", "c", "d", "e"}

// step plays one more line, of those that make sense now.
func (h *history) step(t *rapid.T) {
	host := rapid.SampledFrom(hosts).Draw(t, "host")
	op, first := "provision", rapid.SampledFrom([]string{"deploying", "cleaning"}).Draw(t, "first")
	if h.ironic.State(host) == "active" {
		op, first = "deprovision", "deleting"
	}
	f, past := h.out[host], rapid.SampledFrom([]string{"", "+1s ", "+5s ", "+20s ", "+45s ", "+5m "}).Draw(t, "past")
	switch verb := rapid.SampledFrom(verbs).Draw(t, "verb"); {
	case verb == "poll" && h.sent["w"] == nil, verb == "fail":
		h.play(t, past+verb)
	case verb == "send" && h.sent["w"] == nil: // a poller sends one poll after the other
		h.sentAt = h.now
		h.play(t, "send w "+rapid.SampledFrom([]string{"", host}).Draw(t, "whom"))
	case verb == "come" && h.sent["w"] != nil && h.now.Sub(h.sentAt) < pollTimeout:
		h.play(t, "come w")
	case verb == "come" && h.sent["w"] != nil:
		delete(h.sent, "w")
		delete(h.twin.sent, "w")
		h.play(t, "fail")
	case verb == "term" && h.now.Sub(start) > 10*time.Minute:
		h.play(t, verb)
		h.lead()
	case verb == "ask" && f == nil:
		how := rapid.SampledFrom([]string{"", " name", " uuid"}).Draw(t, "how")
		h.asked(host, h.play(t, "ask "+host+" "+op+how))
	case verb == "put" && f == nil:
		name := fmt.Sprintf("p%d", len(h.lines))
		target := map[string]string{"deploying": "active", "cleaning": "clean", "deleting": "deleted"}[first]
		if result := h.play(t, "put "+name+" "+host+" "+target); result == "granted" || result == "held" {
			h.out[host], h.may[host] = &flight{name: name}, time.Time{} // it goes by this one
		}
	case verb == "start" && h.now.Before(h.may[host]) && !h.busy(host) && f == nil:
		h.may[host] = time.Time{}
		h.play(t, "ironic "+host+" "+first)
	case verb == "start" && f != nil:
		h.fly(t, host, first, f)
	case verb == "end" && h.busy(host):
		h.play(t, past+"ironic "+host+" "+rapid.SampledFrom(ends).Draw(t, "end"))
	}
}

var (
	verbs = strings.Fields("poll ask start poll ask start poll ask start end ask end put send come fail term")
	ends  = []string{
		"active", "available", "manageable", "deploy_failed error=x", "deploy_failed lock", "clean_failed",
		"wait_call-back agent", "cleaning",
	}
)

// lead notes that another process decides from now on: what the one before let start starts within its settle.
func (h *history) lead() {
	for _, host := range hosts {
		if until := h.now.Add(afterLoss); until.Before(h.may[host]) {
			h.may[host] = until
		}
		if f := h.out[host]; f != nil && f.broken.IsZero() {
			f.broken = h.now
		}
	}
}

// asked notes until when the host may go by an answer. A yes to a host at work is for that work.
func (h *history) asked(host, answer string) {
	switch {
	case h.busy(host):
	case answer == "granted":
		h.may[host] = h.now.Add(afterGrant)
	case answer == "held":
		if until := h.now.Add(afterHeld); until.After(h.may[host]) {
			h.may[host] = until
		}
	default:
		h.may[host] = time.Time{}
	}
}

// fly brings a PUT one step further.
func (h *history) fly(t *rapid.T, host, first string, f *flight) {
	kind := rapid.IntRange(0, 3).Draw(t, "fate")
	idle := !h.busy(host)
	switch {
	case !f.broken.IsZero():
		if kind == 0 && idle && h.now.Sub(f.broken) < afterLoss {
			h.play(t, "ironic "+host+" "+first)
		}
		if kind == 0 || h.now.Sub(f.broken) >= afterLoss {
			delete(h.out, host)
		}
	case !f.sent && kind == 0:
		h.play(t, "unsent "+f.name)
		delete(h.out, host)
	case !f.sent:
		h.play(t, "sent "+f.name)
		f.sent = true
	case kind == 1 && idle:
		h.play(t, "ironic "+host+" "+first)
		h.play(t, "answered "+f.name+" 202")
		delete(h.out, host)
	case kind == 2:
		h.play(t, "broken "+f.name)
		f.broken = h.now
	case kind == 3:
		h.play(t, "answered "+f.name+" 409")
		delete(h.out, host)
	}
}

// Whatever clients and Ironic do, and however late answers come: never do more hosts work on a yes than there are
// slots; no slot ends by what was sent before the last yes; numbers are those that a count gives; the same events give
// the same answers; and a host is one host in the end, however it was named.
func TestRandomLivesKeepTheLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := &history{may: map[string]time.Time{}, out: map[string]*flight{}}
		h.stage, _ = newStage(func(c *slots.Config) { c.StuckAfter = 0 })
		h.twin, _ = newStage(func(c *slots.Config) { c.StuckAfter = 0 })
		for _, host := range hosts {
			h.play(t, "ironic "+host+" available")
		}
		h.play(t, "poll")
		h.play(t, "+1m poll")
		for range rapid.IntRange(1, 150).Draw(t, "steps") {
			h.step(t)
			if n := h.begun(); n > h.cfg.Total {
				t.Fatalf("%s\n%d hosts are at work on a yes, %d may", h, n, h.cfg.Total)
			}
			if h.early != "" {
				t.Fatalf("%s\n%s", h, h.early)
			}
		}
		for _, host := range hosts {
			h.play(t, "ask "+host+" provision")
			h.play(t, "+1s send w "+host)
			h.play(t, "come w")
		}
		if !h.is(fmt.Sprintf("hosts=%d", len(hosts)), "") {
			t.Fatalf("%s\nsome host is none, or two", h)
		}
	})
}
