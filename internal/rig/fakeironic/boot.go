package fakeironic

import (
	"fmt"
	"math"
	"time"
)

// bootPool lets hosts that boot at the same time share DHCP, TFTP and the image
// server. It keeps a clock of its own, whose speed depends on how many boot; a boot ends
// when that clock has gone on by its work. So every change of speed is exact, and costs nothing per host.
type bootPool struct {
	capacity int
	model    BootModel
	booting  int
	peak     int
	lost     int
	clock    float64 // boot-nanoseconds since the start
	last     int64   // when clock was right
	queue    heapOf[boot]
	seq      uint64
}

type boot struct {
	due float64 // by the pool's clock
	seq uint64
	n   *node
	gen uint32
}

func (p *bootPool) init(o Overload, now int64) {
	p.capacity, p.model, p.last = o.BootCapacity, o.Model, now
	p.queue.less = func(a, b boot) bool { return a.due < b.due || a.due == b.due && a.seq < b.seq }
}

// rate is the speed of each boot, 1 is full speed.
func (p *bootPool) rate() float64 {
	switch load := float64(p.booting) / float64(p.capacity); {
	case p.capacity == 0:
		return 1
	case p.model == BootShared:
		return 1 / math.Sqrt(1+load*load)
	case load <= 1:
		return 1
	default:
		return 1 / load
	}
}

// SetOverload changes what boots share from now on, in place of what was before.
func (w *World) SetOverload(now time.Time, o Overload) error {
	if err := o.validate(); err != nil {
		return err
	}
	w.Advance(now)
	w.boots.sync(w.now)
	w.opt.Overload = o
	w.boots.capacity, w.boots.model = o.BootCapacity, o.Model
	return nil
}

// validate reports what is wrong with o, with its value and the rule.
func (o Overload) validate() error {
	switch {
	case o.BootCapacity < 0:
		return fmt.Errorf("boot-capacity %d: want >= 0", o.BootCapacity)
	case o.CollapseAbove < 0:
		return fmt.Errorf("collapse-above %d: want >= 0", o.CollapseAbove)
	case !(o.CollapseChance >= 0 && o.CollapseChance <= 1):
		return fmt.Errorf("collapse-chance %v: want 0..1", o.CollapseChance)
	case o.Model != "" && o.Model != BootCliff && o.Model != BootShared:
		return fmt.Errorf("boot-model %q: want cliff or shared", o.Model)
	}
	return nil
}

func (p *bootPool) sync(now int64) {
	p.clock += float64(now-p.last) * p.rate()
	p.last = now
}

// enter starts a boot that needs so many nanoseconds when there is room.
func (p *bootPool) enter(n *node, now, work int64) {
	p.sync(now)
	p.booting++
	p.peak = max(p.peak, p.booting)
	n.booting = true
	p.seq++
	p.queue.push(boot{due: p.clock + float64(work), seq: p.seq, n: n, gen: n.gen})
}

// leave ends the boot of n, if it boots.
func (p *bootPool) leave(n *node, now int64) {
	if n.booting {
		p.sync(now)
		p.booting--
		n.booting = false
	}
}

// next returns when the next boot ends if nothing changes until then.
func (p *bootPool) next(now int64) (int64, bool) {
	for {
		b, ok := p.queue.peek()
		if !ok {
			return 0, false
		}
		if b.gen == b.n.gen && b.n.booting && !b.n.gone {
			wait := (b.due - p.clock) / p.rate()
			return max(now, p.last+int64(wait+0.5)), true
		}
		p.queue.pop()
	}
}

// finish takes the next boot out of the pool and returns its node.
func (p *bootPool) finish(now int64) *node {
	b := p.queue.pop()
	p.leave(b.n, now)
	return b.n
}
