package admission_test

import (
	"strings"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// The range is in the answer, the queue, the story and the headline as soon as five slots have ended.
func TestF12_TheRangeIsToldEverywhere(t *testing.T) {
	f := newFront(t, 1)
	for i := range 5 {
		f.starts(i)
		f.succeeds(i)
	}
	f.starts(6)
	f.want(by(7, api.OpProvision), api.ReasonFull)
	f.passes(time.Minute)
	a := f.want(by(7, api.OpProvision), api.ReasonFull)
	if a.ExpectSeconds <= 0 || a.AtMostSeconds < 2*a.ExpectSeconds || !strings.Contains(a.Message, " for nine of ten") {
		t.Errorf("%+v", a)
	}
	h := f.Queue(f.now, 9).Pools[0].Hosts[0]
	if h.ExpectSeconds == nil || h.AtMostSeconds == nil || int(*h.AtMostSeconds) != a.AtMostSeconds {
		t.Errorf("%+v, but %+v", h, a)
	}
	if story := strings.Join(f.Why(f.now, "", uuid(7)).Story, " "); !strings.Contains(story, " for nine of ten") {
		t.Error(story)
	}
	if line := f.Status(f.now).Headline; !strings.Contains(line, "1 host waits, the last of them for about ") || !strings.Contains(line, " for nine of ten") {
		t.Error(line)
	}
}
