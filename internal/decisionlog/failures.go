package decisionlog

import (
	"cmp"
	"context"
	"log/slog"
	"strconv"
	"strings"

	"github.com/ironic-throttle/ironic-throttle/pkg/admission"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// Failures writes one line for each host that failed, each hold that ended, each breaker that
// changed its state, with causes, counts and sample hosts, and each pool that was paused or
// reopened.
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
			log.LogAttrs(context.Background(), slog.LevelInfo, "hold ended",
				append(hostAttrs(n.Hold), slog.String("why", cmp.Or(holdEnds[n.End], n.End)))...)
		}
	}
}

func logFailed(log *slog.Logger, n admission.FailureNotice) {
	h := n.Hold
	attrs := append(hostAttrs(h), slog.String("work", n.Work), slog.String("state", h.State), slog.String("cause", h.Cause))
	if h.Episode != "" {
		attrs = append(attrs, slog.Int("failures", h.Failures), slog.String("episode", h.Episode))
	}
	if h.Held {
		attrs = append(attrs, slog.Time("heldUntil", h.Until))
	}
	log.LogAttrs(context.Background(), slog.LevelWarn, "host failed", attrs...)
}

// hostAttrs name a host as commands take it.
func hostAttrs(h api.Hold) []slog.Attr {
	name := h.Name
	if h.Namespace != "" {
		name = h.Namespace + "/" + name
	}
	return []slog.Attr{slog.String("host", name), slog.String("node", h.NodeUUID)}
}

// holdEnds explains each of api.HoldEnds.
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
	attrs := []slog.Attr{slog.String("scope", n.Scope), slog.String("from", n.From), slog.String("to", n.To), slog.Bool("byHand", n.ByHand)}
	for i, c := range n.Causes[:min(len(n.Causes), maxLoggedCauses)] {
		attrs = append(attrs, slog.Group("cause"+strconv.Itoa(i+1),
			slog.String("text", c.Text), slog.Int("count", c.Count), slog.String("hosts", strings.Join(c.Hosts, " "))))
	}
	log.LogAttrs(context.Background(), level, cmp.Or(breakerEvents[n.To], "breaker "+n.To), attrs...) //nolint:sloglint // one of a closed list
}

func logPool(log *slog.Logger, p api.PoolFailures) {
	level, event := slog.LevelInfo, "group resumed"
	if p.Paused {
		level, event = slog.LevelWarn, "group paused: more have failed or are held than IRONIC_THROTTLE_MAX_FAILED allows"
	}
	log.LogAttrs(context.Background(), level, event, slog.String("group", p.Pool), //nolint:sloglint // one of a closed list
		slog.Int("failed", p.Failed), slog.Int("hosts", p.Hosts), slog.Int("allowed", p.Allowed))
}

const maxLoggedCauses = 3
