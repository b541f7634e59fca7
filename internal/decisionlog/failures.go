package decisionlog

import (
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
				append(hostAttrs(n.Hold), slog.String("how", n.End), slog.String("means", endMeans[n.End]))...)
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

// endMeans explains each of api.HoldEnds.
var endMeans = map[string]string{
	"hand":    "released by an annotation: it may be tried again",
	"spec":    "the host is to be something else: it may be tried again",
	"time":    "its time is over: it may be tried again",
	"success": "the host has gone well",
	"gone":    "the host is no more",
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

func logPool(log *slog.Logger, p api.PoolFailures) {
	level, means := slog.LevelInfo, "reopened"
	if p.Paused {
		level, means = slog.LevelWarn, "paused: more have failed or are held than IRONIC_THROTTLE_MAX_FAILED allows"
	}
	log.LogAttrs(context.Background(), level, "conductor group", slog.String("group", p.Pool), slog.String("means", means),
		slog.Int("failed", p.Failed), slog.Int("hosts", p.Hosts), slog.Int("allowed", p.Allowed))
}

const maxLoggedCauses = 3
