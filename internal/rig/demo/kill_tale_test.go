//go:build linux

package demo

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// tale is what happened, in order. It is safe for concurrent use.
type tale struct {
	since   time.Time
	working func() int // the truth
	// orphan is called for the first work of each life that a dead process said
	// yes to.
	orphan func(node string)

	mu     sync.Mutex // guards all below
	text   strings.Builder
	life   int            // of the throttle, from 1
	yes    map[string]int // the life that said the last yes to a node
	grants int            // slots given in this life
	legacy int            // works begun on the word of a process that was dead by then
	last   int            // the life of the last of these
}

func newTale(working func() int, orphan func(node string)) *tale {
	return &tale{since: time.Now(), working: working, orphan: orphan, yes: map[string]int{}}
}

func (s *tale) notef(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.noteLockedf(format, args...)
}

func (s *tale) noteLockedf(format string, args ...any) {
	fmt.Fprintf(&s.text, "%7.3f s, %d at work: %s\n", time.Since(s.since).Seconds(), s.working(), fmt.Sprintf(format, args...))
}

func (s *tale) born(pid int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.life++
	s.grants = 0
	s.noteLockedf("process %d starts", pid)
}

// given is how many slots were given in this life.
func (s *tale) given() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.grants
}

// outlived is how many works began on the word of a dead process.
func (s *tale) outlived() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.legacy
}

func (s *tale) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// asker tells the tale of what the throttle answers.
type asker struct {
	*api.Client
	*tale
}

// IsReady implements bmo.Asker.
func (k asker) IsReady(ctx context.Context, ask api.Ask) (api.Answer, error) {
	k.mu.Lock()
	life := k.life // an answer that arrives after a kill was given before it
	k.mu.Unlock()
	a, err := k.Client.IsReady(ctx, ask)
	if err != nil || !a.Ready {
		return a, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.yes[ask.NodeUUID] = life
	if a.Reason == api.ReasonGranted {
		if life == k.life {
			k.grants++
		}
		k.noteLockedf("slot for %s, %s: %d of %d occupied", ask.NodeUUID, ask.Op, a.Slots.Occupied, a.Slots.Limit)
	}
	return a, err
}

// puts tells the tale of what BMO begins.
type puts struct {
	*http.Transport
	*tale
}

// RoundTrip implements http.RoundTripper.
func (p *puts) RoundTrip(r *http.Request) (*http.Response, error) {
	path, put := strings.CutSuffix(r.URL.Path, "/states/provision")
	if !put || r.Method != http.MethodPut {
		return p.Transport.RoundTrip(r)
	}
	node := path[strings.LastIndex(path, "/")+1:]
	p.mu.Lock()
	said, gated := p.yes[node]
	dead := gated && said < p.life
	p.mu.Unlock()
	resp, err := p.Transport.RoundTrip(r)
	if err != nil {
		p.notef("PUT to %s: %v", node, err)
		return nil, err
	}
	p.begun(node, resp.StatusCode, dead)
	return resp, nil
}

// begun notes what became of a PUT, and that its yes was said by a process that is
// dead, if so.
func (s *tale) begun(node string, status int, dead bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.noteLockedf("PUT to %s: %d; yes by a dead process: %t", node, status, dead)
	if !dead || status != http.StatusAccepted {
		return
	}
	s.legacy++
	if s.last < s.life {
		s.last = s.life
		s.orphan(node)
	}
}
