package page

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/child"
)

// throttle is a throttle in front of a fake Ironic.
type throttle struct {
	*child.Throttle
	ironic struct{ API string }
}

// serve starts both; change are more of the throttle's settings.
func serve(t *testing.T, ironic []string, change ...string) *throttle {
	t.Helper()
	s := &throttle{}
	lab := filepath.Join(bin, "ironic-throttle-lab")
	child.Serve(t, child.Command{Name: lab, Args: append([]string{"fake-ironic", "--listen", "127.0.0.1:0"}, ironic...)}, &s.ironic)
	s.Throttle = child.ServeThrottle(t, filepath.Join(bin, "ironic-throttle"), append([]string{
		"IRONIC_ENDPOINT=" + s.ironic.API, "IRONIC_THROTTLE_POLL_INTERVAL=1s", "IRONIC_THROTTLE_LINGER=1s",
	}, change...)...).Settled()
	return s
}

// send sends a request, which must go well.
func (s *throttle) send(method, url, body string) string {
	s.T.Helper()
	code, answer := child.Send(s.T.Context(), method, url, body)
	if code == 0 || code >= http.StatusBadRequest {
		s.T.Fatalf("%s %s: %d %s", method, url, code, answer)
	}
	return answer
}

// asks lets a host ask.
func (s *throttle) asks(namespace, name, op string) {
	s.T.Helper()
	s.send("POST", s.At.API+"/v1/isready", fmt.Sprintf(`{"namespace":%q,"name":%q,"op":%q}`, namespace, name, op))
}

// live is what the page shows once it has refreshed itself.
const live = `document.getElementById("connection").textContent === "up to date"`

// TestThePageIsLiveWhileAStormRuns, in every look, without being loaded again.
func TestThePageIsLiveWhileAStormRuns(t *testing.T) {
	_, log := child.Run(t, child.Command{Name: filepath.Join(bin, "ironic-throttle-lab"), Args: []string{
		"demo", "--keep", "--via", "check", "--hosts", "300", "--limit", "20", "--failing", "0.3", "--speed", "60",
	}})
	var said []string
	child.Await(t, 50*time.Millisecond, time.Minute, "page of the demo", func() bool {
		said = log.Lines("throttle: ", " (page)")
		return len(said) > 0
	}, log.String)
	b := open(t, strings.TrimSuffix(strings.Fields(said[0])[1], "/"))
	b.run(`window.loadedOnce = true`)
	b.await("refresh", live)
	b.await("full slots", `document.querySelectorAll(".grid li:not(.free)").length === 20`)
	b.await("queue", `document.querySelectorAll("#queue tbody tr").length === 50`)
	for range 3 {
		headline := b.text("#headline")
		b.await("another headline", fmt.Sprintf("document.getElementById('headline').innerText !== %q", headline))
	}
	b.looks("storm")
	if !value[bool](b, `window.loadedOnce === true`) {
		t.Error("the page was loaded again")
	}
}

