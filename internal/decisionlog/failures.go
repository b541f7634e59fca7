package decisionlog

import (
	"context"
	"log/slog"
	"strconv"
	"strings"

	"github.com/ironic-throttle/ironic-throttle/pkg/admission"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// Failures writes one line for each breaker that changed its state and each pool that was
// paused or reopened, with causes, counts and sample hosts, and for a gateway that BMO goes round.
func Failures(log *slog.Logger, notices []admission.FailureNotice) {
	for _, n := range notices {
		switch n.Kind {
		case admission.BreakerChanged:
			logBreaker(log, n)
		case admission.PoolChanged:
			logPool(log, n.Pool)
		case admission.BypassChanged:
			logBypass(log, n.Bypass)
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

func logPool(log *slog.Logger, p api.PoolFailures) {
	level, means := slog.LevelInfo, "reopened"
	if p.Paused {
		level, means = slog.LevelWarn, "paused: more have failed or are held than IRONIC_THROTTLE_MAX_FAILED allows"
	}
	log.LogAttrs(context.Background(), level, "conductor group", slog.String("group", p.Pool), slog.String("means", means),
		slog.Int("failed", p.Failed), slog.Int("hosts", p.Hosts), slog.Int("allowed", p.Allowed))
}

func logBypass(log *slog.Logger, b *api.Bypass) {
	if b == nil {
		log.Info("the gateway is used again")
		return
	}
	log.Warn("BMO goes round the gateway: hosts begin to work and nobody uses it", "hosts", b.Hosts, "unusedSince", b.Since,
		"remedy", "unset IRONIC_NAME of BMO and point its IRONIC_ENDPOINT at the gateway (docs/troubleshooting.md)")
}

const maxLoggedCauses = 3
