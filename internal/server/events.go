package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// Bounds of GET /v1/events. A reader has no buffer of its own: all read the events that the decision
// keeps, and who is slower than those are made misses some and is told so.
const (
	maxEventReaders = 64
	eventTick       = time.Second      // between two looks
	eventBeat       = 15 * time.Second // without anything to tell
	eventPatience   = 10 * time.Second // for a reader to take what is sent
	// guardedStream is how long who was let in by Access may read before they are asked for their
	// right again: a browser comes back by itself, and goes on where it was.
	guardedStream = time.Minute
)

// events answers GET /v1/events: what happens, as server-sent events, until the reader leaves, is too
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
	reader := s.newEventReader(r.Header.Get("Last-Event-ID"))
	for {
		if text := reader.next(time.Now()); len(text) > 0 {
			write()
			if _, err := w.Write(text); err != nil || conn.Flush() != nil { //nolint:gosec // JSON, in no page
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

// eventReader is how far a reader has come.
type eventReader struct {
	s        *Server
	seq      uint64 // of the last event that it was sent
	missed   bool   // some that it has not seen are not kept any more
	begun    bool
	revision uint64 // of what it was told last
	told     time.Time
}

// newEventReader begins behind the event with the id last, or with "" behind all that were.
func (s *Server) newEventReader(last string) *eventReader {
	e := &eventReader{s: s}
	of, number, _ := strings.Cut(last, "-")
	seq, err := strconv.ParseUint(number, 10, 64)
	switch {
	case last == "":
		if all := s.opts.Decider.Events(); len(all) > 0 {
			e.seq = all[len(all)-1].Seq
		}
	case of == s.eventsOf && err == nil:
		e.seq = seq
	default: // of another process: this one's events are all new
		e.missed = true
	}
	return e
}

// next is what to send at now, nothing as long as nothing has changed.
func (e *eventReader) next(now time.Time) []byte {
	var b bytes.Buffer
	if !e.begun {
		b.WriteString("retry: 2000\n\n")
	}
	if revision := e.s.opts.Decider.Revision(); !e.begun || revision != e.revision {
		e.revision = revision
		e.happened(&b)
		e.changed(&b)
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

// happened writes the events that are new to e.
func (e *eventReader) happened(b *bytes.Buffer) {
	fresh := e.s.eventsNow()
	for len(fresh) > 0 && fresh[0].Seq <= e.seq {
		fresh = fresh[1:]
	}
	// Told also where nothing has happened yet: an id of ours would hide it for ever.
	if e.missed || len(fresh) > 0 && fresh[0].Seq > e.seq+1 {
		e.missed = false
		fmt.Fprintf(b, "event: gap\ndata: {}\n\n")
	}
	for _, event := range fresh {
		e.seq = event.Seq
		e.write(b, "event", event)
	}
}

// changed says that the status is another one, with its essentials.
func (e *eventReader) changed(b *bytes.Buffer) {
	st := e.s.decided()
	e.write(b, "change", api.Change{Headline: st.Headline, Slots: st.Slots.Total})
}

func (e *eventReader) write(b *bytes.Buffer, name string, v any) {
	data, err := json.Marshal(v) // on one line
	if err != nil {
		return // it is of strings and numbers
	}
	fmt.Fprintf(b, "event: %s\nid: %s-%d\ndata: %s\n\n", name, e.s.eventsOf, e.seq, data)
}
