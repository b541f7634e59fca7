package fakeironic

import (
	"fmt"
	"net/http"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// fault is an error of Ironic, in one of its two forms: with a faultcode, or with code and title for routes and
// versions.
type fault struct {
	status int
	text   string
	code   string // Client or Server; "": the second form
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

func lockedFault(n *node) *fault {
	return clientFault(409, "Node %s is locked by host %s, please retry after the current operation is completed.",
		n.uuid, hostname(n.conductor))
}

func wrongState(n *node, target ironic.Target) *fault {
	return clientFault(400, `The requested action "%s" can not be performed on node "%s" while it is in state "%s".`,
		target, n.uuid, n.state)
}

func inMaintenance(n *node, op string) *fault {
	return clientFault(400, "The %s operation can't be performed on node %s because it's in maintenance mode.", op, n.uuid)
}

// or returns status and text of the fault, or that status if there is none.
func (f *fault) or(status int) (int, string) {
	if f == nil {
		return status, ""
	}
	return f.status, f.text
}

// body returns the fault as Ironic writes it: JSON in a string in JSON.
func (f *fault) body() []byte {
	inner := object{{"faultcode", f.code}, {"faultstring", f.text}, {"debuginfo", nil}}
	if f.code == "" {
		inner = object{{"code", f.status}, {"title", http.StatusText(f.status)}, {"description", f.text}}
	}
	return appendJSON(nil, object{{"error_message", string(appendJSON(nil, inner))}})
}
