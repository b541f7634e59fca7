package app

import (
	"testing"

	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

func TestLH33_NoticesAreOneLineEachAndStuckWarns(t *testing.T) {
	kinds := []slots.NoticeKind{
		slots.NoticeExpired, slots.NoticeVanished, slots.NoticeAdopted, slots.NoticeForeign, slots.NoticeStuck, slots.NoticeMoved,
	}
	if len(noticeText) != len(kinds) {
		t.Errorf("%d texts for %d kinds", len(noticeText), len(kinds))
	}
	for _, kind := range append(kinds, "unheard-of") {
		var book logBook
		noticeLogger(book.logger())([]slots.Notice{{Kind: kind, ID: slots.ID{UUID: "u-1", Name: "ns~host"}, State: "deploying", Op: "provision"}})
		level := "level=INFO"
		if kind == slots.NoticeStuck {
			level = "level=WARN"
		}
		if n := book.count(level, "kind="+string(kind), "host=ns~host", "node=u-1", "state=deploying", "op=provision", "means="); n != 1 {
			t.Errorf("%s: %q", kind, book.text.String())
		}
		if book.count("") != 1 {
			t.Errorf("%s: more than one line: %q", kind, book.text.String())
		}
	}
}
