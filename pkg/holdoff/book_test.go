package holdoff_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/holdoff"
)

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// desk carries out steps that are written as words on the host with node a, and answers each with one word:
//
//	fails KIND TOKEN [key=value…]   its work of that kind has failed
//	ask OP [key=value…]             free, or hold:FAILURES:REST; it notes the ask too
//	look OP [key=value…]            the same without noting it
//	good KIND, active, gone, tick, release
//
// Keys are uid, spec, state, and the words deleting, left, bare, failed, instance; release=TOKEN is the annotation.
type desk struct {
	t     testing.TB
	book  *holdoff.Book
	now   time.Time
	ids   map[string]string // of failures, by token
	ended []string
}

func newDesk(t testing.TB, change func(*holdoff.Config)) *desk {
	t.Helper()
	cfg := holdoff.DefaultConfig()
	cfg.Timeout = time.Hour
	if change != nil {
		change(&cfg)
	}
	d := &desk{t: t, now: start, ids: map[string]string{}}
	var err error
	if d.book, err = holdoff.New(cfg, func(e holdoff.Ended) { d.ended = append(d.ended, e.Name+" "+string(e.How)) }); err != nil {
		t.Fatal(err)
	}
	return d
}

func (d *desk) do(step string) string {
	words := strings.Fields(step)
	has := map[string]string{}
	for _, w := range words[1:] {
		key, value, _ := strings.Cut(w, "=")
		has[key] = value
	}
	flag := func(key string) bool { _, ok := has[key]; return ok }
	switch words[0] {
	case "fails":
		kind := holdoff.Kind(words[1])
		state := map[holdoff.Kind]string{holdoff.Inspection: "inspect failed", holdoff.Cleaning: "clean failed", holdoff.Deployment: "deploy failed"}[kind]
		fresh := d.book.Failed(d.now, holdoff.Failure{
			UUID: "a", Name: "metal3~a", UID: has["uid"], State: state, Token: words[2], Spec: has["spec"], Cause: "no boot device", Kind: kind,
		})
		e, _ := d.book.Entry(d.now, "a")
		d.ids[words[2]] = e.Episode
		return fmt.Sprint(fresh)
	case "ask", "look":
		a := holdoff.Ask{
			UUID: "a", Name: "metal3~a", UID: has["uid"], Op: api.Op(words[1]), State: api.BMHState(has["state"]), Deleting: flag("deleting"),
			Left: flag("left"), Bare: flag("bare"), Spec: has["spec"], DeployFailed: flag("failed"), Active: flag("instance"),
		}
		if flag("release") {
			a.Release = d.ids[has["release"]]
		}
		e := d.book.Judge(d.now, a)
		if words[0] == "ask" {
			d.book.Note(d.now, a)
		}
		if !e.Held {
			return "free"
		}
		return fmt.Sprintf("hold:%d:%v", e.Failures, e.Remaining)
	case "good":
		d.book.Succeeded(d.now, "a", holdoff.Kind(words[1]), false)
	case "active":
		d.book.Succeeded(d.now, "a", "", true)
	case "gone":
		d.book.Gone("a")
	case "tick":
		d.book.Tick(d.now)
	case "release":
		return fmt.Sprint(d.book.Release(d.now, "a"))
	default:
		d.t.Fatalf("no step %q", step)
	}
	return "ok"
}

// Each line of a script is "[+D ]step[ -> answer]".
func (d *desk) play(script string) {
	d.t.Helper()
	for _, line := range strings.Split(script, "; ") {
		step, want, asked := strings.Cut(line, " -> ")
		if first, rest, _ := strings.Cut(step, " "); first[0] == '+' || first[0] == '-' {
			by, err := time.ParseDuration(first)
			if err != nil {
				d.t.Fatal(err)
			}
			d.now, step = d.now.Add(by), rest
		}
		if got := d.do(step); asked && got != want {
			d.t.Errorf("%v %s: %s, want %s", d.now.Sub(start), step, got, want)
		}
	}
}

