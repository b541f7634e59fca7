// Package decisionlog logs what the decision does without a request: what happens to slots (slots.go), what failures
// stop (failures.go), how limits change, and that the view of Ironic is stale (view.go). The message names the event.
//
// internal/server logs what operators do, internal/gateway logs single requests, and internal/clusterhosts tells the
// owners of hosts.
package decisionlog

import (
	"cmp"
	"context"
	"log/slog"

	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

var slotEvents = map[slots.NoticeKind]string{
	slots.NoticeAdopted:  "host adopted: it was at work before the start and takes a slot",
	slots.NoticeForeign:  "host at work without asking: it takes a slot",
	slots.NoticeExpired:  "slot expired: its host never started work",
	slots.NoticeVanished: "slot lost: its node left Ironic",
	slots.NoticeStuck:    "host stuck: it does not move and takes no slot any more",
	slots.NoticeMoved:    "host moves again: it takes a slot again",
}

// Slots logs one line for each notice.
func Slots(log *slog.Logger, notices []slots.Notice) {
	for _, n := range notices {
		level := slog.LevelInfo
		if n.Kind == slots.NoticeStuck {
			level = slog.LevelWarn
		}
		args := []any{"host", n.ID.Name, "node", n.ID.UUID, "state", n.State}
		if n.Op != "" {
			args = append(args, "op", n.Op)
		}
		write(log, level, cmp.Or(slotEvents[n.Kind], string(n.Kind)), args)
	}
}

// write logs a line. event is one of a closed list.
func write(log *slog.Logger, level slog.Level, event string, args []any) {
	log.Log(context.Background(), level, event, args...) //nolint:sloglint // event is a constant of this package
}
