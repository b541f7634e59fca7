package page

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// statusOf has that many failures and waits so far.
func statusOf(failures uint64, waits Mean, occupants ...api.Occupant) *api.Status {
	return &api.Status{
		Slots: api.SlotsView{Total: api.Slots{Limit: 20, Occupied: len(occupants), Waiting: 7}, Occupants: occupants},
		Turns: api.Turns{Waits: api.WaitHistogram{Count: waits.Count, SumSeconds: waits.Sum}},
		Storm: api.Storm{Outcomes: []api.OutcomeCount{{Result: "failure", Count: failures}, {Result: "success", Count: 99}}},
	}
}

func TestHourCountsWhatHappenedInEachStep(t *testing.T) {
	var h Hour
	node := func(uuid, state string) api.Occupant {
		return api.Occupant{NodeUUID: uuid, Busy: state != "clean failed", State: state}
	}
	at := func(seconds int) time.Time { return noon.Add(time.Duration(seconds) * time.Second) }
	h.Look(at(0), statusOf(5, Mean{10, 1000}, node("a", "deploying")))
	h.Look(at(10), statusOf(6, Mean{11, 1050}, node("a", "wait call-back")))
	h.Look(at(40), statusOf(8, Mean{13, 1250}, node("a", "wait call-back"), node("b", "clean wait")))
	h.Look(at(130), statusOf(8, Mean{13, 1250}, node("a", "deploying"), node("b", "clean failed")))
	h.Look(at(170), statusOf(8, Mean{13, 1250}, node("a", "wait call-back")))                   // writes its image
	h.Look(at(200), statusOf(8, Mean{13, 1250}, node("a", "deploying"), node("b", "cleaning"))) // tried again
	h.Look(at(210), statusOf(1, Mean{2, 20}))                                                   // the process has begun anew
	p := func(second, slots int) Point {
		return Point{At: at(second), Slots: slots, Limit: 20, Waiting: 7}
	}
	want := []Point{p(0, 1), p(30, 2), p(120, 2), p(150, 1), p(180, 2), p(210, 0)}
	want[0].Failures, want[0].Waits = 1, Mean{1, 50}
	want[1].Failures, want[1].Waits = 2, Mean{2, 200}
	want[2].Booting = Mean{1, 120}
	if diff := cmp.Diff(want, h.Points()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestHourIsAnHour(t *testing.T) {
	var h Hour
	for i := range 1000 {
		h.Look(noon.Add(time.Duration(i)*7*time.Second), statusOf(0, Mean{}))
	}
	points := h.Points()
	if n, span := len(points), points[len(points)-1].At.Sub(points[0].At); n != 120 || span != time.Hour-step {
		t.Errorf("%d points of %v", n, span)
	}
	h.Look(noon.Add(9*time.Hour), statusOf(0, Mean{}))
	if n := len(h.Points()); n != 1 {
		t.Errorf("%d points after a gap", n)
	}
	h.Look(noon, statusOf(0, Mean{})) // the clock was set back
	if n := len(h.Points()); n != 1 || !h.Points()[0].At.Equal(noon) {
		t.Errorf("%d points after the clock was set back", n)
	}
}

func TestHourIsLookedAtWhenDue(t *testing.T) {
	var h Hour
	if !h.Due(noon) {
		t.Error("the first look is not due")
	}
	h.Look(noon, statusOf(0, Mean{}))
	for after, want := range map[time.Duration]bool{5 * time.Second: false, lookGap: true, -time.Second: true} {
		if h.Due(noon.Add(after)) != want {
			t.Errorf("after %v: due is not %t", after, want)
		}
	}
}

func TestSparklinesSayWhatTheyShow(t *testing.T) {
	points := []Point{
		{At: noon.Add(-time.Hour), Slots: 20, Waiting: 5},
		{At: noon.Add(-step), Slots: 10, Waiting: 180, Booting: Mean{2, 600}},
		{At: noon, Slots: 0, Waiting: 180, Failures: 3},
	}
	var d document
	d.hour(points)
	for _, want := range []string{
		"<b>slots taken</b> 0 now, 0 to 20<", `d="M2.0 2.0h.1L236.0 20.0L238.0 38.0"`,
		"<b>hosts waiting</b> 180 now, 5 to 180<",
		"<b>wait of who got a slot</b> nothing yet<", `<path d=""/>`,
		"<b>failures in half a minute</b> last 3, 0 to 3<",
		"<b>boot time</b> last 5 min, 5 min to 5 min<", `d="M236.0 2.0h.1"`,
	} {
		if !strings.Contains(d.String(), want) {
			t.Errorf("lacks %s in %s", want, d.String())
		}
	}
	var none document
	none.hour(nil)
	if strings.Count(none.String(), "nothing yet") != len(lines) {
		t.Error(none.String())
	}
}
