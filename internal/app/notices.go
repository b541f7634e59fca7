package app

import (
	"context"
	"log/slog"

	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

// noticeText is what the log says of each kind.
var noticeText = map[slots.NoticeKind]string{
	slots.NoticeAdopted:  "host found busy after the start, takes a slot",
	slots.NoticeForeign:  "host is busy and nobody asked, takes a slot",
	slots.NoticeExpired:  "host never used its slot, the slot is free again",
	slots.NoticeVanished: "host left Ironic, its slot is free again",
	slots.NoticeStuck:    "host does not move, it is written off and takes no slot",
	slots.NoticeMoved:    "host moves again, takes a slot again",
}

// noticeLogger writes one line for each thing that happened to a slot.
func noticeLogger(log *slog.Logger) func([]slots.Notice) {
	return func(notices []slots.Notice) {
		for _, n := range notices {
			level := slog.LevelInfo
			if n.Kind == slots.NoticeStuck {
				level = slog.LevelWarn
			}
			text, known := noticeText[n.Kind]
			if !known {
				text = "something happened to a slot"
			}
			log.LogAttrs(context.Background(), level, text,
				slog.String("kind", string(n.Kind)), slog.String("host", n.ID.Name), slog.String("node", n.ID.UUID),
				slog.String("state", string(n.State)), slog.String("op", string(n.Op)))
		}
	}
}
