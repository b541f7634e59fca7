package fairshare

import "time"

// wheel finds hosts whose claim window has ended: a ring of lists, one for each
// second of the ask clock. A host moves from list to list in O(1) at each ask.
type wheel struct {
	rim []wheelLink // list heads; a ring each
	at  int64       // the last second that was looked through
}

// rimSize is more seconds than the longest claim window and the longest step of the
// ask clock have together.
const rimSize = 8192

type wheelLink struct {
	before, after *wheelLink
	host          *Host
}

func newWheel() *wheel {
	w := &wheel{rim: make([]wheelLink, rimSize)}
	for i := range w.rim {
		head := &w.rim[i]
		head.before, head.after = head, head
	}
	return w
}

// set lets h end at the given second, which must be within the rim.
func (w *wheel) set(h *Host, second int64) {
	w.clear(h)
	second = max(second, w.at+1)
	head := &w.rim[second%rimSize]
	l := &h.link
	l.host = h
	l.before, l.after = head.before, head
	head.before.after, head.before = l, l
}

func (w *wheel) clear(h *Host) {
	l := &h.link
	if l.host == nil {
		return
	}
	l.before.after, l.after.before = l.after, l.before
	*l = wheelLink{}
}

// due takes out the next host whose second has come by now, or returns nil.
func (w *wheel) due(now int64) *Host {
	for w.at < now {
		head := &w.rim[(w.at+1)%rimSize]
		if l := head.after; l != head {
			h := l.host
			w.clear(h)
			return h
		}
		w.at++
	}
	return nil
}

// second rounds a time of the ask clock up.
func second(d time.Duration) int64 { return int64((d + time.Second - 1) / time.Second) }
