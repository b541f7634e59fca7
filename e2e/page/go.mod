// The page in Debian's Chromium. A module of its own, so that its dependencies are not ours.
module github.com/ironic-throttle/ironic-throttle/e2e/page

go 1.26.0

require (
	github.com/go-json-experiment/json v0.0.0-20260820222146-c27c302e5fc3 // indirect
	github.com/ironic-throttle/ironic-throttle/pkg/api v0.0.0 // indirect
)

require (
	github.com/chromedp/cdproto v0.159.0
	github.com/chromedp/chromedp v0.23.0
	github.com/ironic-throttle/ironic-throttle v0.0.0
)

replace (
	github.com/ironic-throttle/ironic-throttle => ../..
	github.com/ironic-throttle/ironic-throttle/pkg/api => ../../pkg/api
)
