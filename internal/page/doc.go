// Package page writes the page of the throttle as HTML: what matters now, and the story of one host.
//
//	page.go      what is shown, the frame, headline and warnings
//	slots.go     the slots and who is in them
//	queue.go     who waits, by pool, lane and tenant
//	failures.go  breakers, held hosts, paused groups
//	host.go      the page of one host
//	html.go      escapes whatever is not ours
//	assets.go    page.css and page.js, which brings what is shown up to date
//
// The server renders everything, and so the page says all without its script. It knows no HTTP, no
// clock and no lock: what it shows is given.
package page
