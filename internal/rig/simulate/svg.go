package simulate

import (
	"bytes"
	"fmt"
	"math"
	"time"
)

// The picture has one panel of a fixed size, and a legend under it.
const (
	plotLeft, plotTop     = 50, 30
	plotWidth, plotHeight = 650, 200
	bins                  = 650 // points of a line
	maxLines              = 6
)

// colours are those of Okabe and Ito, which colour-blind people can tell apart.
var colours = [maxLines]string{"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"}

// line is a curve of the picture, with a value for each bin.
type line struct {
	name, colour string
	values       []int
}

// curves returns a line of working hosts for each storm, and one of the limit for an adaptive one.
func curves(results []Result) (lines []line, end time.Duration, high int) {
	for _, r := range results {
		end = max(end, r.series[len(r.series)-1].after)
	}
	for _, r := range results {
		name := fmt.Sprintf("%s, limit %d", r.Policy, r.Limit)
		if r.adaptive() {
			name += ", adaptive"
		}
		if r.Breaker == breakerOff && r.Policy == PolicyThrottle {
			name += ", no breaker"
		}
		working, limit := make([]int, 0, bins), make([]int, 0, bins)
		for _, p := range r.series {
			at := min(int(float64(p.after)/float64(end+1)*bins), bins-1)
			for len(working) <= at {
				working, limit = append(working, p.working), append(limit, p.limit)
			}
			working[at], limit[at] = max(working[at], p.working), p.limit // shows each peak
			high = max(high, p.working, p.limit)
		}
		colour := colours[len(lines)%maxLines]
		lines = append(lines, line{name: name + ": hosts that work", colour: colour, values: working})
		if r.adaptive() {
			lines = append(lines, line{name: name + ": limit in force", colour: "#1e1e1e", values: limit})
		}
	}
	return lines, end, high
}

// svg draws the curves.
func svg(results []Result) ([]byte, error) {
	lines, end, high := curves(results)
	if len(lines) > maxLines {
		return nil, fmt.Errorf("%d lines, can draw at most %d: compare fewer storms", len(lines), maxLines)
	}
	var b bytes.Buffer
	height := plotTop + plotHeight + 45 + 15*len(lines)
	const root = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 %d" ` +
		`font-family="Arial,Helvetica,sans-serif" font-size="11" fill="#1e1e1e">`
	fmt.Fprintf(&b, root+`
<rect width="720" height="%[1]d" fill="#fff"/>
<text x="%d" y="18" font-size="13">Hosts that work over time: %d hosts, seed %d</text>
`, height, plotLeft, results[0].Hosts, results[0].Seed)
	y := func(v float64) float64 { return plotTop + plotHeight*(1-v/float64(high+1)) }
	for step, v := roundStep(float64(high)/5), 0.0; v <= float64(high); v += step {
		fmt.Fprintf(&b, `<path d="M%d %.1fh%d" stroke="#ddd"/><text x="%d" y="%.1f" text-anchor="end">%g</text>`+"\n",
			plotLeft, y(v), plotWidth, plotLeft-6, y(v)+4, v)
	}
	hours := end.Hours()
	for step, v := roundStep(hours/8), 0.0; v <= hours; v += step {
		x := plotLeft + plotWidth*v/hours
		fmt.Fprintf(&b, `<path d="M%.1f %dv-%d" stroke="#ddd"/><text x="%.1f" y="%d" text-anchor="middle">%.3g</text>`+"\n",
			x, plotTop+plotHeight, plotHeight, x, plotTop+plotHeight+15, v)
	}
	fmt.Fprintf(&b, `<text x="%d" y="%d" text-anchor="middle">hours</text>`+"\n",
		plotLeft+plotWidth/2, plotTop+plotHeight+30)
	for i, l := range lines {
		at := plotTop + plotHeight + 45 + 15*i
		fmt.Fprintf(&b, `<path d="M%d %dh20" stroke="%s" stroke-width="2"/><text x="%d" y="%d">%s</text>`+"\n",
			plotLeft, at-4, l.colour, plotLeft+26, at, l.name)
		fmt.Fprintf(&b, `<polyline fill="none" stroke="%s" stroke-width="1.3" points="`, l.colour)
		for x, v := range l.values {
			fmt.Fprintf(&b, "%d,%.1f ", plotLeft+x*plotWidth/bins, y(float64(v)))
		}
		b.WriteString(`"/>` + "\n")
	}
	b.WriteString("</svg>\n")
	return b.Bytes(), nil
}

// roundStep returns the smallest number from v on that is 1, 2 or 5 times a power of ten.
func roundStep(v float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(max(v, 0.001))))
	for _, f := range []float64{1, 2, 5} {
		if f*power >= v {
			return f * power
		}
	}
	return 10 * power
}
