package bound_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/ironic-throttle/ironic-throttle/internal/kube/fleet/bound"
)

// api answers with a status and 100 bytes.
type api int

func (a api) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: int(a), Body: io.NopCloser(strings.NewReader(strings.Repeat("x", 100)))}, nil
}

func TestAnAnswerIsBounded(t *testing.T) {
	for name, c := range map[string]struct {
		bound  func(*rest.Config, int64)
		most   int64
		status int
		whole  bool
	}{
		"as long as it may be": {bound.Answers, 100, http.StatusOK, true},
		"too long":             {bound.Answers, 99, http.StatusOK, false},
		"an error too long":    {bound.Answers, 99, http.StatusNotFound, false},
		"a long success":       {bound.Errors, 99, http.StatusOK, true},
		"a long error":         {bound.Errors, 99, http.StatusNotFound, false},
	} {
		t.Run(name, func(t *testing.T) {
			config := &rest.Config{}
			c.bound(config, c.most)
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://api", nil)
			if err != nil {
				t.Fatal(err)
			}
			answer, err := config.WrapTransport(api(c.status)).RoundTrip(r)
			if err != nil {
				t.Fatal(err)
			}
			defer answer.Body.Close()
			text, err := io.ReadAll(answer.Body)
			if int64(len(text)) != min(100, c.most) && !c.whole || c.whole != (err == nil) || c.whole && len(text) != 100 {
				t.Errorf("%d bytes, %v", len(text), err)
			}
		})
	}
}
