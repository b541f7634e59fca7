package page

import (
	"fmt"
	"strings"
	"time"
)

// Size of a sparkline.
const (
	sparkWidth  = 240
	sparkHeight = 40
)

// line is one of the hour's; ok is false where a step has no value.
type line struct {
	name  string
	value func(*Point) (v float64, ok bool)
	say   func(float64) string
	now   bool // its last value is that of now, and not of a step
}

func mean(m Mean) (float64, bool) { return m.Sum / float64(max(1, m.Count)), m.Count > 0 }

func plain(v float64) string { return fmt.Sprintf("%.0f", v) }

var lines = []line{
	{"slots taken", func(p *Point) (float64, bool) { return float64(p.Slots), true }, plain, true},
	{"hosts waiting", func(p *Point) (float64, bool) { return float64(p.Waiting), true }, plain, true},
	{"wait of who got a slot", func(p *Point) (float64, bool) { return mean(p.Waits) }, span, false},
	{"failures in half a minute", func(p *Point) (float64, bool) { return float64(p.Failures), true }, plain, false},
	{"boot time", func(p *Point) (float64, bool) { return mean(p.Booting) }, span, false},
}

// hour draws the last hour. What a line shows is said beside it in words.
func (d *document) hour(points []Point) {
	d.put(`<section id="hour" aria-labelledby="h-hour"><h2 id="h-hour">The last hour</h2><div class="sparks">
`)
	for _, l := range lines {
		d.spark(l, points)
	}
	d.put(`</div></section>
`)
}

func (d *document) spark(l line, points []Point) {
	var low, high, last float64
	n := 0
	for i := range points {
		v, ok := l.value(&points[i])
		if !ok {
			continue
		}
		if n == 0 {
			low, high = v, v
		}
		low, high, last = min(low, v), max(high, v), v
		n++
	}
	said := "nothing yet"
	switch {
	case n > 0 && l.now:
		said = fmt.Sprintf("%s now, %s to %s", l.say(last), l.say(low), l.say(high))
	case n > 0:
		said = fmt.Sprintf("last %s, %s to %s", l.say(last), l.say(low), l.say(high))
	}
	d.put(`<figure><figcaption><b>%s</b> %s</figcaption>
<svg viewBox="0 0 %d %d" preserveAspectRatio="none" aria-hidden="true"><path d="%s"/></svg></figure>
`, l.name, said, sparkWidth, sparkHeight, path(l, points, high))
}

// path is the line from an hour ago at the left to now at the right, with gaps where there is no
// value, from 0 to high.
func path(l line, points []Point, high float64) string {
	if len(points) == 0 {
		return ""
	}
	var b strings.Builder
	end := points[len(points)-1].At
	command := "M"
	for i := range points {
		v, ok := l.value(&points[i])
		if !ok {
			command = "M"
			continue
		}
		ago := end.Sub(points[i].At)
		x := sparkWidth - 2 - float64(sparkWidth-4)*float64(ago)/float64(time.Hour)
		y := sparkHeight - 2.0
		if high > 0 {
			y -= (sparkHeight - 4) * v / high
		}
		fmt.Fprintf(&b, "%s%.1f %.1f", command, x, y)
		if command == "M" {
			b.WriteString("h.1") // a value that stands alone is a dot
		}
		command = "L"
	}
	return b.String()
}
