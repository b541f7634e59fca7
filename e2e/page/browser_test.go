// Package page looks at the page of the product with Debian's Chromium:
//
//	make build && go -C e2e/page test
//
// make system installs what it needs.
package page

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	cdpage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/child"
)

// bin is where make builds both programs, and make system puts axe-core.
var bin = filepath.Join("..", "..", "bin")

// tab is one of a browser that nobody else uses.
type tab struct {
	*testing.T
	ctx context.Context

	mu       sync.Mutex // guards the rest
	faults   []string   // what the console, the page or the policy complained of
	requests []string   // URLs
	asked    []string   // what dialogs asked; all are answered with yes
}

// open starts a browser and visits the page at url. It ends with the test, which fails if the page complained or
// loaded anything from elsewhere.
func open(t *testing.T, url string) *tab {
	t.Helper()
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]), chromedp.ExecPath("chromium"), chromedp.WindowSize(1400, 900))
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox)
	}
	alloc, stop := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, cancel := chromedp.NewContext(alloc)
	b := &tab{T: t, ctx: ctx}
	t.Cleanup(func() {
		cancel() // waits for the browser
		stop()
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, f := range b.faults {
			t.Errorf("the browser complains: %s", f)
		}
		for _, r := range b.requests {
			if !strings.HasPrefix(r, url+"/") && !strings.HasPrefix(r, "data:") && r != "about:blank" {
				t.Errorf("a request to elsewhere: %s", r)
			}
		}
	})
	if err := chromedp.Listen(ctx, b.hears); err != nil { // starts it
		t.Fatal(err)
	}
	call(b, log.Enable, cdp.Empty{})
	call(b, network.Enable, network.EnableParams{})
	call(b, runtime.Enable, cdp.Empty{})
	do(b, chromedp.Navigate(url+"/"))
	return b
}

// hears takes what happens in the tab.
func (b *tab) hears(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *runtime.EventConsoleAPICalled:
		b.faults = append(b.faults, fmt.Sprintf("console: %s", e.Type))
	case *runtime.EventExceptionThrown:
		b.faults = append(b.faults, fmt.Sprintf("%s: %+v", e.ExceptionDetails.Text, e.ExceptionDetails.Exception))
	case *log.EventEntryAdded:
		b.faults = append(b.faults, e.Entry.Text+" "+e.Entry.URL)
	case *network.EventRequestWillBeSent:
		b.requests = append(b.requests, e.Request.URL)
	case *cdpage.EventJavascriptDialogOpening:
		b.asked = append(b.asked, e.Message)
		go func() { // the browser waits for it, and we must not
			_, _ = chromedp.Call(b.ctx, cdpage.HandleJavaScriptDialog, cdpage.HandleJavaScriptDialogParams{Accept: true})
		}()
	}
}

// do is the result of an action.
func do[T any](b *tab, action chromedp.Action[T]) T {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, time.Minute)
	defer cancel()
	v, err := chromedp.Run(ctx, action)
	if err != nil {
		b.Fatalf("browser: %v", err)
	}
	return v
}

// call sends a command to the tab.
func call[P, R any](b *tab, command cdp.Command[P, R], params P) {
	b.Helper()
	if _, err := chromedp.Call(b.ctx, command, params); err != nil {
		b.Fatalf("browser: %v", err)
	}
}

// value is that of an expression in the page, once it is there if that is a promise.
func value[T any](b *tab, expression string) T {
	b.Helper()
	return do(b, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
}

// run runs a statement in the page.
func (b *tab) run(statement string) {
	b.Helper()
	value[bool](b, statement+"; true")
}

func (b *tab) text(selector string) string {
	b.Helper()
	return value[string](b, fmt.Sprintf(`document.querySelector(%q)?.innerText ?? ""`, selector))
}

// await waits until an expression is true in the page.
func (b *tab) await(what, expression string) {
	b.Helper()
	child.Await(b, 50*time.Millisecond, 2*time.Minute, what, func() bool {
		ctx, cancel := context.WithTimeout(b.ctx, 10*time.Second)
		defer cancel()
		yes, err := chromedp.Run(ctx, chromedp.Evaluate[bool]("!!("+expression+")"))
		return err == nil && yes // an error: the page is being exchanged
	}, func() string { return b.text("body") })
}

// tooWide are elements that reach beyond the window and cannot be scrolled to.
const tooWide = `(() => {
	const scrolls = (e) => { while (e && !e.matches(".scroll")) e = e.parentElement; return e; };
	return [...document.querySelectorAll("main *")].filter((e) => e.getBoundingClientRect().right > innerWidth && !scrolls(e))
		.map((e) => "too wide: " + e.outerHTML.slice(0, 80)).join("\n");
})()`

// axeRun is what axe-core finds, contrast among it.
const axeRun = `axe.run().then((r) => r.passes.some((p) => p.id === "color-contrast")
	? r.violations.map((v) => v.id + ", " + v.help + ": " + v.nodes.slice(0, 3).map((n) => n.html.slice(0, 200) + " " + n.failureSummary)).join("\n")
	: "it did not look at the contrast")`

// looks checks the page as it is now in dark and light, in a window and on a phone: its width, and what axe-core finds. It
// leaves a light window.
func (b *tab) looks(name string) {
	b.Helper()
	files, _ := filepath.Glob(filepath.Join(bin, "axe-*", "axe.min.js"))
	if len(files) == 0 {
		b.Log("no axe-core, as make system could not get it: its checks are left out")
	}
	for _, phone := range []bool{true, false} {
		for _, scheme := range []string{"dark", "light"} {
			look := emulation.SetDeviceMetricsOverrideParams{Width: 1400, Height: 900, DeviceScaleFactor: 1, Mobile: phone}
			what := name + "-" + scheme
			if phone {
				look.Width, look.Height, what = 375, 812, what+"-phone"
			}
			call(b, emulation.SetDeviceMetricsOverride, look)
			call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
				Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
			})
			faults := value[string](b, tooWide)
			for _, file := range files {
				axe, err := os.ReadFile(file)
				if err != nil {
					b.Fatal(err)
				}
				b.run(string(axe))
				faults += value[string](b, axeRun)
			}
			if faults != "" {
				b.Errorf("%s: %s", what, faults)
			}
		}
	}
}
