package app

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"strings"

	"github.com/ironic-throttle/ironic-throttle/pkg/admission"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

// noticeText explains each kind.
var noticeText = map[slots.NoticeKind]string{
	slots.NoticeAdopted:  "found busy after the start, takes a slot",
	slots.NoticeForeign:  "busy and nobody asked, takes a slot",
	slots.NoticeExpired:  "never used its slot, the slot is free again",
	slots.NoticeVanished: "left Ironic, its slot is free again",
	slots.NoticeStuck:    "does not move, is written off and takes no slot",
	slots.NoticeMoved:    "moves again, takes a slot again",

	slots.NoticeAbandoned: "no conductor works on it any more: one was stopped or killed in the middle and has lost the work",
}

// abandonedRemedy is what helps a node that its conductor has lost: Ironic accepts no target
// for it, and an abort only in a wait state.
func abandonedRemedy(s ironic.State) string {
	const start = "start the conductor again: each start moves 8 such nodes of each state ([conductor]periodic_max_workers) to their failed state, and breaks off its other work"
	if s == ironic.Inspecting {
		return start + "; or set maintenance and delete the node, and the operator enrolls it anew"
	}
	return start
}

// noticeLogger writes one line for each thing that happened to a slot.
func noticeLogger(log *slog.Logger) func([]slots.Notice) {
	return func(notices []slots.Notice) {
		for _, n := range notices {
			level := slog.LevelInfo
			attrs := []slog.Attr{
				slog.String("kind", string(n.Kind)), slog.String("host", n.ID.Name), slog.String("node", n.ID.UUID),
				slog.String("state", string(n.State)), slog.String("op", string(n.Op)), slog.String("means", noticeText[n.Kind]),
			}
			switch n.Kind {
			case slots.NoticeStuck:
				level = slog.LevelWarn
			case slots.NoticeAbandoned:
				level, attrs = slog.LevelWarn, append(attrs, slog.String("remedy", abandonedRemedy(n.State)))
			}
			log.LogAttrs(context.Background(), level, "slot event", attrs...)
		}
	}
}

// noticed tells what happened to slots: the log of everything, and a host in the cluster of
// what only its owner or Ironic's can mend.
func (a *App) noticed(notices []slots.Notice) {
	noticeLogger(a.log)(notices)
	if a.recorder == nil || !a.mayStart() {
		return
	}
	for _, n := range notices {
		if n.Kind != slots.NoticeAbandoned {
			continue
		}
		namespace, name, _ := strings.Cut(n.ID.Name, "~")
		if host, known := (knownHosts{a.hosts, a.now}).find(namespace, name, n.ID.UUID); known {
			a.recorder.Abandoned(host.Namespace, host.Name, fmt.Sprintf("Its node does not leave %q: %s. Whoever runs Ironic can %s",
				n.State, noticeText[n.Kind], abandonedRemedy(n.State)))
		}
	}
}

// failureLogger writes one line for each breaker that changed its state and each pool
// that was paused or reopened, with causes, counts and sample hosts.
func failureLogger(log *slog.Logger) func([]admission.FailureNotice) {
	return func(notices []admission.FailureNotice) {
		for _, n := range notices {
			switch n.Kind {
			case admission.BreakerChanged:
				logBreaker(log, n)
			case admission.PoolChanged:
				tellPool(log, n.Pool)
			}
		}
	}
}

func logBreaker(log *slog.Logger, n admission.FailureNotice) {
	level, means := slog.LevelInfo, "hosts may start again"
	switch n.To {
	case "OPEN":
		level, means = slog.LevelWarn, "nothing new starts there; what runs goes on"
	case "HALF_OPEN":
		means = "single hosts are tried"
	}
	attrs := []slog.Attr{
		slog.String("scope", n.Scope), slog.String("from", n.From), slog.String("to", n.To),
		slog.Bool("byHand", n.ByHand), slog.String("means", means),
	}
	for i, c := range n.Causes[:min(len(n.Causes), maxLoggedCauses)] {
		attrs = append(attrs, slog.Group("cause"+strconv.Itoa(i+1),
			slog.String("text", c.Text), slog.Int("count", c.Count), slog.String("hosts", strings.Join(c.Hosts, " "))))
	}
	log.LogAttrs(context.Background(), level, "circuit breaker", attrs...)
}

func tellPool(log *slog.Logger, p api.PoolFailures) {
	level, means := slog.LevelInfo, "reopened"
	if p.Paused {
		level, means = slog.LevelWarn, "paused: more have failed or are held than IRONIC_THROTTLE_MAX_FAILED allows"
	}
	log.LogAttrs(context.Background(), level, "conductor group", slog.String("group", p.Pool), slog.String("means", means),
		slog.Int("failed", p.Failed), slog.Int("hosts", p.Hosts), slog.Int("allowed", p.Allowed))
}

const maxLoggedCauses = 3