func TestHolds(t *testing.T) {
	remediate := func(c *holdoff.Config) { c.Stage = holdoff.Remediate }
	doubling := func(c *holdoff.Config) { c.Growth, c.GrowthCap = 2, 3*time.Hour }
	capped := func(c *holdoff.Config) { c.Growth, c.GrowthCap = 2, 0 }
	for _, of := range []struct {
		name   string
		change func(*holdoff.Config)
		script string
		ended  string
	}{
		{"a host that has failed waits from the failure on, whatever it wants to start", nil,
			"ask provision -> free; fails deployment 1 -> true; ask provision -> hold:1:1h0m0s; ask inspect -> hold:1:1h0m0s; ask prepare -> hold:1:1h0m0s; " +
				"+59m59.999999999s ask provision -> hold:1:1ns; +1ns ask provision -> free", "metal3~a time"},
		{"the same failure seen again changes nothing", nil,
			"fails deployment 1 -> true; +50m fails deployment 1 -> false; ask provision -> hold:1:10m0s", ""},
		{"unset, nobody waits", func(c *holdoff.Config) { c.Timeout = 0 }, "fails deployment 1 -> true; ask provision -> free; -10m ask provision -> free", ""},
		{"a host has its own time", func(c *holdoff.Config) { c.Hosts = map[string]time.Duration{"metal3/a": 2 * time.Hour} },
			"fails deployment 1; ask provision -> hold:1:2h0m0s", ""},
		{"a host of its own time 0 never waits", func(c *holdoff.Config) { c.Hosts = map[string]time.Duration{"metal3/a": 0} },
			"fails deployment 1; ask provision -> free", ""},
		{"each failure in a row holds longer, up to the cap", doubling,
			"fails deployment 1; +1h tick; fails deployment 2; ask provision -> hold:2:2h0m0s; +2h tick; fails deployment 3; ask provision -> hold:3:3h0m0s", "metal3~a time, metal3~a time"},
		{"a cap below the time shortens nothing", capped, "fails deployment 1; +1h fails deployment 2; ask provision -> hold:2:1h0m0s", ""},
		{"that BMO has deprovisioned it ends nothing", nil, "fails deployment 1; good cleaning; ask provision -> hold:1:1h0m0s", ""},
		{"success of the kind of work that failed ends it, and the row", nil,
			"fails cleaning 1; good cleaning; ask provision -> free; fails cleaning 2; ask provision -> hold:1:1h0m0s", "metal3~a success"},
		{"an active node ends it", nil, "fails inspection 1; active; ask provision -> free", "metal3~a success"},
		{"a deployment that has failed stays so when its cleaning fails and goes well", nil,
			"fails deployment 1; +30m fails cleaning 2 -> true; good cleaning; ask provision -> hold:2:1h0m0s; good deployment; ask provision -> free", "metal3~a success"},
		{"a node that leaves Ironic is forgotten", nil, "fails deployment 1; gone; ask provision -> free; fails deployment 2; ask provision -> hold:1:1h0m0s", "metal3~a gone"},
		{"a release lets it go, again changes nothing, and the next failure holds again", nil,
			"fails deployment 1; release -> true; ask provision -> free; release -> false; fails deployment 2; ask provision -> hold:2:1h0m0s", ""},
		{"a release by annotation is of one failure", nil,
			"fails deployment 1; fails deployment 2; ask provision release=1 -> hold:2:1h0m0s; look provision release=2 -> free; look provision -> hold:2:1h0m0s; ask provision release=2 -> free; ask provision -> free",
			"metal3~a hand"},
		{"another image is the repair", nil, "fails deployment 1 spec=k:a/b; ask provision spec=k:a/b -> hold:1:1h0m0s; ask provision spec=k:c/b -> free; ask provision spec=k:a/b -> free", "metal3~a spec"},
		{"so is another BMC, also where the image is taken away meanwhile", nil, "fails deployment 1 spec=k:a/b; ask provision spec=k:-/c -> free", "metal3~a spec"},
		{"with what a host failed before says nothing of a failure that nobody had asked before", nil,
			"fails deployment 1 spec=k:a/b; fails deployment 2; ask provision spec=k:c/b -> hold:2:1h0m0s; ask provision spec=k:d/b -> free", "metal3~a spec"},
		{"an image that is taken away and given back is none", nil, "fails deployment 1 spec=k:a/b; ask deprovision spec=k:-/b; ask provision spec=k:a/b -> hold:1:1h0m0s", ""},
		{"nor is another way to hash, nor a spec that becomes known", nil,
			"fails deployment 1; ask provision spec=k:a/b -> hold:1:1h0m0s; ask provision spec=l:x/y -> hold:1:1h0m0s; ask provision -> hold:1:1h0m0s; ask provision spec=l:x/z -> free", "metal3~a spec"},
		{"another host object on the same node inherits nothing", nil,
			"fails deployment 1 uid=u; ask provision uid=u -> hold:1:1h0m0s; ask provision uid=v -> free; fails deployment 1 uid=v -> false; ask provision uid=v -> free; fails deployment 2 uid=v; ask provision uid=v -> hold:1:1h0m0s",
			"metal3~a gone"},
		{"a host with an instance, a deletion, a paused or detached host never waits", nil,
			"fails deployment 1; ask provision state=provisioned -> free; ask prepare state=externally provisioned -> hold:1:1h0m0s; ask provision instance -> free; ask provision deleting -> free; ask provision left -> free; ask none -> free", ""},
		{"stage retry: BMO may deprovision, and see the failure first", nil,
			"fails deployment 1; ask deprovision -> free; ask provision state=provisioning failed -> free; ask provision state=provisioning -> hold:1:1h0m0s", ""},
		{"stage remediate: nor is it deprovisioned, unless its image was taken away", remediate,
			"fails deployment 1; ask deprovision -> hold:1:1h0m0s; ask deprovision bare -> free; ask deprovision deleting -> free; ask provision state=provisioning failed -> hold:1:1h0m0s", ""},
		{"a clock that goes back lets nobody go", nil, "fails deployment 1; -10m ask provision -> hold:1:1h0m0s; +70m ask provision -> free", "metal3~a time"},
		{"time alone ends it, and is told once", nil, "fails deployment 1; +1h tick; +0s tick; ask provision -> free", "metal3~a time"},
		{"a failure is forgotten a month after", doubling, "fails deployment 1; +719h tick; fails deployment 2; ask provision -> hold:2:2h0m0s; +720h tick; fails deployment 3; ask provision -> hold:1:1h0m0s",
			"metal3~a time, metal3~a time"},
	} {
		t.Run(of.name, func(t *testing.T) {
			d := newDesk(t, of.change)
			d.play(of.script)
			if got := strings.Join(d.ended, ", "); got != of.ended {
				t.Errorf("ended: %s, want %s", got, of.ended)
			}
		})
	}
}

