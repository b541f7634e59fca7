package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// Bounds of GET /v1/events.
const (
	maxEventReaders = 64
	eventTick       = time.Second      // between two looks
	eventBeat       = 15 * time.Second // without anything to tell
	eventPatience   = 10 * time.Second // for a reader to take what is sent
	// guardedStream is how long who was let in by Access may read before they are asked for their
	// right again: a browser comes back by itself, and goes on where it was.
	guardedStream = time.Minute
)

// events answers GET /v1/events: that the status is another one, as server-sent events, until the reader leaves, is too
// slow, or the server ends.
func (s *Server) events(w http.ResponseWriter, r *http.Request) {
	select {
	case s.eventReaders <- struct{}{}:
		defer func() { <-s.eventReaders }()
	default:
		w.Header().Set("Retry-After", "10")
		writeError(w, http.StatusServiceUnavailable, "", fmt.Sprintf("%d others read events already; ask again later", maxEventReaders))
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no") // nginx would keep it back
	w.WriteHeader(http.StatusOK)
	if r.Method == http.MethodHead {
		return
	}
	conn := http.NewResponseController(w)
	_ = conn.SetReadDeadline(time.Time{}) // nothing more is read
	write := func() { _ = conn.SetWriteDeadline(time.Now().Add(eventPatience)) }
	defer write() // the end is sent too
	var end <-chan time.Time
	if r.Context().Value(userKey{}) != nil {
		limit := time.NewTimer(guardedStream)
		defer limit.Stop()
		end = limit.C
	}
	tick := time.NewTicker(eventTick)
	defer tick.Stop()
	reader := &eventReader{s: s}
	for {
		if text := reader.next(time.Now()); len(text) > 0 {
			write()
			if _, err := w.Write(text); err != nil || conn.Flush() != nil {
				return
			}
		}
		select {
		case <-tick.C:
		case <-end:
			return
		case <-r.Context().Done():
			return
		case <-s.ending:
			return
		}
	}
}

// eventReader is what a reader was told last.
type eventReader struct {
	s        *Server
	begun    bool
	revision uint64
	told     time.Time
}

// next is what to send at now, nothing as long as nothing has changed.
func (e *eventReader) next(now time.Time) []byte {
	var b bytes.Buffer
	if !e.begun {
		b.WriteString("retry: 2000\n\n")
	}
	if revision := e.s.opts.Decider.Revision(); !e.begun || revision != e.revision {
		e.revision = revision
		st := e.s.decided()
		if data, err := json.Marshal(api.Change{Headline: st.Headline, Slots: st.Slots.Total}); err == nil { // on one line
			fmt.Fprintf(&b, "event: change\ndata: %s\n\n", data)
		}
	}
	e.begun = true
	switch {
	case b.Len() > 0:
		e.told = now
	case now.Sub(e.told) >= eventBeat:
		e.told = now
		b.WriteString(": nothing happens\n\n")
	}
	return b.Bytes()
}
