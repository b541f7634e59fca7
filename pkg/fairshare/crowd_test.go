package fairshare

import (
	"container/heap"
	"math/rand/v2"
	"testing"
	"time"
)

// crowd is a closed loop like world, but for many hosts and long times: nothing in
// it looks at all of them.
type crowd struct {
	*rand.Rand
	t      *testing.T
	s      *Scheduler
	limit  int
	now    time.Time
	queue  moments
	held   int
	joined int
	comers []comers
	grants map[string]int
	work   map[string]time.Duration // of hosts that have ended, by tenant
	errors func(*member) int

	works   [2]time.Duration               // how long hosts work
	pace    func(*member) [2]time.Duration // and how often they ask
	granted func(*member)                  // told of each grant
}

// check is how often hosts ask that BMO asks for.
var check = [2]time.Duration{60 * time.Second, 120 * time.Second}

// comers are hosts of a tenant that come one by one, work once and go for good.
type comers struct {
	tenant string
	every  time.Duration // on average
}

type member struct {
	*Host
	once  bool
	at    time.Time // of its next ask or the end of its work
	since time.Time // of its work
	seq   int
}

func newCrowd(t *testing.T, cfg Config, hosts map[string]int) *crowd {
	t.Helper()
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	c := &crowd{
		Rand: rand.New(rand.NewPCG(1, 0)), t: t, s: s, limit: cfg.Limit, now: worldStart,
		grants: map[string]int{}, work: map[string]time.Duration{}, errors: func(*member) int { return 0 },
		pace: func(*member) [2]time.Duration { return check }, works: [2]time.Duration{10 * time.Minute, 60 * time.Minute},
		granted: func(*member) {},
	}
	for i := range 26 {
		for range hosts[tenantName(i)] {
			c.join(&member{Host: NewHost("host", tenantName(i)), at: c.now.Add(c.within([2]time.Duration{0, check[1]}))})
		}
	}
	return c
}

func (c *crowd) within(r [2]time.Duration) time.Duration {
	return r[0] + time.Duration(c.Int64N(int64(r[1]-r[0])+1))
}

func (c *crowd) join(m *member) {
	c.joined++
	m.seq = c.joined
	heap.Push(&c.queue, m)
}

func (c *crowd) meanWork() time.Duration { return (c.works[0] + c.works[1]) / 2 }

// come lets those come that are to come within d.
func (c *crowd) come(d time.Duration) {
	for _, r := range c.comers {
		for at := time.Duration(0); at < d; at += time.Duration(c.ExpFloat64() * float64(r.every)) {
			c.join(&member{Host: NewHost("comer", r.tenant), at: c.now.Add(at), once: true})
		}
	}
}

// pass lets time pass.
func (c *crowd) pass(d time.Duration) {
	c.come(d)
	for until := c.now.Add(d); len(c.queue) > 0 && c.queue[0].at.Before(until); {
		m := c.queue[0]
		c.now = m.at
		switch {
		case m.State() == Holding:
			c.held--
			c.work[m.Tenant()] += c.now.Sub(m.since)
			c.s.Release(c.now, m.Host, Finished)
			c.s.Update(c.now, c.limit-c.held)
			if m.once {
				heap.Pop(&c.queue)
				continue
			}
			m.at = c.now.Add(c.within(c.pace(m)))
		case c.s.Ask(c.now, c.limit-c.held, m.Host, c.errors(m)).Yes:
			c.held++
			if c.held > c.limit {
				c.t.Fatalf("%d hosts hold %d slots", c.held, c.limit)
			}
			c.grants[m.Tenant()]++
			m.since, m.at = c.now, c.now.Add(c.within(c.works))
			c.granted(m)
		default:
			m.at = c.now.Add(c.within(c.pace(m)))
		}
		heap.Fix(&c.queue, 0)
	}
}

// moments is a heap of members by time.
type moments []*member

func (q moments) Len() int { return len(q) }
func (q moments) Less(i, j int) bool {
	return q[i].at.Before(q[j].at) || q[i].at.Equal(q[j].at) && q[i].seq < q[j].seq
}
func (q moments) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *moments) Push(x any)   { *q = append(*q, x.(*member)) }
func (q *moments) Pop() any {
	last := len(*q) - 1
	m := (*q)[last]
	*q = (*q)[:last]
	return m
}
