package decisionlog

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/admission"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

func TestOneLineForEachHostThatFailedOrIsFreeAgain(t *testing.T) {
	host := api.Hold{
		Namespace: "metal3", Name: "host-1", NodeUUID: "u-1", Episode: "e-1", State: "deploy failed", Cause: "no \"DHCP\"", Failures: 2,
		Held: true, Until: time.Date(2026, 11, 23, 11, 0, 0, 0, time.UTC),
	}
	for _, row := range []struct {
		notice admission.FailureNotice
		want   string
	}{
		{
			admission.FailureNotice{Kind: admission.HostFailed, Hold: host, Work: "deploy"},
			`level=WARN msg="host failed" host=metal3/host-1 node=u-1 work=deploy state="deploy failed" cause="no \"DHCP\"" failures=2 episode=e-1 heldUntil=2026-11-23T11:00:00.000Z`,
		},
		{
			admission.FailureNotice{Kind: admission.HostFailed, Hold: api.Hold{Name: "bare", NodeUUID: "u-2", State: "error", Cause: "c"}, Work: "delete"},
			`level=WARN msg="host failed" host=bare node=u-2 work=delete state=error cause=c`,
		},
		{
			admission.FailureNotice{Kind: admission.HoldEnded, Hold: host, End: "time"},
			`level=INFO msg="hold ended" host=metal3/host-1 node=u-1 how=time means="its time is over: it may be tried again"`,
		},
	} {
		var log bytes.Buffer
		Failures(slog.New(slog.NewTextHandler(&log, nil)), []admission.FailureNotice{row.notice})
		if _, got, _ := strings.Cut(strings.TrimSpace(log.String()), " "); got != row.want {
			t.Errorf("got\n%s\nwant\n%s", got, row.want)
		}
	}
	for _, how := range api.HoldEnds() {
		if endMeans[how] == "" {
			t.Errorf("nothing explains that a hold ended by %q", how)
		}
	}
}
