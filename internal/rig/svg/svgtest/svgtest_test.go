package svgtest

import (
	"strings"
	"testing"
)

func drawing(body string) string {
	return `<svg xmlns="http://www.w3.org/2000/svg" width="100pt" height="50pt" viewBox="0 0 100 50" fill="#1e1e1e">` +
		`<rect width="100" height="50" fill="#ffffff"/>` + body + `</svg>`
}

const fine = `<text x="5" y="20" font-size="10" text-anchor="start">one</text>` +
	`<text x="95" y="20" font-size="10" text-anchor="end">two</text>` +
	`<text transform="translate(50 25) rotate(-90)" font-size="10" text-anchor="middle">up</text>` +
	`<line x1="0" y1="32" x2="100" y2="32" stroke="#e1e1e1"/>` +
	`<polyline points="0,40 60,35 100,50" fill="none" stroke="#0072b2"/>`

func TestFaults(t *testing.T) {
	for name, c := range map[string]struct{ doc, want string }{
		"fine":           {drawing(fine), ""},
		"texts":          {drawing(fine + `<text x="20" y="25" font-size="10" text-anchor="start">more</text>`), `"more" overlaps "one"`},
		"upright text":   {drawing(fine + `<text x="50" y="25" font-size="10" text-anchor="end">more</text>`), `"more" overlaps "up"`},
		"text on a line": {drawing(fine + `<text x="5" y="45" font-size="10" text-anchor="start">more</text>`), `"more" overlaps a polyline of #0072b2`},
		"cut text":       {drawing(`<text x="80" y="20" font-size="10" text-anchor="start">more</text>`), `"more" is cut off`},
		"cut circle":     {drawing(`<circle cx="1" cy="9" r="3" fill="#ffffff" stroke="#0072b2"/>`), "a circle of #0072b2 is cut off"},
		"NaN":            {drawing(`<polyline points="NaN,1" fill="none" stroke="#0072b2"/>`), "cut off"},
		"pale text":      {strings.Replace(drawing(fine), "#1e1e1e", "#777777", 1), `"one" is too pale: #777777`},
		"pale line":      {drawing(`<polyline points="1,1" fill="none" stroke="#ffd700"/>`), "a polyline is too pale: #ffd700"},
		"pale bar":       {drawing(`<rect x="1" y="1" width="5" height="5" fill="#e1e1e1"/>`), "a rect is too pale"},
		"no colour":      {drawing(`<rect x="1" y="1" width="5" height="5"/>`), "a rect is too pale"},
		"dark":           {strings.Replace(drawing(fine), `fill="#ffffff"`, `fill="#000000"`, 1), "the background is #000000"},
	} {
		d, err := Read([]byte(c.doc))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got := strings.Join(d.Faults(), "\n")
		if (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestReadRefuses(t *testing.T) {
	for name, doc := range map[string]string{
		"not closed": `<svg width="1pt" height="1pt" viewBox="0 0 1 1">`,
		"other":      drawing(`<path d="M0 0"/>`),
		"box":        strings.Replace(drawing(""), "0 0 100 50", "0 0 10 50", 1),
		"number":     drawing(`<rect x="a"/>`),
		"transform":  drawing(`<text transform="scale(2)">a</text>`),
	} {
		if _, err := Read([]byte(doc)); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
}
