package realkube

import (
	"bufio"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// echo is a server that says every line again.
func echo(t *testing.T) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	t.Cleanup(func() { _ = l.Close(); running.Wait() })
	running.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			running.Go(func() { _, _ = io.Copy(c, c); _ = c.Close() })
		}
	})
	return l.Addr().String()
}

// line is a connection through the proxy.
type line struct {
	net.Conn
	*testing.T
	in *bufio.Reader
}

func dial(t *testing.T, p *Proxy) line {
	t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(p.URL, "https://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return line{c, t, bufio.NewReader(c)}
}

func (l line) say(text string) {
	l.Helper()
	if _, err := l.Write([]byte(text + "\n")); err != nil {
		l.Error(err)
	}
}

func (l line) hear(want string) {
	l.Helper()
	if got, err := l.in.ReadString('\n'); err != nil || got != want+"\n" {
		l.Errorf("heard %q, %v; want %q", got, err, want)
	}
}

func (l line) broken() {
	l.Helper()
	if got, err := l.in.ReadString('\n'); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		l.Errorf("heard %q, %v; want a broken connection", got, err)
	}
}

func proxied(t *testing.T) *Proxy {
	t.Helper()
	p, err := newProxy(echo(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Stop)
	return p
}

func TestProxyPassesOn(t *testing.T) {
	l := dial(t, proxied(t))
	l.say("one")
	l.hear("one")
}

func TestProxySwallowsUntilMended(t *testing.T) {
	p := proxied(t)
	l := dial(t, p)
	l.say("one")
	l.hear("one")
	p.Swallow()
	p.Swallow() // twice is once
	l.say("two")
	late := dial(t, p)
	late.say("three")
	// Nothing can be waited for; a short deadline would pass on a proxy that is only slow,
	// never fail on one that works.
	if err := l.SetReadDeadline(time.Now().Add(20 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if got, err := l.in.ReadString('\n'); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("heard %q, %v while nothing passes", got, err)
	}
	if err := l.SetReadDeadline(time.Time{}); err != nil {
		t.Fatal(err)
	}
	p.Mend()
	l.hear("two")
	late.hear("three")
}

func TestProxyRefuses(t *testing.T) {
	p := proxied(t)
	l := dial(t, p)
	l.say("one")
	l.hear("one")
	p.Refuse()
	l.broken()
	dial(t, p).broken()
	p.Mend()
	l = dial(t, p)
	l.say("two")
	l.hear("two")
}

func TestProxyBreaksOnce(t *testing.T) {
	p := proxied(t)
	l := dial(t, p)
	l.say("one")
	l.hear("one")
	p.Break()
	l.broken()
	l = dial(t, p)
	l.say("two")
	l.hear("two")
}

// TestProxyStopsWhileItSwallows: goleak sees what stays.
func TestProxyStopsWhileItSwallows(t *testing.T) {
	p := proxied(t)
	l := dial(t, p)
	l.say("one")
	l.hear("one")
	p.Swallow()
	l.say("two")
}
