package simulate

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// progress shows on stderr how far a long run is; short ones it leaves in peace.
// It is the only thing here that looks at a real clock.
type progress struct {
	to       io.Writer
	terminal bool
	all      int
	through  *atomic.Int64

	mu    sync.Mutex // guards what is written
	drawn bool
	stop  chan struct{}
	gone  chan struct{}
	once  sync.Once
}

const (
	quietFor  = 2 * time.Second // nothing is shown before
	barEvery  = 200 * time.Millisecond
	lineEvery = 10 * time.Second
	barWidth  = 40
)

func newProgress(out Output, storms []Options, through *atomic.Int64) *progress {
	p := &progress{to: out.Stderr, terminal: out.Terminal, through: through, stop: make(chan struct{}), gone: make(chan struct{})}
	for _, o := range storms {
		for _, n := range o.sizes() {
			p.all += n
		}
	}
	go p.run()
	return p
}

func (p *progress) run() {
	defer close(p.gone)
	begin, every := time.Now(), lineEvery
	if p.terminal {
		every = barEvery
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-p.stop:
			return
		case <-tick.C:
		}
		if age := time.Since(begin); age >= quietFor {
			p.show(age)
		}
	}
}

func (p *progress) show(age time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	done := int(p.through.Load())
	share := min(1, float64(done)/float64(max(1, p.all)))
	text := fmt.Sprintf("%3.0f %%  %d of %d hosts through, %v", 100*share, done, p.all, age.Round(time.Second))
	if !p.terminal {
		fmt.Fprintln(p.to, text)
		return
	}
	filled := int(share * barWidth)
	fmt.Fprintf(p.to, "\r\x1b[K%s%s %s", strings.Repeat("█", filled), strings.Repeat("·", barWidth-filled), text)
	p.drawn = true
}

// clear takes the bar away, for what is printed now.
func (p *progress) clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.drawn {
		fmt.Fprint(p.to, "\r\x1b[K")
		p.drawn = false
	}
}

// end takes the bar away for good.
func (p *progress) end() {
	p.once.Do(func() {
		close(p.stop)
		<-p.gone
		p.clear()
	})
}