func TestNewSettingsHoldThoseWhoHaveFailedAlready(t *testing.T) {
	d := newDesk(t, nil)
	d.play("fails deployment 1; +30m ask provision -> hold:1:30m0s")
	cfg := d.book.Config()
	cfg.Timeout = 20 * time.Minute
	if err := d.book.Configure(cfg); err != nil {
		t.Fatal(err)
	}
	d.play("ask provision -> free")
	cfg.Timeout = 2 * time.Hour
	if err := d.book.Configure(cfg); err != nil {
		t.Fatal(err)
	}
	d.play("tick; ask provision -> hold:1:1h30m0s")
	cfg.Growth = 0
	if err := d.book.Configure(cfg); err == nil || d.book.Config().Growth != 1 {
		t.Errorf("%v, and %+v is in force", err, d.book.Config())
	}
}

func TestWhatIsShown(t *testing.T) {
	d := newDesk(t, func(c *holdoff.Config) { c.Hosts = map[string]time.Duration{"ns/c": 0, "ns/d": 3 * time.Hour} })
	for i, name := range []string{"c", "d", "b"} {
		d.book.Failed(start.Add(time.Duration(i)*time.Minute), holdoff.Failure{
			UUID: "uuid-" + name, Name: "ns~" + name, State: "deploy failed", Token: "1", Cause: "no boot device", Kind: holdoff.Deployment,
		})
	}
	now := start.Add(10 * time.Minute)
	var shown []string
	for _, e := range d.book.View(now) {
		shown = append(shown, fmt.Sprintf("%s %v %v %v", e.Name, e.Held, e.Remaining, e.Since.Sub(start)))
	}
	const want = "ns~b true 52m0s 2m0s, ns~d true 2h51m0s 1m0s, ns~c false 0s 0s"
	if got := strings.Join(shown, ", "); got != want {
		t.Errorf("shown: %s, want %s", got, want)
	}
	if failed, held := d.book.Count(now, func(uuid string) bool { return uuid != "uuid-d" }); failed != 2 || held != 1 {
		t.Errorf("%d have failed, %d are held", failed, held)
	}
	if d.book.Failures("uuid-b") != 1 || d.book.Failures("uuid-c") != 0 || d.book.Failures("other") != 0 {
		t.Error("failures in a row of a host that may be held, one that may not, and an unknown one")
	}
	if !d.book.Held(now, "uuid-b") || d.book.Held(now, "uuid-c") || d.book.Idle() {
		t.Error("held")
	}
	for name, uuid := range map[string]string{"ns/b": "uuid-b", "ns~b": "uuid-b", "UUID-b": "uuid-b", "ns/x": "", "": ""} {
		if got, found := d.book.Find(name); got != uuid || found != (uuid != "") {
			t.Errorf("%q is %q, %v", name, got, found)
		}
	}
	d.book.Failed(now, holdoff.Failure{UUID: "uuid-new", Name: "ns~b", State: "clean failed", Kind: holdoff.Cleaning})
	if got, _ := d.book.Find("ns/b"); got != "uuid-new" {
		t.Errorf("of two nodes of one name it found %q, not the one that failed last", got)
	}
	if d.book.Failed(now, holdoff.Failure{Name: "ns~x", Kind: holdoff.Cleaning}) || d.book.Failed(now, holdoff.Failure{UUID: "x", Kind: "power"}) {
		t.Error("a failure without a node, or of other work, was entered")
	}
}
