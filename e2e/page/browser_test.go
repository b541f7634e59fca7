package page

import (
	"context"
	"fmt"
	"os"
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

// tab is one of a browser that nobody else uses.
type tab struct {
	*testing.T
	ctx context.Context

	mu       sync.Mutex // guards the rest
	faults   []string   // what the console, the page or the policy complained of
	requests []string   // URLs
	asked    []string   // what dialogs asked; all are answered with yes
}

// open starts a browser with an empty tab. It ends with the test, which fails if the page complained or
// loaded anything from elsewhere than url.
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
		b.faults = append(b.faults, e.ExceptionDetails.Text+": "+exceptionOf(e))
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

func (b *tab) do(action chromedp.Action[chromedp.Void]) {
	b.Helper()
	result(b, action)
}

// result is that of an action.
func result[T any](b *tab, action chromedp.Action[T]) T {
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
func call[P, R any](b *tab, command cdp.Command[P, R], params P) R {
	b.Helper()
	r, err := chromedp.Call(b.ctx, command, params)
	if err != nil {
		b.Fatalf("browser: %v", err)
	}
	return r
}

// visit loads a page.
func (b *tab) visit(url string) {
	b.Helper()
	b.do(chromedp.Navigate(url))
}

// value is that of an expression in the page, once it is there if that is a promise.
func value[T any](b *tab, expression string) T {
	b.Helper()
	return result(b, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
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

// picture leaves one of the whole page.
func (b *tab) picture(name string) {
	b.Helper()
	leave(b.T, name+".png", result(b, chromedp.FullScreenshot(100)))
}

// look is how a user sees the page.
type look struct {
	name          string
	scheme        string
	width, height int64
	mobile        bool
}

var looks = []look{
	{"light", "light", 1400, 900, false},
	{"dark", "dark", 1400, 900, false},
	{"phone", "light", 375, 812, true},
	{"phone-dark", "dark", 375, 812, true},
}

func (b *tab) as(l look) {
	b.Helper()
	call(b, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{
		Width: l.width, Height: l.height, DeviceScaleFactor: 1, Mobile: l.mobile,
	})
	call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: l.scheme}},
	})
}

func exceptionOf(e *runtime.EventExceptionThrown) string {
	if e.ExceptionDetails.Exception == nil {
		return ""
	}
	return e.ExceptionDetails.Exception.Description
}
