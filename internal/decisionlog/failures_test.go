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

func TestGW20_ABypassIsAWarningAndItsEndIsSaid(t *testing.T) {
	for _, row := range []struct {
		bypass *api.Bypass
		want   []string
	}{
		{&api.Bypass{Hosts: 7, Since: time.Unix(0, 0)}, []string{"level=WARN", "BMO goes round the gateway", "hosts=7", "unusedSince=", "IRONIC_NAME"}},
		{nil, []string{"level=INFO", "the gateway is used again"}},
	} {
		var book bytes.Buffer
		Failures(slog.New(slog.NewTextHandler(&book, nil)), []admission.FailureNotice{{Kind: admission.BypassChanged, Bypass: row.bypass}})
		for _, want := range row.want {
			if !strings.Contains(book.String(), want) {
				t.Errorf("no %q in %s", want, &book)
			}
		}
	}
}
