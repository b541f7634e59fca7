package fairshare_test

import (
	"flag"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/ironic-throttle/ironic-throttle/pkg/fairshare"
	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

// crowd is tenants whose hosts ask by themselves, work, and are followed by others: all tenants always have hosts waiting.
type crowd struct {
	*site
	limit   int
	work    time.Duration
	tenants []*namespace
	hosts   []*asker
	held    []*asker // that work
	born    int
	log     strings.Builder

	idle, slots float64 // seconds of free slots, and of all
	broken      string  // the first law that was
}

type namespace struct {
	name   string
	weight float64
	gap    time.Duration // between two asks of a host
	errors int           // that its hosts claim
	long   int           // its work takes so many times as long as that of others; 0: once
	grants int           // in slots of their time
	// Of its hosts that were told a time: how many got a slot, within Expect, and within AtMost.
	told, half, most int
}

type asker struct {
	of   *namespace
	name string
	next time.Time
	ends time.Time
	// What it was told first, and when; zero: nothing yet.
	told           time.Time
	expect, atMost time.Duration
}

// newCrowd has tenants of so many hosts each.
func newCrowd(limit int, work time.Duration, hosts []int, tenants ...*namespace) *crowd {
	c := &crowd{limit: limit, work: work, tenants: tenants}
	weights := fairshare.Weights{}
	for _, t := range tenants {
		weights[t.name] = t.weight
	}
	c.site = newSite(slots.Limits{Total: limit}, weights)
	for i, t := range tenants {
		for range hosts[i] {
			c.bear(t)
		}
	}
	return c
}

// bear adds a host that asks for the first time within its gap.
func (c *crowd) bear(t *namespace) {
	c.born++
	first := time.Duration(c.born*7919%1000) * t.gap / 1000
	c.hosts = append(c.hosts, &asker{of: t, name: fmt.Sprintf("%s/h%05d", t.name, c.born), next: c.now.Add(first)})
}

// play lets time pass in steps of a second.
func (c *crowd) play(d time.Duration) {
	for end := c.now.Add(d); c.now.Before(end); {
		c.now = c.now.Add(time.Second)
		if c.now.Second()%5 == 0 {
			c.poll()
		}
		c.slots += float64(c.limit)
		c.idle += float64(c.ledger.Slots(slots.Pool{}).Free)
		for _, a := range slices.Clone(c.held) {
			if !c.now.Before(a.ends) {
				c.move(a.name, "manageable", "noagent")
				c.held = slices.DeleteFunc(c.held, func(x *asker) bool { return x == a })
				c.bear(a.of)
			}
		}
		for _, a := range slices.Clone(c.hosts) {
			if !c.now.Before(a.next) {
				c.turn(a)
			}
		}
	}
}

// turn is an ask of a host.
func (c *crowd) turn(a *asker) {
	c.born++
	a.next = c.now.Add(a.of.gap*3/4 + time.Duration(c.born*7919%1000)*a.of.gap/2000)
	var before fairshare.View
	if a.of.errors > 0 {
		before = c.order.View(c.now, slots.Pool{})
	}
	h, answer, open := c.ask(a.name, "", a.of.errors)
	fmt.Fprintln(&c.log, c.now.Unix(), a.name, open, answer)
	if most := c.mostOvertaken(a); h.Turn.Overtaken > most {
		c.breaksf("%s was overtaken %d times, at most %d", a.name, h.Turn.Overtaken, most)
	}
	if !answer.Yes {
		if open && a.told.IsZero() && answer.Expect > 0 {
			a.told, a.expect, a.atMost = c.now, answer.Expect, answer.AtMost
		}
		return
	}
	if waited := c.now.Sub(a.told); !a.told.IsZero() {
		a.of.told++
		if waited <= a.expect {
			a.of.half++
		}
		if waited <= a.atMost {
			a.of.most++
		}
	}
	if a.of.errors > 0 && before.FailingHeld >= before.FailingMost {
		c.breaksf("%s is failing and got a slot, as %d of %d", a.name, before.FailingHeld+1, before.FailingMost)
	}
	long := max(1, a.of.long)
	a.of.grants += long
	a.ends = c.now.Add(time.Duration(long) * (c.work*3/4 + time.Duration(c.born*104729%1000)*c.work/2000))
	c.held = append(c.held, a)
	c.hosts = slices.DeleteFunc(c.hosts, func(x *asker) bool { return x == a })
}

// mostOvertaken is how often a host may be passed over: a slot that is idle for one percent of the time meets an ask of it
// once in 100 gap / work turns, and after six times as many a slot is kept; it has twice that time to take it.
func (c *crowd) mostOvertaken(a *asker) int {
	return 2 * max(20, c.limit, int(600*a.of.gap/c.work))
}

func (c *crowd) breaksf(format string, args ...any) {
	if c.broken == "" {
		c.broken = c.now.Format(time.TimeOnly) + ": " + fmt.Sprintf(format, args...)
	}
}

// apart is by how many slots the tenants' grants differ most from what their weights say: all want more than they get, so
// that each one's fair share is its part of the weights.
func (c *crowd) apart() (most float64) {
	grants, weights := 0, 0.0
	for _, t := range c.tenants {
		grants, weights = grants+t.grants, weights+t.weight
	}
	for _, t := range c.tenants {
		most = max(most, math.Abs(float64(t.grants)-float64(grants)*t.weight/weights))
	}
	return most
}

// settle plays for so long and forgets what was counted.
func (c *crowd) settle(d time.Duration) {
	c.play(d)
	for _, t := range c.tenants {
		t.grants, t.told, t.half, t.most = 0, 0, 0, 0
	}
	c.idle, c.slots = 0, 0
}

// TestMain has 30 histories of each law; make search sets more.
func TestMain(m *testing.M) {
	if err := flag.Set("rapid.checks", "30"); err != nil {
		panic(err)
	}
	m.Run()
}

func TestLawsOfTheOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(1, 12).Draw(t, "limit")
		work := time.Duration(rapid.IntRange(3, 12).Draw(t, "minutes of work")) * time.Minute
		gap := rapid.IntRange(3, 120).Draw(t, "gap")
		var tenants []*namespace
		var hosts []int
		for i := range rapid.IntRange(1, 4).Draw(t, "tenants") {
			tenants = append(tenants, &namespace{
				name: string(rune('a' + i)), weight: rapid.SampledFrom([]float64{0.5, 1, 1, 1, 3}).Draw(t, "weight"),
				gap: time.Duration(gap) * time.Second,
			})
			hosts = append(hosts, rapid.IntRange(15, 40).Draw(t, "hosts"))
		}
		play := func() *crowd {
			for _, n := range tenants {
				n.grants = 0
			}
			c := newCrowd(limit, work, hosts, tenants...)
			c.settle(work)
			c.play(6 * work)
			return c
		}
		c := play()
		if c.broken != "" {
			t.Fatal(c.broken)
		}
		if most := 8 + float64(limit); c.apart() > most {
			t.Errorf("tenants are %v slots apart from their shares, at most %v", c.apart(), most)
		}
		if again := play(); again.log.String() != c.log.String() {
			t.Error("the same events came to other answers")
		}
	})
}

