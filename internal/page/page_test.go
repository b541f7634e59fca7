package page

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"unicode"

	"golang.org/x/net/html"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// evil is what may stand in the name of a node, and in every text of Ironic.
const evil = `<img src=x onerror=alert(1)>"'&` + "\xff"

// viewOf has text wherever others may write some.
func viewOf(text string) View {
	expected, atMost := 90.0, 300.0
	return View{
		Status: api.Status{
			Version: text, Mode: text, Headline: text, Warnings: []string{text}, View: api.View{AgeSeconds: 1, LastError: text},
			Slots: api.SlotsView{
				Total: api.Slots{Limit: 3, Occupied: 2, Free: 1}, Pools: map[string]api.Slots{text: {Limit: 1}},
				Occupants: []api.Occupant{
					{Name: "a~" + text, NodeUUID: text, State: text, Busy: true, Counted: true, Pool: text},
					{Name: text, State: "deploying", Stuck: true},
				},
			},
			Sizing: api.Sizing{Mode: text, Pools: []api.PoolSizing{
				{Limit: 40, Ceiling: 40, Recommended: 25, Evidence: "boots were lost in " + text}, {Pool: text, Limit: 1, Ceiling: 2, Evidence: text},
			}},
			Breakers: []api.Breaker{
				{Scope: "image:" + text, State: "OPEN", Tripped: true, Causes: []api.BreakerCause{{Text: text, Count: 3}}},
				{Scope: "ironic", State: "CLOSED"},
			},
		},
		Queue: api.Queue{Pools: []api.PoolQueue{{
			Pool: text, Waiting: 5000, Tenants: []api.TenantQueue{{Tenant: text}},
			Hosts: []api.QueuedHost{{
				Position: 1, Name: "a~" + text, Tenant: text, Lane: text, Reason: api.Reason(text), ExpectSeconds: &expected, AtMostSeconds: &atMost,
			}},
		}}},
		Holds: api.Holds{
			Hosts: []api.Hold{
				{Namespace: text, Name: text, NodeUUID: text, Episode: text, Kind: text, Cause: text, Held: true},
				{Name: "failed", NodeUUID: "u-2"},
			},
			Pools: []api.PoolFailures{{Pool: text, Paused: true}},
		},
		MayRelease: func(api.Hold) bool { return true },
		MayReset:   func(string) bool { return true },
	}
}

func hostOf(text string) HostView {
	return HostView{Release: true, Status: viewOf(text).Status, Why: api.Why{
		Host: text, NodeUUID: text, Standing: api.Standing(text), State: text, Story: []string{text}, Steps: []string{text},
		Hold: &api.Hold{Name: text, NodeUUID: text, Held: true, Episode: text}, Queued: &api.QueuedHost{Position: 3},
	}}
}

// tags lists the elements of a page with the names of their attributes.
func tags(t *testing.T, text string) string {
	t.Helper()
	var all strings.Builder
	d := xml.NewDecoder(strings.NewReader(text))
	d.Strict, d.AutoClose, d.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return all.String()
		}
		if err != nil {
			t.Fatal(err)
		}
		if e, ok := token.(xml.StartElement); ok {
			all.WriteString(e.Name.Local)
			for _, a := range e.Attr {
				all.WriteString(" " + a.Name.Local)
			}
			all.WriteByte('\n')
		}
	}
}

// FuzzPut: what is put between tags, or in an attribute, is read again as the same text.
func FuzzPut(f *testing.F) {
	for _, seed := range []string{evil, "", "</p>", `"><script>`, "&amp;", "a\x00b\r\n", "]]>", "<!--", "%s"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var d document
		d.put(`<p title="%s">%s</p>`, text, text)
		root, err := html.Parse(strings.NewReader(d.String()))
		if err != nil {
			t.Fatal(err)
		}
		p := root.LastChild.LastChild.FirstChild // html, body
		// Control characters are the parser's matter: it drops or replaces some.
		same := func(got string) bool { return letters(got) == letters(text) }
		inner := ""
		if p.FirstChild != nil {
			inner = p.FirstChild.Data
		}
		if p.Data != "p" || len(p.Attr) != 1 || !same(p.Attr[0].Val) || !same(inner) || p.FirstChild != p.LastChild || p.NextSibling != nil {
			t.Errorf("%q became %s", text, d.String())
		}
	})
}

// letters are what of a text is printed.
func letters(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) && r != unicode.ReplacementChar {
			return r
		}
		return -1
	}, text)
}

