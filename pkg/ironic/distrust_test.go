package ironic

import (
	"net/http"
	"strings"
	"testing"
)

// Something on the way may answer with what we sent; our log is no place for it.
func TestCredentialsAreNotRepeated(t *testing.T) {
	w := newWire()
	w.before = func(_ int, r *http.Request) (*http.Response, error) {
		return refusal(500, "you sent "+r.Header.Get("Authorization")+" with Tr0ub4dor"), nil
	}
	c := client(t, w, func(s *Settings) { s.Endpoint = "http://admin:Tr0ub4dor@ironic.test:6385" })
	_, _, err := c.Node(t.Context(), "a")
	if err == nil || strings.Contains(err.Error(), "Tr0ub4dor") || strings.Contains(err.Error(), "YWRtaW46VHIwdWI0ZG9y") ||
		!strings.Contains(err.Error(), "you sent Basic xxxxx with xxxxx") {
		t.Errorf("got %v", err)
	}
}

func TestRedirectsStayWithinTheSameIronic(t *testing.T) {
	for to, ok := range map[string]bool{
		"http://ironic.test:6385/v1/nodes/other?fields=uuid": true,
		"http://elsewhere.test:6385/v1/nodes/a":              false,
		"https://ironic.test/v1/nodes/other?fields=uuid":     true,
		"https://elsewhere.test/v1/nodes/other?fields=uuid":  false,
		"/v1/nodes/a": false, // for ever
	} {
		w := newWire(row("other", Deploying))
		w.before = func(_ int, r *http.Request) (*http.Response, error) {
			if r.URL.Path != "/v1/nodes/a" {
				return nil, nil
			}
			resp := refusal(302, "over there")
			resp.Header.Set("Location", to)
			return resp, nil
		}
		if _, found, err := client(t, w).Node(t.Context(), "a"); found != ok || (err == nil) != ok {
			t.Errorf("to %s: found %v, %v", to, found, err)
		}
		if len(w.log) > 2+maxRedirects {
			t.Errorf("to %s: %d requests", to, len(w.log))
		}
	}
}
