package events

import "log/slog"

// troubles logs each kind of failure once, until it is over.
type troubles struct {
	log  *slog.Logger
	kind kind
	said [outcomes]bool
}

// note takes what became of a message, and in how many namespaces nothing goes through.
func (t *troubles) note(h *host, o outcome, err error, blocks int) {
	switch o {
	case told:
		if t.said[down] || blocks == 0 && t.said[blocked] {
			t.log.Info("the API server takes messages about hosts again", "kind", t.kind.String(), "blockedNamespaces", blocks)
		}
		t.said[down], t.said[blocked] = false, t.said[blocked] && blocks > 0
	case blocked, down, useless:
		if t.said[o] {
			return
		}
		t.said[o] = true
		t.warn(o, "kind", t.kind.String(), "namespace", h.namespace, "host", h.name, "error", err)
	}
}

// warn says what a failure means.
func (t *troubles) warn(o outcome, args ...any) {
	switch o {
	case useless:
		t.log.Warn("the API server refuses a message about a host for good: it is dropped, others like it without a word", args...)
	case blocked:
		t.log.Warn("nothing may be told about the hosts of a namespace: tried again now and then, in other such namespaces without a word", args...)
	case down:
		t.log.Warn("the API server takes no messages about hosts: the newest one of each host is kept and tried again", args...)
	}
}
