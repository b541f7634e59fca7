//go:build linux

package attack

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os/exec"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode"
)

// evil is what a tenant, a driver or an Ironic in other hands may say where a text is read.
const evil = "x\n{\"level\":\"ERROR\",\"msg\":\"forged\"}\r\ntime=2026 level=ERROR msg=forged\x1b[2J\x1b]0;own\x07\u009b31m" +
	"<script>alert(1)</script><img src=x onerror=alert(1)>\u202e\u2028\x00\x7f%s%n${jndi:ldap://x}$(id)`id`'\"\\,=[]{}~\nforged_metric{a=\"b\"} 1\n# HELP forged x\n"

// liar is an Ironic in which every text is evil.
type liar struct {
	*httptest.Server
	refuses atomic.Int32 // status of every GET and PUT; 0: none
}

func newLiar(t *testing.T, ironic string) *liar {
	t.Helper()
	to, err := url.Parse(ironic)
	if err != nil {
		t.Fatal(err)
	}
	l := &liar{}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) },
		ModifyResponse: func(resp *http.Response) error {
			if resp.Request.Method != http.MethodGet || resp.StatusCode != http.StatusOK {
				return nil
			}
			text, err := io.ReadAll(resp.Body)
			var v any
			if err != nil || json.Unmarshal(text, &v) != nil {
				return err
			}
			text, err = json.Marshal(lie(v))
			resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
			resp.Header.Set("Content-Length", fmt.Sprint(len(text)))
			return err
		},
	}
	l.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if status := int(l.refuses.Load()); status != 0 {
			inner, _ := json.Marshal(map[string]string{"faultcode": evil, "faultstring": evil + strings.Repeat("y", 50_000)})
			body, _ := json.Marshal(map[string]string{"error_message": string(inner)})
			w.Header()["X-Openstack-Ironic-Api-Maximum-Version"] = []string{"1.81\x1b[2J"}
			w.WriteHeader(status)
			_, _ = w.Write(body)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(l.Close)
	return l
}

// lie replaces the texts that somebody may choose: a name keeps its namespace.
func lie(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = lie(v[i])
		}
	case map[string]any:
		for key, old := range v {
			switch text, _ := old.(string); key {
			case "name":
				v[key] = text + evil
			case "last_error", "conductor_group", "driver", "fault", "maintenance_reason", "owner", "reservation", "agent_url":
				v[key] = evil + strings.Repeat("z", 5000)
			case "instance_info":
				v[key] = map[string]any{"image_source": evil + strings.Repeat("i", 5000), "deploy_interface": evil}
			case "boot_interface", "deploy_interface":
				v[key] = evil
			default:
				v[key] = lie(old)
			}
		}
	}
	return v
}

var (
	// A line of an exposition as it may look.
	exposed = regexp.MustCompile(`^(# (HELP|TYPE) [a-z0-9_]+ .*|[a-z0-9_]+(\{([a-z_]+="([^"\\\n]|\\["\\n])*",?)*\})? [-+0-9.eE]+|[a-z0-9_]+(\{.*\})? NaN|)$`)
	markup  = regexp.MustCompile(`(?i)<script>alert|<img src=x`)
)

// Whatever Ironic says, it is text: no line of a log, a metric, a page or a terminal is of
// somebody else's making, and none is long.
func TestWordsOfOthersStayWords(t *testing.T) {
	needsFaults(t)
	for _, format := range []string{"json", "text"} {
		t.Run(format, func(t *testing.T) { wordsStayWords(t, format) })
	}
}

