package fakeironic

import (
	"fmt"
	"strings"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// fault is an answer of Ironic that is no success, in one of its two inner
// forms: faultcode, or code and title for routing and versions.
type fault struct {
	status int
	text   string
	code   string // Client, Server, or empty for the second form
}

func clientFault(status int, format string, args ...any) *fault {
	return &fault{status: status, code: "Client", text: fmt.Sprintf(format, args...)}
}

func serverFault(status int, text string) *fault {
	return &fault{status: status, code: "Server", text: text}
}

func routeFault(status int, text string) *fault { return &fault{status: status, text: text} }

func notFound(ident string) *fault { return clientFault(404, "Node %s could not be found.", ident) }

func notAcceptable() *fault { return clientFault(406, "Request not acceptable.") }

func lockedFault(n *node, host string) *fault {
	return clientFault(409, "Node %s is locked by host %s, please retry after the current operation is completed.", n.uuid, host)
}

func wrongState(n *node, target string, s ironic.State) *fault {
	return clientFault(400, `The requested action "%s" can not be performed on node "%s" while it is in state "%s".`, target, n.uuid, s)
}

func inMaintenance(n *node, op string) *fault {
	return clientFault(400, "The %s operation can't be performed on node %s because it's in maintenance mode.", op, n.uuid)
}

// title is the reason phrase that Ironic puts into its second form.
var title = map[int]string{400: "Bad Request", 404: "Not Found", 405: "Method Not Allowed", 406: "Not Acceptable"}

// body writes a fault as Ironic does: JSON inside a string inside JSON.
func (f *fault) body() []byte {
	var inner []byte
	if f.code != "" {
		inner = append(inner, `{"faultcode": `...)
		inner = appendString(inner, f.code)
		inner = append(inner, `, "faultstring": `...)
		inner = appendString(inner, f.text)
		inner = append(inner, `, "debuginfo": null}`...)
	} else {
		inner = append(inner, fmt.Sprintf(`{"code": %d, "title": `, f.status)...)
		inner = appendString(inner, title[f.status])
		inner = append(inner, `, "description": `...)
		inner = appendString(inner, f.text)
		inner = append(inner, '}')
	}
	out := append([]byte(nil), `{"error_message": `...)
	out = appendString(out, string(inner))
	return append(out, '}')
}

func upper(s string) string { return strings.ToUpper(s) }
