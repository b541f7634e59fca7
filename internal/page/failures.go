package page

import (
	"cmp"
	"fmt"
	"net/url"
	"strings"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// maxFailures are the breakers and the held hosts that are shown. Where the API is guarded each asks
// for a right of its own, and 32 of a user's are kept.
const maxFailures = 12

// breakers shows those that stop somebody, or count failures.
func (d *document) breakers(v *View) {
	d.put(`<section id="breakers" aria-labelledby="h-breakers"><h2 id="h-breakers">Circuit breakers</h2>
`)
	var shown []api.Breaker
	for _, b := range v.Status.Breakers {
		if b.State != "CLOSED" || b.RecentFailures > 0 {
			shown = append(shown, b)
		}
	}
	quiet := len(v.Status.Breakers) - len(shown)
	more := len(shown) - maxFailures
	shown = shown[:min(len(shown), maxFailures)]
	if len(shown) > 0 {
		d.table("Breakers that count or stop", "of", "action", "state", "n failures", "n probes", "n first probe in", "commonest cause")
		for _, b := range shown {
			d.breaker(&b, v.MayReset)
		}
		d.put(`</tbody></table></div>`)
	}
	switch {
	case more > 0:
		d.put(`<p>and %d more: <a href="/v1/breakers">/v1/breakers</a></p>`, more)
	case len(v.Status.Breakers) == 0:
		d.put(`<p>None: no scope has begun to work, or they are off.</p>`)
	case quiet > 0:
		d.put(`<p>%s closed and without failures.</p>`, counted(quiet, "breaker is", "breakers are"))
	}
	d.put(`</section>
`)
}

func (d *document) breaker(b *api.Breaker, may func(string) bool) {
	state, probes, recovers, cause := b.State, "", "", ""
	if b.Tripped {
		state += " by hand"
	}
	if b.State == "HALF_OPEN" {
		probes = fmt.Sprintf("%d of %d", b.Probes, b.ProbeLimit)
	}
	if b.State == "OPEN" {
		recovers = span(b.TimeToRecovery)
	}
	if len(b.Causes) > 0 {
		cause = fmt.Sprintf("%d × %s", b.Causes[0].Count, b.Causes[0].Text)
	}
	d.put(`<tr data-key="%s"><th scope="row">%s</th><td>`, b.Scope, b.Scope)
	if b.State != "CLOSED" && may(b.Scope) {
		d.button("Reset", "the breaker of "+b.Scope, ResetPath(b.Scope), "", "Hosts may start there at once.")
	}
	d.put(`</td><td%s>%s</td>`, where(b.State != "CLOSED", ` class="bad"`), state)
	d.numbers(fmt.Sprintf("%d of %d", b.RecentFailures, b.FailureThreshold), probes, recovers)
	d.put(`<td class="text">%s</td></tr>
`, cause)
}

// ResetPath is where a breaker is reset.
func ResetPath(scope string) string { return "/v1/breakers/" + url.PathEscape(scope) + "/reset" }

// ReleasePath is where a hold is released.
func ReleasePath(h api.Hold) string {
	return "/v1/holds/" + url.PathEscape(cmp.Or(h.Namespace, api.NoNamespace)) + "/" + url.PathEscape(cmp.Or(h.Name, h.NodeUUID)) + "/release"
}

// holds shows who is left alone, and the groups that are paused.
func (d *document) holds(v *View) {
	d.put(`<section id="holds" aria-labelledby="h-holds"><h2 id="h-holds">Held hosts</h2>
`)
	held, failed, rows := 0, 0, 0
	for i := range v.Holds.Hosts {
		h := &v.Holds.Hosts[i]
		if !h.Held {
			failed++
			continue
		}
		if held++; held > maxFailures {
			continue
		}
		if rows == 0 {
			d.table("Failed hosts that are left alone", "host", "action", "failed", "n failures", "n held for another", "cause")
		}
		rows++
		d.hold(h, v.MayRelease)
	}
	if rows > 0 {
		d.put(`</tbody></table></div>`)
	}
	if held > rows {
		d.put(`<p>and %d more: <a href="/v1/holds">/v1/holds</a></p>`, held-rows)
	}
	d.put(`<p>%s left alone, %d more failed and not held.</p>`, counted(held, "failed host is", "failed hosts are"), failed)
	var paused []string
	for _, p := range v.Holds.Pools {
		if p.Paused {
			paused = append(paused, fmt.Sprintf("%s (%d of %d)", cmp.Or(p.Pool, "the default group"), p.Failed, p.Hosts))
		}
	}
	if len(paused) > 0 {
		d.put(`<p class="bad">Too many have failed, so no new ones start in %s.</p>`, strings.Join(paused, ", "))
	}
	d.put(`</section>
`)
}

func (d *document) hold(h *api.Hold, may func(api.Hold) bool) {
	host := h.Name
	if h.Namespace != "" {
		host = h.Namespace + "/" + h.Name
	}
	d.put(`<tr data-key="%s"><th scope="row">`, h.NodeUUID)
	d.linkShown(host, h.NodeUUID)
	d.put(`</th><td>`)
	if may(*h) {
		d.release(h, cmp.Or(host, h.NodeUUID))
	}
	d.put(`</td><td>%s</td>`, h.Kind)
	d.numbers(h.Failures, span(h.RemainingSeconds))
	d.put(`<td class="text">%s</td></tr>
`, h.Cause)
}

// release writes the button that releases h.
func (d *document) release(h *api.Hold, host string) {
	d.button("Release", host, ReleasePath(*h), h.Episode, "It may queue again, like any other.")
}

// button writes one that the script makes work; without it there is none. It is of the present
// episode, so that it never reaches a later failure.
func (d *document) button(verb, what, path, episode, means string) {
	d.put(`<button type="button" data-post="%s" data-episode="%s" data-ask="%s %s? %s" aria-label="%s %s">%s</button>`,
		path, episode, verb, what, means, verb, what, verb)
}
