// Package page writes the page of the throttle as HTML: what the commands status and queue show, and for one host
// what why tells.
//
//	page.go      what is shown, the frame, headline and warnings
//	slots.go     the limit, and who holds a slot
//	queue.go     who waits
//	failures.go  breakers, held hosts, paused groups, and buttons that end them
//	host.go      the page of one host, and links to it
//	html.go      escapes every text that is not a constant of this package
//	assets.go    page.css, and page.js, which brings what is shown up to date
//
// The server renders everything, so the page says all without its script. The package knows no HTTP, no clock and no
// lock: what it shows is given.
package page
