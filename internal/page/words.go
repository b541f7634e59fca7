package page

import (
	"cmp"
	"fmt"
	"net/url"
	"strings"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// span is a time in seconds as people say it.
func span(seconds float64) string {
	switch s := max(0, seconds); {
	case s < 120:
		return fmt.Sprintf("%.0f s", s)
	case s < 2*60*60:
		return fmt.Sprintf("%.0f min", s/60)
	case s < 48*60*60:
		return fmt.Sprintf("%.1f h", s/3600)
	default:
		return fmt.Sprintf("%.0f days", s/86400)
	}
}

// within says when h may have its turn: half of such hosts and nine of ten. It is known.
func within(h *api.QueuedHost) string {
	text := span(*h.ExpectSeconds)
	if h.AtMostSeconds != nil && *h.AtMostSeconds > *h.ExpectSeconds {
		text += " to " + span(*h.AtMostSeconds)
	}
	return text
}

// counted is n with what it counts.
func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// named is the name of a host as BMO knows it: NAMESPACE/NAME, or the node's name or UUID.
func named(node, uuid string) string { return cmp.Or(strings.Replace(node, "~", "/", 1), uuid) }

// segments is a host in the path of a URL, for the name of its node.
func segments(node, uuid string) string {
	namespace, name, ok := strings.Cut(node, "~")
	if !ok {
		namespace, name = api.NoNamespace, cmp.Or(node, uuid)
	}
	return url.PathEscape(namespace) + "/" + url.PathEscape(name)
}

// link writes a host with a link to its page.
func (d *document) link(node, uuid string) {
	d.put(`<a href="/why/%s">%s</a>`, segments(node, uuid), named(node, uuid))
}

// linkShown is link for a name as it is shown.
func (d *document) linkShown(host, uuid string) {
	d.link(strings.Replace(host, "/", "~", 1), uuid)
}

func poolName(pool string) string { return cmp.Or(pool, "all hosts") }
