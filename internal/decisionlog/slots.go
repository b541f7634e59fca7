package decisionlog

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

// meaning explains each kind.
var meaning = map[slots.NoticeKind]string{
	slots.NoticeAdopted:  "found busy after the start, takes a slot",
	slots.NoticeForeign:  "busy and nobody asked, takes a slot",
	slots.NoticeExpired:  "never used its slot, the slot is free again",
	slots.NoticeVanished: "left Ironic, its slot is free again",
	slots.NoticeStuck:    "does not move, is written off and takes no slot",
	slots.NoticeMoved:    "moves again, takes a slot again",

	slots.NoticeAbandoned: "no conductor works on it any more: one was stopped or killed in the middle and has lost the work",
}

// remedy is what helps a node that its conductor has lost: Ironic accepts no target
// for it, and an abort only in a wait state.
func remedy(s ironic.State) string {
	const start = "start the conductor again: each start moves 8 such nodes of each state ([conductor]periodic_max_workers)" +
		" to their failed state, and breaks off its other work"
	if s == ironic.Inspecting {
		return start + "; or set maintenance and delete the node, and the operator enrolls it anew"
	}
	return start
}

// Slots writes one line for each thing that happened to a slot.
func Slots(log *slog.Logger, notices []slots.Notice) {
	for _, n := range notices {
		level := slog.LevelInfo
		attrs := []slog.Attr{
			slog.String("kind", string(n.Kind)), slog.String("host", n.ID.Name), slog.String("node", n.ID.UUID),
			slog.String("state", string(n.State)), slog.String("op", string(n.Op)), slog.String("means", meaning[n.Kind]),
		}
		switch n.Kind {
		case slots.NoticeStuck:
			level = slog.LevelWarn
		case slots.NoticeAbandoned:
			level, attrs = slog.LevelWarn, append(attrs, slog.String("remedy", remedy(n.State)))
		}
		log.LogAttrs(context.Background(), level, "slot event", attrs...)
	}
}

// Abandoned tells the owner of a host whose node is in s that its work is lost.
func Abandoned(s ironic.State) string {
	return fmt.Sprintf("Its node does not leave %q: %s. Whoever runs Ironic can %s", s, meaning[slots.NoticeAbandoned], remedy(s))
}
