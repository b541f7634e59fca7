package decisionlog

import (
	"cmp"
	"log/slog"
	"strconv"
	"strings"

	"github.com/ironic-throttle/ironic-throttle/pkg/admission"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// Failures logs one line for each host that failed, each hold that ended, each breaker that changed its state, with
// causes, counts and sample hosts, and each pool that paused or resumed.
func Failures(log *slog.Logger, notices []admission.FailureNotice) {
	for _, n := range notices {
		switch n.Kind {
		case admission.BreakerChanged:
			logBreaker(log, n)
		case admission.PoolChanged:
			logPool(log, n.Pool)
		case admission.HostFailed:
			logFailed(log, n)
		case admission.HoldEnded:
			log.Info("hold ended", append(hostArgs(n.Hold), "why", cmp.Or(holdEnds[n.End], n.End))...)
		}
	}
}

func logFailed(log *slog.Logger, n admission.FailureNotice) {
	h := n.Hold
	args := append(hostArgs(h), "work", n.Work, "state", h.State, "cause", h.Cause)
	if h.Episode != "" {
		args = append(args, "failures", h.Failures, "episode", h.Episode)
	}
	if h.Held {
		args = append(args, "heldUntil", h.Until)
	}
	log.Warn("host failed", args...)
}

// hostArgs names a host in the form that commands accept.
func hostArgs(h api.Hold) []any { return []any{"host", h.Host(), "node", h.NodeUUID} }

var holdEnds = map[string]string{
	"hand":    "released by an annotation",
	"spec":    "the host is to be something else",
	"time":    "its time is over",
	"success": "the host has gone well",
	"gone":    "the host is no more",
}

var breakerEvents = map[string]string{
	"OPEN":      "breaker opened: nothing new starts there, what runs goes on",
	"HALF_OPEN": "breaker half-open: single hosts are tried",
	"CLOSED":    "breaker closed: hosts may start again",
}

func logBreaker(log *slog.Logger, n admission.FailureNotice) {
	level := slog.LevelInfo
	if n.To == "OPEN" {
		level = slog.LevelWarn
	}
	args := []any{"scope", n.Scope, "from", n.From, "to", n.To, "byHand", n.ByHand}
	const most = 3 // causes
	for i, c := range n.Causes[:min(len(n.Causes), most)] {
		hosts := strings.Join(c.Hosts, " ")
		args = append(args, slog.Group("cause"+strconv.Itoa(i+1), "text", c.Text, "count", c.Count, "hosts", hosts))
	}
	write(log, level, cmp.Or(breakerEvents[n.To], "breaker "+n.To), args)
}

func logPool(log *slog.Logger, p api.PoolFailures) {
	level, event := slog.LevelInfo, "group resumed"
	if p.Paused {
		level, event = slog.LevelWarn, "group paused: more have failed or are held than IRONIC_THROTTLE_MAX_FAILED allows"
	}
	write(log, level, event, []any{"group", p.Pool, "failed", p.Failed, "hosts", p.Hosts, "allowed", p.Allowed})
}