func wordsStayWords(t *testing.T, format string) {
	_, base := newIronic(t, "--failing", "1", "--fail-tries", "1000", "--limit", "0")
	front := newLiar(t, base)
	s := newSite(t, siteOptions{ironic: base, endpoint: front.URL, idle: true, env: []string{
		"IRONIC_THROTTLE_LOG_FORMAT=" + format, "IRONIC_THROTTLE_LOG_LEVEL=debug", "IRONIC_THROTTLE_FAILED_HOST_HOLDOFF=1h",
		"IRONIC_THROTTLE_BREAKER_ENABLED=true", "IRONIC_THROTTLE_BREAKER_THRESHOLD=3",
		"MAX_CONCURRENT_PROVISIONING_HOSTS=20",
	}})
	f := newFleet(t, s.at.API, s.at.Gateway, base, 20)
	look := func(when string) {
		t.Helper()
		pages := map[string]string{}
		for _, path := range []string{"/v1/status", "/v1/queue", "/v1/holds", "/v1/breakers", "/v1/why/" + url.PathEscape(strings.SplitN(f.hosts[0].Name, "~", 2)[0]) + "/" + url.PathEscape(strings.SplitN(f.hosts[0].Name, "~", 2)[1]), "/"} {
			text, err := get(t, s.at.API+path)
			if err != nil {
				t.Fatal(err)
			}
			pages[path] = text
		}
		page, err := get(t, s.at.Metrics+"/metrics")
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range strings.Split(page, "\n") {
			if !exposed.MatchString(line) || strings.HasPrefix(line, "forged") || len(line) > 4000 {
				t.Errorf("%s: metrics: %.300q", when, line)
			}
		}
		pages["/metrics"] = page
		pages["/readyz"], _ = get(t, s.at.Health+"/readyz")
		for _, command := range [][]string{{"status"}, {"queue"}, {"holds"}, {"breakers"}} {
			c := exec.CommandContext(t.Context(), binary, append(command, "--server", s.at.API)...)
			text, _ := c.CombinedOutput() // its exit code tells of the throttle
			pages["ironic-throttle "+command[0]] = string(text)
		}
		for _, h := range f.hosts[:3] {
			namespace, name, _ := strings.Cut(h.Name, "~")
			text, _ := exec.CommandContext(t.Context(), binary, "why", namespace+"/"+name, "--server", s.at.API).CombinedOutput()
			pages["ironic-throttle why "+name] = string(text)
		}
		pages["log"] = s.log.String()
		for name, text := range pages {
			for _, line := range strings.Split(text, "\n") {
				if at := strings.IndexFunc(line, hidden); at >= 0 {
					t.Errorf("%s: %s: a character that is not to be seen: %.300q", when, name, line[max(0, at-150):])
					break
				}
				if l := strings.TrimSpace(line); strings.HasPrefix(l, "forged") || strings.HasPrefix(l, `{"level":"ERROR","msg":"forged"`) || strings.HasPrefix(l, "time=2026 level") {
					t.Errorf("%s: %s: a line of somebody else's: %.300q", when, name, line)
				}
				if (strings.HasPrefix(name, "ironic-throttle") || name == "log" || name == "/readyz") && len(line) > 4000 {
					t.Errorf("%s: %s: a line of %d bytes: %.300q", when, name, len(line), line)
				}
				if name == "log" && format == "json" && line != "" && !json.Valid([]byte(line)) {
					t.Errorf("%s: log: %.300q", when, line)
				}
			}
			if name == "/" && markup.MatchString(text) {
				t.Errorf("%s: the page has markup of others", when)
			}
		}
		if strings.Contains(s.log.String(), "panic") {
			t.Errorf("%s: %s", when, s.log.Tail())
		}
	}
	deadline := time.Now().Add(20 * time.Second)
	for i := 0; time.Now().Before(deadline); i++ {
		f.through(t.Context(), f.hosts[i%len(f.hosts)], "active")
		f.asked(t.Context(), f.hosts[i%len(f.hosts)], "active")
		s.wait(20 * time.Millisecond)
	}
	look("while hosts fail")
	failed := truthOf(t, base).Failed
	for _, status := range []int32{400, 401, 404, 409, 500, 503} {
		front.refuses.Store(status)
		for _, h := range f.hosts[:4] {
			f.through(t.Context(), h, "active")
		}
		s.wait(2500 * time.Millisecond)
		look(fmt.Sprintf("while Ironic says %d", status))
	}
	if failed == 0 {
		t.Error("no host has failed: this shows little")
	}
	table.add(t, 7, "every text of Ironic is made to harm who reads it ("+format+" log)",
		fmt.Sprintf("%d hosts failed; %d lines of the log, status, page, metrics, commands: nothing forged, nothing hidden, no markup", failed, s.log.Count("")))
}

// hidden are characters that change what a terminal or a reader sees.
func hidden(r rune) bool {
	return r != '\t' && (unicode.Is(unicode.Cc, r) || unicode.Is(unicode.Cf, r) || r == '\u2028' || r == '\u2029')
}
