package page

import _ "embed"

// Style is /page.css, Script /page.js. The page needs nothing else, from us or from anywhere.
var (
	//go:embed page.css
	Style string
	//go:embed page.js
	Script string
)

// Policy allows exactly these two, and requests to us.
const Policy = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src data:; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
