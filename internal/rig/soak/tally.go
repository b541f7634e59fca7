package soak

import (
	"fmt"
	"strings"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// Tally shows that histories were worth playing.
type Tally struct {
	Hours                                          float64 // of virtual time
	Asks, Granted, Adapted, Planned, Works, Failed int
	Held, Saves, Terms, Polls, WrittenOff, Trips   int
	PeakWorking, PeakCounted, PeakParts            int
	Faults                                         [faultKinds]int
	Answers                                        map[api.Reason]int
}

// Add adds what another history was like.
func (t *Tally) Add(o *Tally) {
	t.Hours += o.Hours
	for _, p := range []struct{ to, from *int }{
		{&t.Asks, &o.Asks}, {&t.Granted, &o.Granted}, {&t.Adapted, &o.Adapted}, {&t.Planned, &o.Planned}, {&t.Works, &o.Works},
		{&t.Failed, &o.Failed}, {&t.Held, &o.Held}, {&t.Saves, &o.Saves}, {&t.Terms, &o.Terms}, {&t.Polls, &o.Polls},
		{&t.WrittenOff, &o.WrittenOff}, {&t.Trips, &o.Trips},
	} {
		*p.to += *p.from
	}
	t.PeakWorking, t.PeakCounted = max(t.PeakWorking, o.PeakWorking), max(t.PeakCounted, o.PeakCounted)
	t.PeakParts = max(t.PeakParts, o.PeakParts)
	for f := range o.Faults {
		t.Faults[f] += o.Faults[f]
	}
	if t.Answers == nil {
		t.Answers = map[api.Reason]int{}
	}
	for r, n := range o.Answers {
		t.Answers[r] += n
	}
}

// String is a short table.
func (t *Tally) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%.0f virtual hours, %d asks, %d slots granted (%d below the ceiling, %d to planned work), %d works, %d failed\n",
		t.Hours, t.Asks, t.Granted, t.Adapted, t.Planned, t.Works, t.Failed)
	fmt.Fprintf(&b, "%d terms, %d polls, %d holds, %d saves, %d written off; at most %d hosts at work, %d of them on slots that count\n",
		t.Terms, t.Polls, t.Held, t.Saves, t.WrittenOff, t.PeakWorking, t.PeakCounted)
	b.WriteString("answers:")
	for _, r := range api.Reasons() {
		fmt.Fprintf(&b, " %s %d,", r, t.Answers[r])
	}
	b.WriteString("\nfaults:")
	for f, n := range t.Faults {
		if n > 0 {
			fmt.Fprintf(&b, " %s %d,", faultNames[f], n)
		}
	}
	b.WriteString("\n")
	return b.String()
}
