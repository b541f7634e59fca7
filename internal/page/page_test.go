package page

import (
	"fmt"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// evil is what may stand in the name of a node, and in every text of Ironic.
const evil = `<img src=x onerror=alert(1)>"'&` + "\xff"

// pagesOf have text wherever others may write some.
func pagesOf(text string) map[string]View {
	expected, atMost := 90.0, 300.0
	all := View{
		Status: api.Status{
			Version: text, Mode: text, Headline: text, Warnings: []string{text}, View: api.View{AgeSeconds: 1, LastError: text},
			Slots: api.SlotsView{
				Total: api.Slots{Limit: 3, Occupied: 2, Free: 1}, Pools: map[string]api.Slots{text: {Limit: 1}},
				Occupants: []api.Occupant{
					{Name: "a~" + text, NodeUUID: text, State: text, Busy: true, Counted: true, Pool: text}, {Name: text, State: "deploying", Stuck: true},
				},
			},
			Sizing: api.Sizing{Mode: text, Pools: []api.PoolSizing{
				{Limit: 40, Ceiling: 40, Recommended: 25, Evidence: "boots were lost in " + text}, {Pool: text, Limit: 1, Ceiling: 2, Evidence: text},
			}},
			Breakers: []api.Breaker{
				{Scope: "image:" + text, State: "OPEN", Tripped: true, Causes: []api.BreakerCause{{Text: text, Count: 3}}}, {Scope: "ironic", State: "CLOSED"},
			},
		},
		Queue: api.Queue{Pools: []api.PoolQueue{{Pool: text, Waiting: 5000, Hosts: []api.QueuedHost{{
			Position: 1, Name: "a~" + text, Tenant: text, Lane: text, Reason: api.Reason(text), ExpectSeconds: &expected, AtMostSeconds: &atMost,
		}}}}},
		Holds: api.Holds{
			Hosts: []api.Hold{
				{Namespace: text, Name: text, NodeUUID: text, Episode: text, Kind: text, Cause: text, Held: true}, {Name: "failed", NodeUUID: "u-2"},
			},
			Pools: []api.PoolFailures{{Pool: text, Paused: true}},
		},
		May: func(string) bool { return true },
	}
	host := all
	host.Why = &api.Why{
		Host: text, NodeUUID: text, Standing: api.Standing(text), State: text, Story: []string{text}, Steps: []string{text}, Hold: &all.Holds.Hosts[0],
	}
	return map[string]View{"overview": all, "host": host}
}

// Whatever hosts and Ironic write, a page has the same elements and attributes.
func TestNothingOfOthersBecomesMarkup(t *testing.T) {
	tags := func(text string) (all string) {
		for z := html.NewTokenizer(strings.NewReader(text)); z.Next() != html.ErrorToken; {
			if token := z.Token(); token.Type == html.StartTagToken {
				all += token.Data
				for _, a := range token.Attr {
					all += " " + a.Key
				}
				all += "\n"
			}
		}
		return all
	}
	bad, plain := pagesOf(evil), pagesOf("plain")
	for name, v := range bad {
		got := v.HTML()
		if want := tags(plain[name].HTML()); tags(got) != want || len(want) < 100 || strings.Contains(got, "<img") || strings.Contains(got, "\xff") {
			t.Errorf("%s has other elements with %q", name, evil)
		}
		if n := strings.Count(html.UnescapeString(got), strings.ToValidUTF8(evil, "\uFFFD")); n < 5 {
			t.Errorf("%s shows it %d times only", name, n)
		}
	}
}

// The style and the script are ours, and the policy says so.
func TestPageLoadsNothingFromElsewhere(t *testing.T) {
	pages := pagesOf("a")
	for name, text := range map[string]string{"overview": pages["overview"].HTML(), "host": pages["host"].HTML(), "style": Style, "script": Script} {
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

// What matters is there without the script: what stops hosts, who waits, and what can be done. Thousands of hosts in
// every place make no big page, and buttons are for those who may use them.
func TestPageSaysWithoutScript(t *testing.T) {
	v := pagesOf("a/b c")["overview"]
	says := func(texts ...string) {
		t.Helper()
		got := v.HTML()
		for _, want := range texts {
			if !strings.Contains(got, want) {
				t.Errorf("lacks %q", want)
			}
		}
		if len(got) > 150<<10 {
			t.Errorf("%d bytes", len(got))
		}
	}
	says(`<h1 id="headline">a/b c</h1>`, "and 4999 more", "OPEN by hand", "3 × a/b c", "in 1m to 5m",
		`data-post="/v1/breakers/image:a%2Fb%20c/reset"`, `data-post="/v1/holds/a%2Fb%20c/a%2Fb%20c/release" data-episode="a/b c"`,
		`<a href="/why/a/a%2Fb%20c">a/a/b c</a>`, `<a href="/why/-/a%2Fb%20c">a/b c</a>`, "Failed hosts: 1 held, 1 not held.",
		"<p>Limit: 40, recommended 25 (boots were lost in a/b c)</p>", "a/b c: 0 of 0 hosts have failed, so no new ones start there.")
	for i := range 5000 {
		name := fmt.Sprintf("host-%d", i)
		v.Status.Slots.Occupants = append(v.Status.Slots.Occupants, api.Occupant{NodeUUID: name})
		v.Status.Breakers = append(v.Status.Breakers, api.Breaker{Scope: "group:" + name, State: "OPEN"})
		v.Holds.Hosts = append(v.Holds.Hosts, api.Hold{NodeUUID: name, Held: true})
	}
	v.Status.Slots.Total = api.Slots{Limit: 9000, Free: 5000}
	says("and 4702 more hosts", "and 4960 more free", "and 4989 more", `<a href="/why/-/host-7">host-7</a>`)
	for name, v := range pagesOf("a") {
		if v.May = func(string) bool { return false }; strings.Contains(v.HTML(), "<button") {
			t.Errorf("%s has a button that does not work", name)
		}
	}
}
