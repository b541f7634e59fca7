//go:build linux

package attack

import (
	"compress/flate"
	"compress/gzip"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// 10,000 connections on which nothing is said, and some that say a byte now and then: hosts
// go on, and it is all given back.
func TestTenThousandConnections(t *testing.T) {
	needsFaults(t)
	s := newSite(t, siteOptions{})
	const each = 2500
	hold := newHolders(t, each, s.at.API, s.at.Gateway, s.at.Health, s.at.Metrics)
	loris := &holders{stop: make(chan struct{})}
	t.Cleanup(loris.end)
	for _, host := range []string{hostOf(t, s.at.API), hostOf(t, s.at.Gateway)} {
		for range 50 {
			loris.all.Go(func() { loris.drip(host) })
		}
	}
	s.wait(5 * time.Second)
	s.goesOn("in a crowd")
	loris.end()
	hold.end()
	s.soundf(1, "10,000 silent connections and 100 that send a byte of a head each second")
}

// drip sends a head byte by byte.
func (h *holders) drip(host string) {
	for {
		if conn, err := net.DialTimeout("tcp", host, 5*time.Second); err == nil {
			for _, c := range []byte("GET / HTTP/1.1\r\nHost: localhost\r\nX: " + strings.Repeat("x", 1<<20)) {
				if _, err := conn.Write([]byte{c}); err != nil || h.pause(time.Second) {
					break
				}
			}
			_ = conn.Close()
		}
		if h.pause(time.Second) {
			return
		}
	}
}

func (h *holders) pause(d time.Duration) (over bool) {
	select {
	case <-h.stop:
		return true
	case <-time.After(d):
		return false
	}
}

// Heads that are too long or have too many lines.
func TestHeaderBombs(t *testing.T) {
	needsFaults(t)
	s := newSite(t, siteOptions{})
	many := func(n int, line string) string { return strings.Repeat(line, n) }
	bombs := []string{
		"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + many(8<<20, "x"), "GET / HTTP/1.1\r\nHost: localhost\r\n" + many(500_000, "A: b\r\n") + "\r\n",
		"GET /" + many(8<<20, "a") + " HTTP/1.1\r\nHost: localhost\r\n\r\n", "GET /?" + many(1<<20, "a=b&") + " HTTP/1.1\r\nHost: localhost\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: localhost\r\n" + many(3000, "X-Forwarded-For: 1\r\n") + "\r\n", many(1<<20, "\r\n"), many(4<<20, "G"),
		"GET / HTTP/1.1\r\nHost: " + many(1<<20, "h") + "\r\n\r\n", "GET / HTTP/1.1\r\nHost: localhost\r\nRange: bytes=" + many(100_000, "0-,") + "\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: " + many(2000, "gzip;q=0,") + "\r\nAuthorization: Basic " + many(8000, "!") + "\r\n\r\n",
		"POST /v1/isready HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\nContent-Type: application/json\r\n\r\n" + many(200_000, "1\r\n \r\n") + "0\r\n\r\n",
	}
	const rounds = 4
	for range rounds {
		var all sync.WaitGroup
		for _, bomb := range bombs {
			for _, at := range []string{s.at.API, s.at.Gateway, s.at.Health, s.at.Metrics} {
				all.Go(func() { speak(t, hostOf(t, at), bomb) })
			}
		}
		all.Wait()
		s.wait(0)
	}
	s.soundf(4*rounds*len(bombs), "heads of megabytes, of 500,000 lines, long targets, hosts, ranges, a chunk for each byte")
}

const bombLength = 10 << 30

// zeros is 10 GiB of blanks, packed as they are read.
func zeros(w io.Writer) {
	z, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
	if err != nil {
		return
	}
	fill(z)
	_ = z.Close()
}

func fill(w io.Writer) {
	blank := []byte(strings.Repeat(" ", 1<<20))
	for range bombLength / len(blank) {
		if _, err := w.Write(blank); err != nil {
			return
		}
	}
}

// An Ironic whose answers of all kinds unpack to 10 GiB, are nested without an end, or drip.
func TestIronicsAnswersAreBombs(t *testing.T) {
	needsFaults(t)
	_, base := newIronic(t)
	to, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	var kind atomic.Int32
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) }}
	kinds := []func(http.ResponseWriter){
		nil,
		func(w http.ResponseWriter) { w.Header().Set("Content-Encoding", "gzip"); zeros(w) },
		func(w http.ResponseWriter) {
			w.Header().Set("Content-Encoding", "gzip")
			w.WriteHeader(http.StatusInternalServerError)
			zeros(w)
		},
		func(w http.ResponseWriter) {
			w.Header().Set("Content-Encoding", "deflate")
			z, _ := flate.NewWriter(w, flate.BestSpeed)
			fill(z)
		},
		func(w http.ResponseWriter) { _, _ = io.WriteString(w, strings.Repeat(`{"nodes":[`, 5_000_000)) },
		func(w http.ResponseWriter) { _, _ = io.WriteString(w, `{"nodes":`+strings.Repeat("[", 50_000_000)) },
		func(w http.ResponseWriter) {
			_, _ = io.WriteString(w, `{"nodes":[{"uuid":`+strings.Repeat("9", 50_000_000))
		},
		func(w http.ResponseWriter) {
			_, _ = io.WriteString(w, `{"nodes":[],"nodes":[{"uuid":"a"}],"uuid":"b","uuid":"c","provision_state":"active","provision_state":"deploying"}`)
		},
		func(w http.ResponseWriter) {
			w.Header().Set("Location", "/v1/nodes?"+strings.Repeat("x", 100_000))
			w.WriteHeader(http.StatusFound)
		},
		func(w http.ResponseWriter) {
			for range 200 {
				w.Header().Set("Link", strings.Repeat("l", 4000))
				w.WriteHeader(http.StatusEarlyHints)
			}
		},
		func(w http.ResponseWriter) {
			for i := range 20_000 {
				w.Header().Set(fmt.Sprint("X-", i), strings.Repeat("h", 100))
			}
		},
		func(w http.ResponseWriter) {
			w.Header().Set("Content-Length", "99999999999")
			_, _ = io.WriteString(w, `{"nodes": [`)
		},
	}
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if bomb := kinds[kind.Load()]; bomb != nil && r.Method == http.MethodGet {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("X-OpenStack-Ironic-API-Minimum-Version", "1.1")
			w.Header().Set("X-OpenStack-Ironic-API-Maximum-Version", "1.81")
			bomb(w)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	front.Config.ErrorLog, proxy.ErrorLog = silent(), silent()
	t.Cleanup(front.Close)
	s := newSite(t, siteOptions{ironic: base, endpoint: front.URL, env: []string{"GOMEMLIMIT=256MiB"}})
	for n := 1; n < len(kinds); n++ {
		kind.Store(int32(n))
		s.wait(1500 * time.Millisecond)
		kind.Store(0)
		s.wait(500 * time.Millisecond)
	}
	if s.log.Count("panic") > 0 {
		t.Error(s.log.Tail())
	}
	s.soundf(len(kinds)-1, "Ironic's answers are bombs: 10 GiB as gzip and deflate, in errors, depth, double keys, numbers, redirects, 1xx, headers")
}
