package fakeironic

import (
	"cmp"
	"math"
	"slices"
)

// Overload is what a storm does to DHCP, TFTP and the image server.
type Overload struct {
	Model        BootModel // "": BootCliff
	BootCapacity int       // the capacity C of the Model; 0: boots do not slow each other down
	// CollapseAbove is the number of booting hosts above which a further boot is lost with CollapseChance: it fails at the
	// time-out. 0: no boot is lost.
	CollapseAbove  int
	CollapseChance float64
}

// BootModel is how the speed of boots depends on their number n.
type BootModel string

// The models, for n boots and a capacity C.
const (
	// BootCliff: up to C boots run at full speed; more take n/C times as long.
	BootCliff BootModel = "cliff"
	// BootShared: boots take sqrt(1 + (n/C)^2) times as long: each gets less of a bandwidth, and all together use more of
	// it. C boots use 71 % of it, 3 C boots 95 %.
	BootShared BootModel = "shared"
)

// rate returns the speed of each of n boots; 1 is full speed.
func (o Overload) rate(n int) float64 {
	switch load := float64(n) / float64(o.BootCapacity); {
	case o.BootCapacity == 0:
		return 1
	case o.Model == BootShared:
		return 1 / math.Sqrt(1+load*load)
	default:
		return 1 / max(1, load)
	}
}

// bootPool lets hosts that boot at the same time share DHCP, TFTP and the image server. It has a clock, whose speed
// depends on the number of boots. A boot ends when that clock has gone on by its work. So a change of speed is exact,
// and costs nothing per host.
type bootPool struct {
	all   []boot  // by due
	clock float64 // nanoseconds of boots at full speed since the start
	last  int64   // when clock had that value
}

type boot struct {
	due float64 // on the pool's clock
	n   *node
}

func (p *bootPool) sync(now int64, o Overload) {
	p.clock += float64(now-p.last) * o.rate(len(p.all))
	p.last = now
}

// enter starts a boot that takes work nanoseconds at full speed.
func (p *bootPool) enter(n *node, now, work int64, o Overload) {
	p.sync(now, o)
	n.booting = true
	due := p.clock + float64(work)
	// A new boot comes after those that are due at the same time.
	after := func(b boot, due float64) int { return cmp.Or(cmp.Compare(b.due, due), -1) }
	i, _ := slices.BinarySearchFunc(p.all, due, after)
	p.all = slices.Insert(p.all, i, boot{due, n})
}

// leave ends the boot of n, if it boots.
func (p *bootPool) leave(n *node, now int64, o Overload) {
	if n.booting {
		p.sync(now, o)
		n.booting = false
		p.all = slices.DeleteFunc(p.all, func(b boot) bool { return b.n == n })
	}
}

// next returns when the next boot ends, if no other begins or ends before it.
func (p *bootPool) next(o Overload) (at int64, booting bool) {
	if len(p.all) == 0 {
		return 0, false
	}
	return p.last + int64((p.all[0].due-p.clock)/o.rate(len(p.all))+0.5), true
}

// endBoot ends the boot that is due first.
func (w *World) endBoot() {
	n := w.boots.all[0].n
	w.boots.leave(n, w.now, w.opt.Overload)
	w.happen(n, &n.gen, n.gen, w.endStep)
}
