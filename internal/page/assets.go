package page

import _ "embed"

// Style is /page.css, Script /page.js. The page loads nothing else.
var (
	//go:embed page.css
	Style string
	//go:embed page.js
	Script string
)

// Policy is the Content-Security-Policy of the page: it allows only these two, and requests to the throttle.
const Policy = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src data:; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
