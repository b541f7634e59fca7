package decisionlog

import (
	"context"
	"log/slog"

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
}

// Slots writes one line for each thing that happened to a slot.
func Slots(log *slog.Logger, notices []slots.Notice) {
	for _, n := range notices {
		level := slog.LevelInfo
		attrs := []slog.Attr{
			slog.String("kind", string(n.Kind)), slog.String("host", n.ID.Name), slog.String("node", n.ID.UUID),
			slog.String("state", string(n.State)), slog.String("op", string(n.Op)), slog.String("means", meaning[n.Kind]),
		}
		if n.Kind == slots.NoticeStuck {
			level = slog.LevelWarn
		}
		log.LogAttrs(context.Background(), level, "slot event", attrs...)
	}
}
