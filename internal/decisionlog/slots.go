// Package decisionlog puts into the log what the decision does by itself, which no request would show: what happens to
// slots (slots.go), what failures stop (failures.go), what becomes of the limits, and that Ironic is out of sight
// (view.go). The message of a line names the event.
//
// What somebody does by hand is told by internal/server, what a single request meets by internal/gateway, and what the
// owner of a host should know by internal/clusterhosts.
package decisionlog

import (
	"cmp"
	"context"
	"log/slog"

	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

// slotEvents are the messages.
var slotEvents = map[slots.NoticeKind]string{
	slots.NoticeAdopted:  "host adopted: it was at work before the start and takes a slot",
	slots.NoticeForeign:  "host at work without asking: it takes a slot",
	slots.NoticeExpired:  "slot expired: its host never started work",
	slots.NoticeVanished: "slot lost: its node left Ironic",
	slots.NoticeStuck:    "host stuck: it does not move and takes no slot any more",
	slots.NoticeMoved:    "host moves again: it takes a slot again",
}

// Slots writes one line for each thing that happened to a slot.
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

// write writes a line whose message is one of a closed list.
func write(log *slog.Logger, level slog.Level, event string, args []any) {
	log.Log(context.Background(), level, event, args...) //nolint:sloglint // so is the event
}
