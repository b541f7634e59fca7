package server

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"net/http"
	"strconv"
)

// page is one document with its style and script inside: nothing else is
// loaded, from us or from anywhere.
//
//go:embed page.html
var page []byte

// pagePolicy allows exactly that style and that script, and requests to us.
var pagePolicy = "default-src 'none'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'" +
	"; style-src " + hashOf(page, "style") + "; script-src " + hashOf(page, "script")

// hashOf names the content of the element tag for a content security policy.
func hashOf(document []byte, tag string) string {
	_, rest, _ := bytes.Cut(document, []byte("<"+tag+">"))
	content, _, _ := bytes.Cut(rest, []byte("</"+tag+">"))
	sum := sha256.Sum256(content)
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

func servePage(w http.ResponseWriter, _ *http.Request) {
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", pagePolicy)
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Content-Length", strconv.Itoa(len(page)))
	w.Write(page)
}
