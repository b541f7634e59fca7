package decisionlog

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

func TestNoticesAreOneLineEachAndStuckWarns(t *testing.T) {
	kinds := []slots.NoticeKind{
		slots.NoticeExpired, slots.NoticeVanished, slots.NoticeAdopted, slots.NoticeForeign, slots.NoticeStuck, slots.NoticeMoved,
	}
	if len(meaning) != len(kinds) {
		t.Errorf("%d texts for %d kinds", len(meaning), len(kinds))
	}
	for _, kind := range append(kinds, "unheard-of") {
		var book bytes.Buffer
		Slots(slog.New(slog.NewTextHandler(&book, nil)), []slots.Notice{
			{Kind: kind, ID: slots.ID{UUID: "u-1", Name: "ns~host"}, State: "deploying", Op: "provision"},
		})
		level := "level=INFO"
		if kind == slots.NoticeStuck {
			level = "level=WARN"
		}
		line := book.String()
		for _, want := range []string{level, "kind=" + string(kind), "host=ns~host", "node=u-1", "state=deploying", "op=provision", "means="} {
			if !strings.Contains(line, want) {
				t.Errorf("%s: no %s in %s", kind, want, line)
			}
		}
		if strings.Count(line, "\n") != 1 {
			t.Errorf("%s: more than one line: %q", kind, line)
		}
	}
}
