package decisionlog

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ironic-throttle/ironic-throttle/pkg/admission"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

// Each event is one line, and its message names it.
func TestTheMessageNamesTheEvent(t *testing.T) {
	host := api.Hold{
		Namespace: "metal3", Name: "host-1", NodeUUID: "u-1", Episode: "e-1", State: "deploy failed", Cause: "no \"DHCP\"", Failures: 2,
		Held: true, Until: time.Date(2026, 11, 23, 11, 0, 0, 0, time.UTC),
	}
	var log bytes.Buffer
	to := slog.New(slog.NewTextHandler(&log, nil))
	var notices []slots.Notice
	for _, kind := range []slots.NoticeKind{
		slots.NoticeAdopted, slots.NoticeForeign, slots.NoticeExpired, slots.NoticeVanished, slots.NoticeStuck, slots.NoticeMoved, "new",
	} {
		notices = append(notices, slots.Notice{Kind: kind, ID: slots.ID{UUID: "u-1", Name: "ns~host"}, State: "deploying", Op: "provision"})
	}
	Slots(to, notices)
	Failures(to, []admission.FailureNotice{
		{Kind: admission.HostFailed, Hold: host, Work: "deploy"},
		{Kind: admission.HostFailed, Hold: api.Hold{Name: "bare", NodeUUID: "u-2", State: "error", Cause: "c"}, Work: "delete"},
		{Kind: admission.HoldEnded, Hold: host, End: "time"},
		{Kind: admission.BreakerChanged, Scope: "ironic", From: "CLOSED", To: "OPEN", Causes: []api.BreakerCause{{Text: "t", Count: 2, Hosts: []string{"a", "b"}}}},
		{Kind: admission.BreakerChanged, Scope: "ironic", From: "OPEN", To: "HALF_OPEN"},
		{Kind: admission.BreakerChanged, Scope: "ironic", From: "OPEN", To: "CLOSED", ByHand: true},
		{Kind: admission.PoolChanged, Pool: api.PoolFailures{Pool: "rack1", Failed: 3, Hosts: 9, Allowed: 2, Paused: true}},
		{Kind: admission.PoolChanged, Pool: api.PoolFailures{Pool: "rack1", Failed: 2, Hosts: 9, Allowed: 2}},
	})
	const of = ` host=ns~host node=u-1 state=deploying op=provision`
	want := strings.ReplaceAll(`INFO "host adopted: it was at work before the start and takes a slot" OF
INFO "host at work without asking: it takes a slot" OF
INFO "slot expired: its host never started work" OF
INFO "slot lost: its node left Ironic" OF
WARN "host stuck: it does not move and takes no slot any more" OF
INFO "host moves again: it takes a slot again" OF
INFO new OF
WARN "host failed" host=metal3/host-1 node=u-1 work=deploy state="deploy failed" cause="no \"DHCP\"" failures=2 episode=e-1 heldUntil=2026-11-23T11:00:00.000Z
WARN "host failed" host=bare node=u-2 work=delete state=error cause=c
INFO "hold ended" host=metal3/host-1 node=u-1 why="its time is over"
WARN "breaker opened: nothing new starts there, what runs goes on" scope=ironic from=CLOSED to=OPEN byHand=false cause1.text=t cause1.count=2 cause1.hosts="a b"
INFO "breaker half-open: single hosts are tried" scope=ironic from=OPEN to=HALF_OPEN byHand=false
INFO "breaker closed: hosts may start again" scope=ironic from=OPEN to=CLOSED byHand=true
WARN "group paused: more have failed or are held than IRONIC_THROTTLE_MAX_FAILED allows" group=rack1 failed=3 hosts=9 allowed=2
INFO "group resumed" group=rack1 failed=2 hosts=9 allowed=2
`, " OF", of)
	var got strings.Builder
	for line := range strings.Lines(log.String()) {
		_, line, _ = strings.Cut(line, " level=")
		got.WriteString(strings.Replace(line, "msg=", "", 1))
	}
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
