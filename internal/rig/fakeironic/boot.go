package fakeironic

// bootPool lets hosts that boot at the same time share DHCP, TFTP and the image
// server. It keeps a clock of its own that runs at full speed while there is
// room and at capacity/booting otherwise; a boot ends when that clock has gone
// on by its work. So every change of speed is exact, and costs nothing per host.
type bootPool struct {
	capacity int
	booting  int
	peak     int
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
	p.capacity, p.last = o.BootCapacity, now
	p.queue.less = func(a, b boot) bool { return a.due < b.due || a.due == b.due && a.seq < b.seq }
}

func (p *bootPool) rate() float64 {
	if p.capacity == 0 || p.booting <= p.capacity {
		return 1
	}
	return float64(p.capacity) / float64(p.booting)
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
