package admission

import (
	"regexp"
	"strings"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

// maxCause bounds the text of a cause, in bytes.
const maxCause = 200

// own is what differs in last_error from node to node and from try to try: UUIDs, stamps,
// addresses, and long numbers.
var own = regexp.MustCompile(`(?i)[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}` +
	`|\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:?\d\d)?` +
	`|\b\d{1,3}(\.\d{1,3}){3}(:\d+)?\b|\b[0-9a-f]{2}(:[0-9a-f]{2}){5}\b|\b\d{4,}\b`)

// causeOf is what a failure has in common with others of its kind: the state in which
// Ironic left the node, and its last_error without what is the node's own.
func causeOf(e slots.Ending) string {
	text := own.ReplaceAllString(e.Cause, "…")
	if name := e.Host.ID().Name; name != "" {
		text = strings.ReplaceAll(text, name, "…")
	}
	if text = cut(text); text == "" {
		text = "no reason given"
	}
	return string(e.State) + ": " + text
}

// cut bounds a text of Ironic's and puts it on one line.
func cut(text string) string { return ironic.Line(text, maxCause) }