func TestFreeSlotsAreTaken(t *testing.T) {
	for _, gap := range []time.Duration{3 * time.Second, 90 * time.Second} {
		for _, limit := range []int{1, 20} {
			c := newCrowd(limit, 20*time.Minute, []int{30, 15}, &namespace{name: "a", weight: 1, gap: gap}, &namespace{name: "b", weight: 1, gap: gap})
			c.settle(time.Hour)
			c.play(time.Duration(10/limit+3) * time.Hour)
			if idle := c.idle / c.slots; idle > 0.015 {
				t.Errorf("asks every %v, %d slots: they are idle for %.2f %% of the time, at most 1.5 %%", gap, limit, 100*idle)
			}
		}
	}
}

func TestTenantsThatDifferGetEqualParts(t *testing.T) {
	for _, c := range []struct {
		name  string
		hosts []int
		gaps  [2]time.Duration
	}{
		{"who asks more often", []int{60, 40}, [2]time.Duration{3 * time.Second, 90 * time.Second}},
		{"who asks a little more often", []int{60, 40}, [2]time.Duration{30 * time.Second, 90 * time.Second}},
		{"who has many hosts", []int{200, 4}, [2]time.Duration{90 * time.Second, 90 * time.Second}},
		{"whose work takes three times as long", []int{60, 40}, [2]time.Duration{90 * time.Second, 90 * time.Second}},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, b := &namespace{name: "a", weight: 1, gap: c.gaps[0]}, &namespace{name: "b", weight: 1, gap: c.gaps[1]}
			if strings.HasPrefix(c.name, "whose work") {
				a.long = 3
			}
			crowd := newCrowd(4, 10*time.Minute, c.hosts, a, b)
			crowd.settle(20 * time.Minute)
			crowd.play(4 * time.Hour)
			if crowd.apart() > 10 {
				t.Errorf("it got %d slots, the other one %d", a.grants, b.grants)
			}
		})
	}
}

