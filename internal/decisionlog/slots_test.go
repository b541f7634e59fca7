package decisionlog

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

func TestLH33_NoticesAreOneLineEachAndStuckWarns(t *testing.T) {
	kinds := []slots.NoticeKind{
		slots.NoticeExpired, slots.NoticeVanished, slots.NoticeAdopted, slots.NoticeForeign, slots.NoticeStuck, slots.NoticeMoved,
		slots.NoticeAbandoned,
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
		if kind == slots.NoticeStuck || kind == slots.NoticeAbandoned {
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

// Work that a conductor has lost is told with what helps.
func TestAbandonedHostsAreToldWithTheRemedy(t *testing.T) {
	for state, remove := range map[ironic.State]bool{ironic.Inspecting: true, ironic.Deleting: false} {
		var book bytes.Buffer
		Slots(slog.New(slog.NewTextHandler(&book, nil)), []slots.Notice{
			{Kind: slots.NoticeAbandoned, ID: slots.ID{UUID: "u-1", Name: "metal3~lab"}, State: state},
		})
		for _, text := range []string{book.String(), Abandoned(state)} {
			if !strings.Contains(text, "start the conductor again") || strings.Contains(text, "delete the node") != remove {
				t.Errorf("%s: %s", state, text)
			}
		}
		for _, want := range []string{"level=WARN", "kind=abandoned", "host=metal3~lab", "remedy="} {
			if !strings.Contains(book.String(), want) {
				t.Errorf("no %s in %s", want, book.String())
			}
		}
	}
}
