package holdoff

import (
	"maps"
	"time"
)

// End says how a hold ended.
type End string

// The ends.
const (
	EndHand    End = "hand"    // released by a human (BO-10)
	EndSpec    End = "spec"    // the host is to be something else (BO-11)
	EndTime    End = "time"    // its time is over (BO-2)
	EndSuccess End = "success" // the host has gone well (BO-6)
	EndGone    End = "gone"    // the host is no more (BO-17)
)

// counts are the holds of this process: how many began, and how they ended.
type counts struct {
	held  map[string]string // name by UUID of the hosts whose hold is counted and has not ended
	begun uint64
	ended map[End]uint64
	news  []Ended // not taken yet
}

// Ended is a hold that ended by itself or by something that an ask or Ironic showed.
type Ended struct {
	UUID, Name string // as in Entry
	How        End
}

// Ends returns the holds that have ended since it was called last. Those that Release ended
// are not among them: whoever releases knows.
func (b *Book) Ends() []Ended {
	if b == nil {
		return nil
	}
	news := b.counts.news
	b.counts.news = nil
	return news
}

// Counts returns how many holds began since the start, and how many ended in which way. A
// hold that was restored did not begin.
func (b *Book) Counts() (begun uint64, ended map[End]uint64) {
	if b == nil {
		return 0, nil
	}
	return b.counts.begun, maps.Clone(b.counts.ended)
}

func (c *counts) begin(e *entry) {
	if _, known := c.held[e.uuid]; !known {
		c.begun++
	}
	c.held[e.uuid] = e.name
}

// noteEnd is countEnd for what Ends tells.
func (b *Book) noteEnd(now time.Time, uuid string, how End) {
	name := b.counts.held[uuid]
	if e := b.hosts[uuid]; e != nil {
		name = e.name
	}
	if b.countEnd(now, uuid, how) {
		b.counts.news = append(b.counts.news, Ended{UUID: uuid, Name: name, How: how})
	}
}

// countEnd counts the end of a hold, if it has ended.
func (b *Book) countEnd(now time.Time, uuid string, how End) bool {
	if _, known := b.counts.held[uuid]; !known || b.Held(now, uuid) {
		return false
	}
	delete(b.counts.held, uuid)
	b.counts.ended[how]++
	return true
}

// endShownBy returns how the hold of e ended, if an ask found it ended. release is the episode
// that the ask releases.
func endShownBy(e *entry, release string) End {
	switch p := e.present(); {
	case p == nil:
		return EndGone
	case p.released && release == p.id:
		return EndHand
	case p.released:
		return EndSpec
	}
	return EndTime
}
