package decisionlog

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// TestTheLogTellsWhenTheViewIsLostAndBack: polls that fail were told of before, and slow
// ones, after which no host started for minutes, never.
func TestTheLogTellsWhenTheViewIsLostAndBack(t *testing.T) {
	for failure, reason := range map[string]string{
		"":                 `cause="the polls of Ironic take too long"`,
		"GET /v1: refused": `error="GET /v1: refused"`,
	} {
		var log bytes.Buffer
		l := viewLog{log: slog.New(slog.NewTextHandler(&log, nil))}
		start := time.Date(2026, 8, 1, 0, 0, 0, 0, time.UTC)
		// steps checks once a second a view of that age at first.
		steps := func(from time.Duration, n int, polls uint64) string {
			log.Reset()
			for i := range n {
				age := from + time.Duration(i)*time.Second
				l.step(start.Add(age), api.View{Fresh: polls > 0 && age <= 30*time.Second, AgeSeconds: age.Seconds(), Polls: polls, LastError: failure})
			}
			return log.String()
		}
		if got := steps(0, 60, 0) + steps(0, 31, 1); got != "" {
			t.Errorf("nothing is lost, and the log says %s", got)
		}
		want := "level=WARN msg=\"view stale: no host without a slot may start until a poll of Ironic is complete\" lastPoll=31s " + reason
		if got := steps(31*time.Second, 40, 1); strings.Count(got, "\n") != 1 || !strings.Contains(got, want) {
			t.Errorf("the view is lost, the log says %s", got)
		}
		start = start.Add(71 * time.Second)
		if got := steps(0, 20, 2); strings.Count(got, "\n") != 1 || !strings.Contains(got, "view fresh again: hosts may start\" after=40s") {
			t.Errorf("the view is back, the log says %s", got)
		}
	}
}
