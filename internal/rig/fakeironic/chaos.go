package fakeironic

import (
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"
)

// Trouble is what a Fault does to a request.
type Trouble string

// The troubles.
const (
	Refuse    Trouble = "refuse"     // the connection ends before anything is done
	CutAfter  Trouble = "cut-after"  // it is done, then the connection ends without an answer
	Slow      Trouble = "slow"       // waits Delay, then is done and answered
	SlowAfter Trouble = "slow-after" // is done, then the answer waits Delay
	Status    Trouble = "status"     // is answered with Code and nothing is done
	DoneAfter Trouble = "done"       // is done, then is answered with Code
	Torn      Trouble = "torn"       // the answer's JSON ends in the middle
	Half      Trouble = "half"       // the connection ends in the middle of the answer
)

// Fault is a trouble on demand. The zero values of what it matches match all.
type Fault struct {
	Trouble Trouble `json:"trouble"`
	// Requests is all (or empty), list, node or put.
	Requests string `json:"requests,omitempty"`
	Method   string `json:"method,omitempty"`
	// Path is a part of the request's path.
	Path string `json:"path,omitempty"`
	// Count is how many requests it meets, 0 is any number.
	Count int `json:"count,omitempty"`
	// Share of the requests that it meets, by chance; 0 is all. Each spelling of a query draws
	// from a sequence of its own, so that it does not matter which of two requests is first.
	Share float64 `json:"share,omitempty"`
	// Skip lets so many matching requests pass before.
	Skip int `json:"skip,omitempty"`
	// For is how long it lasts, by the clock; 0 is until it is taken away.
	For   time.Duration `json:"-"`
	Delay time.Duration `json:"-"`              // of Slow, not scaled by Speed
	Code  int           `json:"code,omitempty"` // of Status
	Text  string        `json:"text,omitempty"` // its faultstring
}

func (f *Fault) validate() error {
	switch f.Trouble {
	case Refuse, CutAfter, Torn, Half:
	case Slow, SlowAfter:
		if f.Delay <= 0 {
			return fmt.Errorf("delay %v: want > 0", f.Delay)
		}
	case Status, DoneAfter:
		if f.Code < 400 || f.Code > 599 {
			return fmt.Errorf("code %d: want 400..599", f.Code)
		}
	default:
		return fmt.Errorf("trouble %q: want refuse, cut-after, slow, slow-after, status, done, torn or half", f.Trouble)
	}
	switch f.Requests {
	case "", "all", "list", "node", "put":
	default:
		return fmt.Errorf("requests %q: want all, list, node or put", f.Requests)
	}
	if !(f.Share >= 0 && f.Share <= 1) {
		return fmt.Errorf("share %v: want 0..1", f.Share)
	}
	if f.Count < 0 || f.Skip < 0 || f.For < 0 {
		return fmt.Errorf("count %d, skip %d, for %v: want >= 0", f.Count, f.Skip, f.For)
	}
	return nil
}

// chaos holds the faults that are on. The server's lock guards it.
type chaos struct {
	lastID int
	active []*activeFault
}

type activeFault struct {
	ID    int       `json:"id"`
	Fault           // as asked for; Count and Skip go down
	Until time.Time `json:"until,omitzero"`
	bound bool
	drawn map[string]uint64 // by query, how often Share was drawn
}

// spares draws whether a matching request is none of Share.
func (a *activeFault) spares(c *call) bool {
	if a.Share == 0 {
		return false
	}
	query := c.query.Encode()
	a.drawn[query]++
	h := fnv.New64a()
	_, _ = h.Write([]byte(query)) // a hash never fails
	return rand.New(rand.NewPCG(h.Sum64(), a.drawn[query])).Float64() >= a.Share
}

// AddFault puts a fault on and returns the number to take it away with.
func (s *Server) AddFault(f Fault) (int, error) {
	if err := f.validate(); err != nil {
		return 0, fmt.Errorf("fault: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.chaos.lastID++
	a := &activeFault{ID: s.chaos.lastID, Fault: f, bound: f.Count > 0, drawn: map[string]uint64{}}
	if f.For > 0 {
		a.Until = s.clock().Add(f.For)
	}
	s.chaos.active = append(s.chaos.active, a)
	return a.ID, nil
}

// ClearFault takes a fault away, 0 all of them; it tells whether one was there.
func (s *Server) ClearFault(id int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	kept := s.chaos.active[:0]
	for _, a := range s.chaos.active {
		if id != 0 && a.ID != id {
			kept = append(kept, a)
		}
	}
	cleared := len(kept) < len(s.chaos.active)
	clear(s.chaos.active[len(kept):])
	s.chaos.active = kept
	return cleared
}

// hits is what the faults do to one request.
type hits struct {
	refuse, cutAfter, torn, half bool
	slow, slowAfter              time.Duration
	status, done                 int
	text                         string
}

func (c *chaos) pick(now time.Time, r *call) (h hits) {
	kept := c.active[:0]
	for _, a := range c.active {
		if !a.Until.IsZero() && !now.Before(a.Until) || a.bound && a.Count == 0 {
			continue
		}
		kept = append(kept, a)
		if !a.matches(r) || a.spares(r) {
			continue
		}
		if a.Skip > 0 {
			a.Skip--
			continue
		}
		if a.bound {
			a.Count--
		}
		h.add(a)
	}
	clear(c.active[len(kept):])
	c.active = kept
	return h
}

func (f *Fault) matches(c *call) bool {
	kind := map[string]callKind{"list": callList, "node": callNode, "put": callPut}
	if want, one := kind[f.Requests]; one && want != c.kind {
		return false
	}
	return (f.Method == "" || strings.EqualFold(f.Method, c.r.Method)) && strings.Contains(c.r.URL.Path, f.Path)
}

func (h *hits) add(a *activeFault) {
	switch a.Trouble {
	case Refuse:
		h.refuse = true
	case CutAfter:
		h.cutAfter = true
	case Slow:
		h.slow += a.Delay
	case SlowAfter:
		h.slowAfter += a.Delay
	case Status:
		h.status, h.text = a.Code, a.Text
	case DoneAfter:
		h.done, h.text = a.Code, a.Text
	case Torn:
		h.torn = true
	case Half:
		h.half = true
	}
}

func (h *hits) before(ctx context.Context) error {
	if h.refuse {
		return errDropped
	}
	return wait(ctx, h.slow)
}

func (h *hits) refusal(status int) answer {
	text := h.text
	if text == "" {
		text = "The fake was told to answer " + itoa(int64(status)) + "."
	}
	f := serverFault(status, text)
	return answer{status: status, body: f.body(), header: http.Header{"Content-Type": {"application/json"}}}
}

func (h *hits) after(ctx context.Context, a *answer) error {
	if err := wait(ctx, h.slowAfter); err != nil {
		return err
	}
	switch {
	case h.cutAfter:
		return errDropped
	case h.done != 0:
		*a = h.refusal(h.done)
	case h.half && len(a.body) > 1:
		a.header.Set("Content-Length", itoa(int64(len(a.body))))
		a.body = a.body[:len(a.body)/2]
	case h.torn && len(a.body) > 1:
		a.body = a.body[:len(a.body)/2]
	}
	return nil
}
