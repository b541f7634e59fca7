package page

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// maxFailures bounds the breakers and the held hosts on the page: under RBAC each button costs a SubjectAccessReview.
const maxFailures = 12

func (d *document) breakers(v *View) {
	d.section("breakers", "Circuit breakers")
	quiet := func(b api.Breaker) bool { return b.State == "CLOSED" && b.RecentFailures == 0 }
	all := slices.DeleteFunc(slices.Clone(v.Status.Breakers), quiet)
	n := min(len(all), maxFailures)
	d.table("Breakers that count or stop", "of, action, state, n failures, next, most frequent cause", n, func(i int) {
		d.breaker(&all[i], v.MayReset)
	})
	switch {
	case len(all) > n:
		d.put(`<p>and %d more: <a href="/v1/breakers">/v1/breakers</a></p>`, len(all)-n)
	case len(v.Status.Breakers) == 0:
		d.put(`<p>None: no work has ended yet, or they are off.</p>`)
	case n == 0:
		d.put(`<p>All closed and without failures.</p>`)
	}
	d.put(`</section>
`)
}

func (d *document) breaker(b *api.Breaker, may func(string) bool) {
	next, cause := "", ""
	switch b.State {
	case "HALF_OPEN":
		next = fmt.Sprintf("%d of %d probes at work", b.Probes, b.ProbeLimit)
	case "OPEN":
		next = "probes in " + api.Seconds(b.TimeToRecovery)
	}
	if len(b.Causes) > 0 {
		cause = fmt.Sprintf("%d × %s", b.Causes[0].Count, b.Causes[0].Text)
	}
	d.put(`<tr data-key="%s"><th scope="row">%s</th><td>`, b.Scope, b.Scope)
	if b.State != "CLOSED" && may(b.Scope) {
		d.button("Reset", "the breaker of "+b.Scope, ResetPath(b.Scope), "", "Hosts may start there at once.")
	}
	d.put(`</td><td%s>%s%s</td>`, where(b.State != "CLOSED", ` class="bad"`), b.State, where(b.Tripped, " by hand"))
	d.numbers(fmt.Sprintf("%d of %d", b.RecentFailures, b.FailureThreshold))
	d.put(`<td>%s</td><td class="text">%s</td>`, next, cause)
}

// ResetPath returns the path of the API that resets a breaker.
func ResetPath(scope string) string { return "/v1/breakers/" + url.PathEscape(scope) + "/reset" }

// ReleasePath returns the path of the API that releases a hold.
func ReleasePath(h api.Hold) string {
	namespace, name := cmp.Or(h.Namespace, api.NoNamespace), cmp.Or(h.Name, h.NodeUUID)
	return "/v1/holds/" + url.PathEscape(namespace) + "/" + url.PathEscape(name) + "/release"
}

// holds shows the failed hosts that are held, and the groups that are paused.
func (d *document) holds(v *View) {
	d.section("holds", "Held hosts")
	held := slices.DeleteFunc(slices.Clone(v.Holds.Hosts), func(h api.Hold) bool { return !h.Held })
	n := min(len(held), maxFailures)
	d.table("Failed hosts that are held", "host, action, failed, n failures, n held for another, cause", n, func(i int) {
		d.hold(&held[i], v.MayRelease)
	})
	if len(held) > n {
		d.put(`<p>and %d more: <a href="/v1/holds">/v1/holds</a></p>`, len(held)-n)
	}
	d.put(`<p>Failed hosts: %d held, %d not held.</p>`, len(held), len(v.Holds.Hosts)-len(held))
	for _, p := range v.Holds.Pools {
		if p.Paused {
			d.put(`<p class="bad">%s: %d of %d hosts have failed, so no new ones start there.</p>`,
				cmp.Or(p.Pool, "The default conductor group"), p.Failed, p.Hosts)
		}
	}
	d.put(`</section>
`)
}

func (d *document) hold(h *api.Hold, may func(api.Hold) bool) {
	node := h.Name
	if h.Namespace != "" {
		node = h.Namespace + "~" + h.Name
	}
	d.put(`<tr data-key="%s"><th scope="row">`, h.NodeUUID)
	d.link(node, h.NodeUUID)
	d.put(`</th><td>`)
	if may(*h) {
		d.release(h)
	}
	d.put(`</td><td>%s</td>`, h.Kind)
	d.numbers(h.Failures, api.Seconds(h.RemainingSeconds))
	d.put(`<td class="text">%s</td>`, h.Cause)
}

// release writes the button that releases h.
func (d *document) release(h *api.Hold) {
	d.button("Release", h.Host(), ReleasePath(*h), h.Episode, "It may queue again, like any other.")
}

// button writes a button, which the page shows only with its script. It names the present episode, so that it never
// releases a later failure.
func (d *document) button(verb, what, path, episode, means string) {
	d.put(`<button type="button" data-post="%s" data-episode="%s" data-ask="%s %s? %s" aria-label="%s %s">%s</button>`,
		path, episode, verb, what, means, verb, what, verb)
}
