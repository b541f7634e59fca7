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
	Refuse    Trouble = "refuse"     // the connection breaks, and Ironic does nothing
	CutAfter  Trouble = "cut-after"  // Ironic does it, and the connection breaks without an answer
	Slow      Trouble = "slow"       // Ironic waits for Delay first
	SlowAfter Trouble = "slow-after" // Ironic does it, and its answer waits for Delay
	Status    Trouble = "status"     // Ironic answers Code, and does nothing
	DoneAfter Trouble = "done"       // Ironic does it, and answers Code
	Torn      Trouble = "torn"       // the answer's JSON ends in the middle
	Half      Trouble = "half"       // the connection breaks in the middle of the answer
)

// Fault is a trouble on demand, for requests that match all of its fields. A field with its zero value matches all
// requests.
type Fault struct {
	Trouble  Trouble `json:"trouble"`
	Requests string  `json:"requests,omitempty"` // all, list, node or put; "": all
	Path     string  `json:"path,omitempty"`     // a part of the request's path
	Count    int     `json:"count,omitempty"`    // how many requests it hits; 0: any number
	// Share is the part of these requests that it hits, by chance; 0: all. Each query has random numbers of its own, so
	// that the order of two requests makes no difference.
	Share float64       `json:"share,omitempty"`
	For   time.Duration `json:"-"`              // how long it lasts; 0: until ClearFault
	Delay time.Duration `json:"-"`              // of Slow and SlowAfter; Speed does not change it
	Code  int           `json:"code,omitempty"` // of Status and DoneAfter
	Text  string        `json:"text,omitempty"` // the faultstring of Code
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
	Fault // Count goes down
	id    int
	until time.Time         // zero: until ClearFault
	bound bool              // Count counts
	drawn map[string]uint64 // how often Share was drawn, by query
}

// AddFault adds a fault, and returns its number for ClearFault.
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

// ClearFault ends a fault, or with 0 all faults.
func (s *Server) ClearFault(id int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = slices.DeleteFunc(s.faults, func(a *activeFault) bool { return id == 0 || a.id == id })
}

// pick returns the faults that hit a request.
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
	kind := f.Requests == "" || f.Requests == "all" || f.Requests == string(c.kind)
	return kind && strings.Contains(c.r.URL.Path, f.Path)
}

// spares draws whether Share spares a request.
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

// errDropped stands for a connection that breaks without an answer.
var errDropped = errors.New("connection dropped by the fake")

// hits are the faults that hit one request.
type hits []Fault

// before does what the faults do before the request. instead is the answer if Ironic is to do nothing.
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

// after does what the faults do after the request.
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
	header := http.Header{"Content-Type": {"application/json"}}
	return &answer{status: f.Code, body: serverFault(f.Code, text).body(), header: header}
}

// wait waits for d, unless ctx ends first.
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
		_ = json.NewEncoder(out).Encode(s.Truth()) // it fails only if the client is gone
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
