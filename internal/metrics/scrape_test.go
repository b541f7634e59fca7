package metrics

import (
	"bytes"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

type goneClient struct{ *httptest.ResponseRecorder }

func (goneClient) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }

func TestClientsThatGoAwayCauseALineAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		h := New().Handler(slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug})))
		for range 120 {
			h.ServeHTTP(goneClient{httptest.NewRecorder()}, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
			<-time.After(time.Second)
		}
		if got := out.String(); strings.Count(got, "\n") != 2 || strings.Count(got, "level=DEBUG") != 2 || !strings.Contains(got, "broken pipe") {
			t.Errorf("want two lines for debugging:\n%s", got)
		}
	})
}