// TestWhatIsHeldIsReleasedByKeyboard, a breaker is reset by mouse, and nothing is lost of the focus
// while the page goes on.
func TestWhatIsHeldIsReleasedByKeyboard(t *testing.T) {
	s := serve(t, []string{
		"--nodes", "4", "--start-state", "manageable", "--failing", "1", "--fail-targets", "inspect", "--fail-tries", "9", "--speed", "300",
	}, "IRONIC_THROTTLE_FAILED_HOST_HOLDOFF=48h")
	for i := range 4 {
		name := fmt.Sprintf("host-%05d", i+1)
		s.asks("ns-01", name, "inspect")
		s.send("PUT", s.ironic.API+"/nodes/ns-01~"+name+"/states/provision", `{"target":"inspect"}`)
	}
	holds := func() string { return s.send("GET", s.At.API+"/v1/holds", "") }
	child.Await(t, 100*time.Millisecond, time.Minute, "four holds", func() bool { return strings.Count(holds(), `"held":true`) == 4 }, holds)
	s.send("POST", s.At.API+"/v1/breakers/ironic/trip", `{"for":"10m"}`)

	b := open(t, s.At.API)
	b.await("refresh", live)
	if got := b.text("#headline"); !strings.HasPrefix(got, "Nothing starts: breaker ironic is OPEN, probes in ") {
		t.Errorf("headline %q", got)
	}
	b.looks("stopped")

	const third = `document.querySelectorAll("#holds button")[2]`
	what := value[string](b, third+`.ariaLabel`)
	b.run(third + `.focus()`)
	// Somebody else releases the first one: the others move up.
	s.send("POST", s.At.API+value[string](b, `document.querySelector("#holds button").dataset.post`), `{}`)
	b.await("three holds", `document.querySelectorAll("#holds button").length === 3`)
	if got := value[string](b, `document.activeElement.ariaLabel`); got != what {
		t.Errorf("the focus is on %q, was on %q", got, what)
	}
	do(b, chromedp.KeyEvent(kb.Enter))
	b.await("answer", fmt.Sprintf(`document.getElementById("said").textContent === %q`, what+": it may queue again"))
	b.await("two holds", `document.querySelectorAll("#holds button").length === 2`)
	if got := holds(); strings.Count(got, `"released":true`) != 2 {
		t.Errorf("two are released: %s", got)
	}
	do(b, chromedp.Click("#breakers button"))
	b.await("breaker that is closed", `document.querySelectorAll("#breakers button").length === 0`)
	b.await("headline without it", `!document.getElementById("headline").innerText.includes("OPEN")`)
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.asked) != 2 || !strings.HasPrefix(b.asked[0], what+"? ") || !strings.HasPrefix(b.asked[1], "Reset the breaker of ironic? ") {
		t.Errorf("asked %q", b.asked)
	}
}

// TestFiveThousandWaitingHosts do not make the page large; a host has a page; and without script it says what matters.
func TestFiveThousandWaitingHosts(t *testing.T) {
	const hosts, slots, tenants, most = 5000, 20, 40, 2500
	s := serve(t, []string{"--nodes", fmt.Sprint(slots + hosts + 1), "--namespaces", fmt.Sprint(tenants)})
	ask := func(i int) { s.asks(fmt.Sprintf("ns-%02d", i%tenants+1), fmt.Sprintf("host-%05d", i+1), "provision") }
	for i := range slots + hosts {
		ask(i)
	}
	b := open(t, s.At.API)
	b.await("refresh", live+` && document.getElementById("queue").innerText.includes("5000 waiting")`)
	ask(slots + hosts)
	b.await("one more", `document.getElementById("queue").innerText.includes("5001 waiting")`)
	if n := value[int](b, `document.querySelectorAll("*").length`); n > most {
		t.Errorf("the page has %d elements, want at most %d", n, most)
	}
	do(b, chromedp.Click(".grid a"))
	b.await("story of a host", `location.pathname.startsWith("/why/") && document.querySelector("h1")?.innerText.includes("/host-")`)
	if got := b.text("main"); !strings.Contains(got, "What to do") || !strings.Contains(got, "has held a slot for") {
		t.Errorf("the page of a host does not say what to do, or for how long it has held its slot: %s", got)
	}
	b.looks("host")
	s.send("POST", s.At.API+"/v1/breakers/ironic/trip", `{"for":"10m"}`)
	call(b, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
	do(b, chromedp.Navigate(s.At.API+"/"))
	body := do(b, chromedp.Text("body"))
	for _, want := range []string{"Nothing starts: breaker ironic is OPEN", "5001 hosts are stopped", "ns-01/host-00001", "OPEN by hand"} {
		if !strings.Contains(body, want) {
			t.Errorf("without script the page lacks %q: %s", want, body)
		}
	}
	if strings.Contains(body, "Reset") {
		t.Error("without script there is a button that does nothing")
	}
}
