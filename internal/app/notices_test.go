package app

import (
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/kube"
	"github.com/ironic-throttle/ironic-throttle/internal/kube/events"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

func TestLH33_NoticesAreOneLineEachAndStuckWarns(t *testing.T) {
	kinds := []slots.NoticeKind{
		slots.NoticeExpired, slots.NoticeVanished, slots.NoticeAdopted, slots.NoticeForeign, slots.NoticeStuck, slots.NoticeMoved,
		slots.NoticeAbandoned,
	}
	if len(noticeText) != len(kinds) {
		t.Errorf("%d texts for %d kinds", len(noticeText), len(kinds))
	}
	for _, kind := range append(kinds, "unheard-of") {
		var book logBook
		noticeLogger(book.logger())([]slots.Notice{{Kind: kind, ID: slots.ID{UUID: "u-1", Name: "ns~host"}, State: "deploying", Op: "provision"}})
		level := "level=INFO"
		if kind == slots.NoticeStuck || kind == slots.NoticeAbandoned {
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

// Work that a conductor has lost is told with what helps, to the owner of the host as well.
func TestAbandonedHostsAreToldWithTheRemedy(t *testing.T) {
	cluster, err := kube.Connect(kube.Options{Kubeconfig: kubeconfig(t)})
	if err != nil {
		t.Fatal(err)
	}
	told, err := events.New(events.Options{Config: cluster.Config, Find: func(string, string) (string, bool) { return "uid", true }})
	if err != nil {
		t.Fatal(err)
	}
	var book logBook
	a := &App{log: book.logger(), now: time.Now}
	lost := []slots.Notice{
		{Kind: slots.NoticeAbandoned, ID: slots.ID{UUID: "u-1", Name: "metal3~lab"}, State: ironic.Inspecting},
		{Kind: slots.NoticeAbandoned, ID: slots.ID{UUID: "u-2", Name: "metal3~other"}, State: ironic.Deleting},
	}
	a.noticed(lost) // without a cluster
	if n := book.count("level=WARN", "kind=abandoned", "host=metal3~lab", "remedy=", "start the conductor again", "delete the node"); n != 1 {
		t.Errorf("%q", book.text.String())
	}
	if n := book.count("host=metal3~other", "remedy=", "start the conductor again"); n != 1 || book.count("host=metal3~other", "delete the node") != 0 {
		t.Errorf("%q", book.text.String())
	}
	a.recorder, a.hosts = told, directoryOf(t, cluster) // which knows no host
	a.noticed(lost)
	a.begun.Store(true)
	a.noticed(lost)
	if n := told.Stats().Events.Pending; n != 0 {
		t.Errorf("%d Events about hosts that the watch does not know", n)
	}
	told.Abandoned("metal3", "lab", "Its node does not leave inspecting")
	if n := told.Stats().Events.Pending; n != 1 {
		t.Errorf("%d Events", n)
	}
}
