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
		attrs := []slog.Attr{slog.String("host", n.ID.Name), slog.String("node", n.ID.UUID), slog.String("state", string(n.State))}
		if n.Op != "" {
			attrs = append(attrs, slog.String("op", string(n.Op)))
		}
		log.LogAttrs(context.Background(), level, cmp.Or(slotEvents[n.Kind], string(n.Kind)), attrs...) //nolint:sloglint // one of a closed list
	}
}
