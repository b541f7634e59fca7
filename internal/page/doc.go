// Package page writes the throttle's page as HTML: it shows what the commands status and queue show, and for one host
// what the command why shows.
//
//	page.go      the content, the frame, headline and warnings
//	slots.go     the limit, and who holds a slot
//	queue.go     who waits
//	failures.go  breakers, held hosts, paused groups, and the buttons to reset and release
//	host.go      the page of one host, and links to it
//	html.go      escapes every text that is not a constant of this package
//	assets.go    page.css, and page.js, which keeps the page up to date
//
// The server writes everything, so the page is complete without its script. The package has no HTTP, clock or lock: the
// caller passes all that it shows.
package page
