//go:build linux

package demo

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// rounding is what a moment on the wall clock may be off: it is told as now and what is
// left.
const rounding = 100 * time.Millisecond

// promises are the holds that were shown. It is safe for concurrent use.
type promises struct {
	*tale

	mine     sync.Mutex           // guards all below
	until    map[string]time.Time // the latest that was promised for a node
	episodes map[string]shownHold
	counts   promiseCounts
}

type shownHold struct {
	until   time.Time
	life    int // of the throttle, that showed it first
	carried bool
}

type promiseCounts struct {
	shown   int // episodes
	carried int // of these by more than one process
	kept    int // works begun by hosts that had been held
	broken  int
}

func newPromises(t *tale) *promises {
	return &promises{tale: t, until: map[string]time.Time{}, episodes: map[string]shownHold{}}
}

func (p *promises) count() promiseCounts {
	p.mine.Lock()
	defer p.mine.Unlock()
	return p.counts
}

func (p *promises) brokenf(format string, args ...any) {
	p.counts.broken++
	p.notef("BROKEN: "+format, args...)
}

// look asks for the holds again and again until ctx ends.
func (p *promises) look(ctx context.Context, k *killStorm) {
	tick := time.NewTicker(2 * sampling)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		life, asked := p.present(), time.Now()
		if holds, err := k.asker.Holds(ctx); err == nil {
			p.show(life, asked, holds)
		}
	}
}

func (p *promises) show(life int, asked time.Time, holds api.Holds) {
	p.mine.Lock()
	defer p.mine.Unlock()
	for _, h := range holds.Hosts {
		old, known := p.episodes[h.Episode]
		switch {
		case h.Released:
			p.brokenf("%s is released, and nobody has done so", h.NodeUUID)
		case !h.Held:
			if known && time.Now().Before(old.until.Add(-rounding)) {
				p.brokenf("%s, episode %s, is let go at %s, before %s", h.NodeUUID, h.Episode, asked, old.until)
			}
			continue
		case known && h.Until.Before(old.until.Add(-rounding)):
			p.brokenf("%s, episode %s, is held until %s, and was until %s", h.NodeUUID, h.Episode, h.Until, old.until)
		}
		if !known {
			p.counts.shown++
			old.life = life
			p.notef("%s is held until %s, episode %s, %d failures", h.NodeUUID, h.Until.Format(time.StampMilli), h.Episode, h.Failures)
		}
		if old.life != life && !old.carried {
			old.carried = true
			p.counts.carried++
		}
		old.until = later(old.until, h.Until)
		p.episodes[h.Episode] = old
		p.until[h.NodeUUID] = later(p.until[h.NodeUUID], h.Until)
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// begins is a PUT that starts work before there is an instance, and was accepted.
func (p *promises) begins(node, body string, sent time.Time) {
	p.mine.Lock()
	defer p.mine.Unlock()
	until := p.until[node]
	switch {
	case until.IsZero():
	case sent.Before(until.Add(-rounding)):
		p.brokenf("%s begins %s at %s, and was held until %s", node, body, sent, until)
	default:
		p.counts.kept++
	}
}

// promisedPuts looks at what the operator begins.
type promisedPuts struct {
	http.RoundTripper
	watch *promises
}

// RoundTrip implements http.RoundTripper.
func (p *promisedPuts) RoundTrip(r *http.Request) (*http.Response, error) {
	path, put := strings.CutSuffix(r.URL.Path, "/states/provision")
	if !put || r.Method != http.MethodPut {
		return p.RoundTripper.RoundTrip(r)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	r = r.Clone(r.Context())
	r.Body = io.NopCloser(bytes.NewReader(body))
	sent := time.Now()
	resp, err := p.RoundTripper.RoundTrip(r)
	starts := slices.ContainsFunc([]string{"active", "inspect", "provide", "clean"}, func(target string) bool {
		return strings.Contains(string(body), `"`+target+`"`)
	})
	if err == nil && starts && resp.StatusCode == http.StatusAccepted {
		p.watch.begins(path[strings.LastIndex(path, "/")+1:], string(body), sent)
	}
	return resp, err
}
