package fakeironic

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
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
	// Path is a part of the request's path.
	Path string `json:"path,omitempty"`
	// Count is how many requests it meets, 0 is any number.
	Count int `json:"count,omitempty"`
	// Share of the requests that it meets, by chance; 0 is all. Each spelling of a query draws from a sequence of its own, so
	// that it does not matter which of two requests is first.
	Share float64 `json:"share,omitempty"`
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
	if !slices.Contains([]string{"", "all", "list", "node", "put"}, f.Requests) {
		return fmt.Errorf("requests %q: want all, list, node or put", f.Requests)
	}
	return nil
}

type activeFault struct {
	Fault // as asked for; Count goes down
	id    int
	until time.Time
	bound bool
	drawn map[string]uint64 // by query, how often Share was drawn
}

// AddFault puts a fault on and returns the number to take it away with.
func (s *Server) AddFault(f Fault) (int, error) {
	if err := f.validate(); err != nil {
		return 0, fmt.Errorf("fault: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lastID++
	a := &activeFault{id: s.lastID, Fault: f, bound: f.Count > 0, drawn: map[string]uint64{}}
	if f.For > 0 {
		a.until = s.clock().Add(f.For)
	}
	s.faults = append(s.faults, a)
	return a.id, nil
}

// ClearFault takes a fault away, 0 all of them.
func (s *Server) ClearFault(id int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = slices.DeleteFunc(s.faults, func(a *activeFault) bool { return id == 0 || a.id == id })
}

// pick finds the faults that one request meets.
func (s *Server) pick(now time.Time, c *call) (met hits) {
	s.faults = slices.DeleteFunc(s.faults, func(a *activeFault) bool {
		return !a.until.IsZero() && !now.Before(a.until) || a.bound && a.Count == 0
	})
	for _, a := range s.faults {
		if a.matches(c) && !a.spares(c) {
			a.Count--
			met = append(met, a.Fault)
		}
	}
	return met
}

func (f *Fault) matches(c *call) bool {
	return (f.Requests == "" || f.Requests == "all" || f.Requests == string(c.kind)) && strings.Contains(c.r.URL.Path, f.Path)
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

// errDropped is a connection that ends without an answer.
var errDropped = errors.New("connection dropped by the fake")

// hits are the faults that one request meets.
type hits []Fault

// before is what they do before the request is done; where it is not done at all, that is the answer.
func (h hits) before(ctx context.Context) (instead *answer, err error) {
	for _, f := range h {
		switch f.Trouble {
		case Refuse:
			return nil, errDropped
		case Slow:
			if err := wait(ctx, f.Delay); err != nil {
				return nil, err
			}
		case Status:
			instead = f.answer()
		}
	}
	return instead, nil
}

// after is what they do when the request is done.
func (h hits) after(ctx context.Context, a *answer) error {
	for _, f := range h {
		switch f.Trouble {
		case SlowAfter:
			if err := wait(ctx, f.Delay); err != nil {
				return err
			}
		case CutAfter:
			return errDropped
		case DoneAfter:
			*a = *f.answer()
		case Half:
			a.half = len(a.body) > 1
		case Torn:
			a.body = a.body[:(len(a.body)+1)/2]
		}
	}
	return nil
}

func (f *Fault) answer() *answer {
	text := fmt.Sprintf("The fake was told to answer %d.", f.Code)
	set(&text, f.Text)
	return &answer{status: f.Code, body: serverFault(f.Code, text).body(), header: http.Header{"Content-Type": {"application/json"}}}
}

// wait sleeps by the real clock, or a bubble's, unless ctx ends first.
func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// Admin returns the fake's own handler, for demos and other processes:
//
//	GET    /fake/truth    what really goes on (Truth)
//	POST   /fake/faults   a Fault as JSON, with "for" and "delay" such as "30s"
//	DELETE /fake/faults   ends them all
//
// Errors are 400 with a plain text that names field, value and rule.
func (s *Server) Admin() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /fake/truth", func(out http.ResponseWriter, _ *http.Request) {
		out.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(out).Encode(s.Truth()) // or the client is gone
	})
	mux.HandleFunc("POST /fake/faults", func(out http.ResponseWriter, r *http.Request) {
		if err := s.adminFault(http.MaxBytesReader(out, r.Body, 64<<10)); err != nil {
			http.Error(out, err.Error(), http.StatusBadRequest)
		}
	})
	mux.HandleFunc("DELETE /fake/faults", func(http.ResponseWriter, *http.Request) { s.ClearFault(0) })
	return mux
}

func (s *Server) adminFault(body io.Reader) error {
	var f struct {
		Fault
		For   string `json:"for"`
		Delay string `json:"delay"`
	}
	in := json.NewDecoder(body)
	in.DisallowUnknownFields()
	if err := in.Decode(&f); err != nil {
		return fmt.Errorf("body: %w", err)
	}
	var errFor, errDelay error
	if f.For != "" {
		f.Fault.For, errFor = time.ParseDuration(f.For)
	}
	if f.Delay != "" {
		f.Fault.Delay, errDelay = time.ParseDuration(f.Delay)
	}
	_, err := s.AddFault(f.Fault)
	return cmp.Or(errFor, errDelay, err)
}
