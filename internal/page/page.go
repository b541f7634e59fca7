package page

import "github.com/ironic-throttle/ironic-throttle/pkg/api"

// Rows is how many of the first hosts of each queue the page shows.
const Rows = 50

// View is what the page shows.
type View struct {
	Status api.Status
	Queue  api.Queue
	Holds  api.Holds
	// MayRelease and MayReset tell whether the user may release a host's hold or reset a breaker.
	MayRelease func(api.Hold) bool
	MayReset   func(scope string) bool
}

// Overview returns the main page as HTML.
func Overview(v View) string {
	d, s := &document{}, &v.Status
	d.begin(s, "%d/%d ironic-throttle", s.Slots.Total.Occupied, s.Slots.Total.Limit)
	d.put(`<h1 id="headline">%s</h1>
`, s.Headline)
	if len(s.Warnings) > 0 {
		d.section("warnings", "Warnings")
		d.put(`<ul>`)
		for _, w := range s.Warnings {
			d.put(`<li>%s</li>`, w)
		}
		d.put(`</ul></section>`)
	}
	d.slots(s)
	d.breakers(&v)
	d.holds(&v)
	d.queue(&v)
	d.end()
	return d.String()
}

// begin writes all that comes before the content of a page.
func (d *document) begin(s *api.Status, title markup, args ...any) {
	d.put(`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>`)
	d.put(title, args...)
	d.put(`</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/page.css">
<script src="/page.js" defer></script>
</head>
<body>
<header>
<p class="name"><a href="/">ironic-throttle</a></p>
<p id="facts" data-live>`)
	mode := s.Mode
	if mode == "observe" {
		mode = "observe: nothing is refused"
	}
	d.put(`<span>%s</span> <span%s>%s</span> <span>%s</span></p>
<p id="connection" role="status"></p>
<p id="said" role="status"></p>
</header>
<main id="main" data-live>
`, mode, where(!s.View.Fresh, ` class="bad"`), viewText(s.View), s.Version)
}

func (d *document) end() {
	d.put(`</main>
<footer><p>As JSON: <a href="/v1/status">status</a>, <a href="/v1/queue">queue</a>, <a href="/v1/holds">holds</a>,
<a href="/v1/breakers">breakers</a>. Times of day are UTC.</p></footer>
</body>
</html>
`)
}

// viewText says how old the view of Ironic is, and why the last poll failed.
func viewText(v api.View) string {
	text := "Ironic seen " + api.Seconds(v.AgeSeconds) + " ago"
	if v.AgeSeconds < 0 {
		text = "no complete poll of Ironic yet"
	}
	if v.LastError != "" {
		text += " (" + v.LastError + ")"
	}
	return text
}
