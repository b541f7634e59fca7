package fakeironic

import (
	"cmp"
	"math"
	"slices"
)

// Overload is what a storm does to DHCP, TFTP and the image server.
type Overload struct {
	// Model says how the speed of boots depends on how many there are; "" is BootCliff.
	Model BootModel
	// BootCapacity is what boots share, see Model. 0 is no limit.
	BootCapacity int
	// CollapseAbove booting hosts, each further boot is lost with the chance CollapseChance: it waits for the callback
	// time-out and fails. 0 is never.
	CollapseAbove  int
	CollapseChance float64
}

// BootModel is how the speed of boots depends on how many there are.
type BootModel string

// The models, for n boots and a capacity C.
const (
	// BootCliff: up to C boots run at full speed; more share it and need n/C times as long. Above CollapseAbove boots
	// get lost.
	BootCliff BootModel = "cliff"
	// BootShared: boots slow down smoothly, by sqrt(1 + (n/C)^2): each one gets less of a bandwidth that they share, and
	// all together more of it. With C boots 71 % of it is used, with 3 C 95 %.
	BootShared BootModel = "shared"
)

// rate is the speed of each of n boots, 1 is full speed.
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

// bootPool lets hosts that boot at the same time share DHCP, TFTP and the image server. It keeps a clock of its own,
// whose speed depends on how many boot; a boot ends when that clock has gone on by its work. So every change of speed is
// exact, and costs nothing per host.
type bootPool struct {
	all   []boot  // those due first come first
	clock float64 // boot-nanoseconds since the start
	last  int64   // when clock was right
}

type boot struct {
	due float64 // by the pool's clock
	n   *node
}

func (p *bootPool) sync(now int64, o Overload) {
	p.clock += float64(now-p.last) * o.rate(len(p.all))
	p.last = now
}

// enter starts a boot that needs so many nanoseconds when there is room.
func (p *bootPool) enter(n *node, now, work int64, o Overload) {
	p.sync(now, o)
	n.booting = true
	due := p.clock + float64(work)
	i, _ := slices.BinarySearchFunc(p.all, due, func(b boot, due float64) int { return cmp.Or(cmp.Compare(b.due, due), -1) })
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

// next is when the next boot ends if nothing changes until then.
func (p *bootPool) next(o Overload) (at int64, booting bool) {
	if len(p.all) == 0 {
		return 0, false
	}
	return p.last + int64((p.all[0].due-p.clock)/o.rate(len(p.all))+0.5), true
}

// endBoot lets the host go on whose boot ends next.
func (w *World) endBoot() {
	n := w.boots.all[0].n
	w.boots.leave(n, w.now, w.opt.Overload)
	w.happen(n, &n.gen, n.gen, w.endStep)
}