func TestFailingHostsHoldAQuarterWhileHealthyOnesWait(t *testing.T) {
	good, bad := &namespace{name: "good", weight: 1, gap: 60 * time.Second}, &namespace{name: "bad", weight: 1, gap: 10 * time.Second, errors: 2}
	c := newCrowd(12, 10*time.Minute, []int{40, 40}, good, bad)
	c.settle(20 * time.Minute)
	c.play(3 * time.Hour)
	if c.broken != "" {
		t.Error(c.broken)
	}
	if bad.grants*2 < good.grants/3 || bad.grants > good.grants/3+6 {
		t.Errorf("failing hosts got %d slots, healthy ones %d: want about a quarter of all", bad.grants, good.grants)
	}
}

// About half of all hosts get a slot within the time that they are told first, and nine of ten within the longer one.
func TestWaitsAreAsTold(t *testing.T) {
	good := &namespace{name: "good", weight: 1, gap: 60 * time.Second}
	bad := &namespace{name: "bad", weight: 1, gap: 60 * time.Second, errors: 2}
	c := newCrowd(8, 10*time.Minute, []int{30, 30}, good, bad)
	c.settle(time.Hour)
	c.play(6 * time.Hour)
	for _, n := range c.tenants {
		if half, most := 100*n.half/n.told, 100*n.most/n.told; half < 35 || half > 65 || most < 85 {
			t.Errorf("%s: %d %% waited as long as half were told, %d %% as long as nine of ten were", n.name, half, most)
		}
	}
	if mean := c.order.View(c.now, slots.Pool{}).MeanSlot; mean < 9*time.Minute || mean > 11*time.Minute {
		t.Errorf("a slot is held for %v on average, shown are %v", c.work, mean)
	}
}

func TestWhoAsksRarelyIsServed(t *testing.T) {
	eager, rare := &namespace{name: "a", weight: 1, gap: 3 * time.Second}, &namespace{name: "a", weight: 1, gap: 30 * time.Minute}
	c := newCrowd(2, 5*time.Minute, []int{10, 0}, eager, rare)
	c.settle(10 * time.Minute)
	c.bear(rare)
	due := 0
	for day := c.now.Add(24 * time.Hour); rare.grants == 0; c.play(time.Minute) {
		due = max(due, c.order.View(c.now, slots.Pool{}).Due)
		if c.now.After(day) {
			t.Fatalf("the host that asks every 30 minutes got no slot in a day, the others %d", eager.grants)
		}
	}
	if due != 1 {
		t.Errorf("%d hosts were shown as due, want the one that asks rarely", due)
	}
}