// TestNothingOfOthersBecomesMarkup: whatever hosts and Ironic write, the page has the same elements and attributes.
func TestNothingOfOthersBecomesMarkup(t *testing.T) {
	for name, write := range map[string]func(string) string{
		"overview": func(text string) string { return Overview(viewOf(text)) },
		"host":     func(text string) string { return Host(hostOf(text)) },
	} {
		got := write(evil)
		if strings.Contains(got, "<img") || strings.Contains(got, `"'`) || strings.Contains(got, "\xff") {
			t.Errorf("%s: not escaped", name)
		}
		if tags(t, got) != tags(t, write("plain")) {
			t.Errorf("%s has other elements with %q", name, evil)
		}
		if n := strings.Count(got, "&lt;img src=x onerror=alert(1)&gt;&#34;&#39;&amp;\uFFFD"); n < 5 {
			t.Errorf("%s shows it %d times only", name, n)
		}
	}
}

// TestPageLoadsNothingFromElsewhere: the style and the script are ours, and the policy says so.
func TestPageLoadsNothingFromElsewhere(t *testing.T) {
	for name, text := range map[string]string{"overview": Overview(viewOf("a")), "host": Host(hostOf("a")), "style": Style, "script": Script} {
		for _, bad := range []string{"http:", "https:", "//", "innerHTML", "@import", "url(", " style=", " onclick"} {
			if strings.Contains(strings.ReplaceAll(text, "\n// ", "\n"), bad) && !(name == "script" && bad == "//") {
				t.Errorf("%s contains %q", name, bad)
			}
		}
	}
	if strings.Contains(Policy, "unsafe") || !strings.HasPrefix(Policy, "default-src 'none'") {
		t.Error(Policy)
	}
}

// TestPageSaysWithoutScript what matters: what stops hosts, who waits, and what can be done.
func TestPageSaysWithoutScript(t *testing.T) {
	got := Overview(viewOf("metal3"))
	for _, want := range []string{
		`<h1 id="headline">metal3</h1>`, "and 4999 more", "OPEN by hand", "3 × metal3", "1m to 5m",
		`data-post="/v1/breakers/image:metal3/reset"`, `data-post="/v1/holds/metal3/metal3/release" data-episode="metal3"`,
		`href="/why/a/metal3"`, `href="/why/-/metal3"`, "Failed hosts: 1 held, 1 not held.",
		"<p>Limit: 40, recommended 25 (boots were lost in metal3)</p>", "metal3: 0 of 0 hosts have failed, so no new ones start there.",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("lacks %q", want)
		}
	}
}

// TestButtonsAreForWhoMayUseThem.
func TestButtonsAreForWhoMayUseThem(t *testing.T) {
	v, h := viewOf("metal3"), hostOf("metal3")
	v.MayRelease, v.MayReset, h.Release = func(api.Hold) bool { return false }, func(string) bool { return false }, false
	if strings.Contains(Overview(v), "<button") || strings.Contains(Host(h), "<button") {
		t.Error("a button that does not work")
	}
}

// TestPageIsBounded: thousands of hosts in every place make no big page.
func TestPageIsBounded(t *testing.T) {
	v := viewOf("metal3")
	for i := range 5000 {
		name := fmt.Sprintf("host-%d", i)
		v.Status.Slots.Occupants = append(v.Status.Slots.Occupants, api.Occupant{Name: "metal3~" + name})
		v.Status.Breakers = append(v.Status.Breakers, api.Breaker{Scope: "group:" + name, State: "OPEN"})
		v.Holds.Hosts = append(v.Holds.Hosts, api.Hold{Name: name, Held: true})
	}
	v.Status.Slots.Total = api.Slots{Limit: 9000, Free: 5000}
	got := Overview(v)
	if len(got) > 100<<10 {
		t.Errorf("%d bytes", len(got))
	}
	for _, want := range []string{"and 4702 more hosts", "and 4960 more free", "and 4989 more"} {
		if !strings.Contains(got, want) {
			t.Errorf("lacks %q", want)
		}
	}
}

func TestHostsHaveTheirPage(t *testing.T) {
	for _, row := range []struct{ node, uuid, want string }{
		{"metal3~host-1", "u-1", `<a href="/why/metal3/host-1">metal3/host-1</a>`},
		{"bare", "u-1", `<a href="/why/-/bare">bare</a>`},
		{"", "u-1", `<a href="/why/-/u-1">u-1</a>`},
		{"a/b c", "", `<a href="/why/-/a%2Fb%20c">a/b c</a>`},
	} {
		var d document
		d.link(row.node, row.uuid)
		if d.String() != row.want {
			t.Errorf("%s, want %s", d.String(), row.want)
		}
	}
}
