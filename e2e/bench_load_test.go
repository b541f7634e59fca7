//go:build e2e

package e2e

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"testing"
	"time"
)

// loadConns is how many clients ask at once: BMO's workers.
const loadConns = 32

// A shot is a request that is sent again and again.
type shot struct{ method, path, body string }

// bytes is the request as gophercloud sends it.
func (s shot) bytes(host string) []byte {
	text := s.method + " " + s.path + " HTTP/1.1\r\nHost: " + host + "\r\n" +
		"User-Agent: gophercloud/v2.9.0\r\nAccept: application/json\r\nAccept-Encoding: gzip\r\n" +
		"X-OpenStack-Ironic-API-Version: 1.81\r\n"
	if s.body != "" {
		text += "Content-Type: application/json\r\nContent-Length: " + strconv.Itoa(len(s.body)) + "\r\n"
	}
	return []byte(text + "\r\n" + s.body)
}

// load is a number of keep-alive connections to one server. It does no more than
// framing needs: a client that is dear would hide what the server costs.
type load struct {
	tb    testing.TB
	host  string
	conns []net.Conn
	in    []*bufio.Reader
}

func newLoad(tb testing.TB, host string) *load {
	tb.Helper()
	l := &load{tb: tb, host: host}
	for range loadConns {
		c, err := new(net.Dialer).DialContext(tb.Context(), "tcp", host)
		if err != nil {
			tb.Fatal(err)
		}
		tb.Cleanup(func() { _ = c.Close() })
		l.conns, l.in = append(l.conns, c), append(l.in, bufio.NewReader(c))
	}
	return l
}

func (l *load) close() {
	for _, c := range l.conns {
		_ = c.Close()
	}
}

// fire sends requests on all connections, the shots in turn, and returns how long
// all of them took.
func (l *load) fire(requests int, shots ...shot) time.Duration {
	l.tb.Helper()
	var texts [][]byte
	for _, s := range shots {
		texts = append(texts, s.bytes(l.host))
	}
	failed := make([]error, len(l.conns))
	var all sync.WaitGroup
	begun := time.Now()
	for i := range l.conns {
		all.Go(func() {
			for k := 0; k < requests/len(l.conns) && failed[i] == nil; k++ {
				failed[i] = l.one(i, texts[k%len(texts)])
			}
		})
	}
	all.Wait()
	took := time.Since(begun)
	if err := errors.Join(failed...); err != nil {
		l.tb.Fatalf("load on %s: %v", l.host, err)
	}
	return took
}

// one sends a request and reads its answer, which must be a 200 with a length.
func (l *load) one(i int, request []byte) error {
	if err := l.conns[i].SetDeadline(time.Now().Add(time.Minute)); err != nil {
		return err
	}
	if _, err := l.conns[i].Write(request); err != nil {
		return err
	}
	length := -1
	for first := true; ; first = false {
		line, err := l.in[i].ReadSlice('\n')
		if err != nil {
			return err
		}
		line = bytes.TrimSuffix(line, []byte("\r\n"))
		if first && !bytes.HasPrefix(line, []byte("HTTP/1.1 200 ")) {
			return fmt.Errorf("answer %q, want 200", line)
		}
		if len(line) == 0 {
			break
		}
		const name = "content-length:"
		if len(line) > len(name) && bytes.EqualFold(line[:len(name)], []byte(name)) {
			if length, err = strconv.Atoi(string(bytes.TrimSpace(line[len(name):]))); err != nil {
				return err
			}
		}
	}
	if length < 0 {
		return errors.New("an answer without a length")
	}
	_, err := l.in[i].Discard(length)
	return err
}
