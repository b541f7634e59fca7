//go:build linux

package attack

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// attackers are all who mean harm. What they meet is no error: being cut off is what they
// deserve.
type attackers struct {
	ctx context.Context
	all *sync.WaitGroup

	asked, bodiesBegun, connected atomic.Int64
}

func (a *attackers) String() string {
	return fmt.Sprintf("%d invented hosts have asked, %d bodies did not come, %d connections said nothing",
		a.asked.Load(), a.bodiesBegun.Load(), a.connected.Load())
}

// each keeps n connections to address open, one after the other in each place.
func (a *attackers) each(n int, address string, use func(net.Conn, int)) {
	for i := range n {
		a.all.Go(func() {
			// Not all at once, and not in a tight circle where they are not let in.
			for pause := time.Duration(i%500) * time.Millisecond; wait(a.ctx, pause); pause = 3 * time.Second {
				var d net.Dialer
				conn, err := d.DialContext(a.ctx, "tcp", address)
				if err != nil {
					continue
				}
				cut := context.AfterFunc(a.ctx, func() { _ = conn.Close() })
				use(conn, i)
				cut()
				_ = conn.Close()
			}
		})
	}
}

// names asks for hosts that nobody has, each once, every other one in the longest words.
func (a *attackers) names(address string) {
	const askers = 8
	long := func(n int, word string) string { return strings.Repeat("x", n-len(word)) + word }
	a.each(askers, address, func(conn net.Conn, i int) {
		in := bufio.NewReader(conn)
		for a.ctx.Err() == nil {
			n := a.asked.Add(1)
			if n%25 == 0 { // about 2,000 a second: others need the machine too
				wait(a.ctx, 12*time.Millisecond)
			}
			body := fmt.Sprintf(`{"namespace":"junk-%d","name":"host-%d","op":"provision"}`, n%1000, n)
			if n%2 == 1 {
				word := fmt.Sprint(n)
				body = fmt.Sprintf(`{"namespace":%q,"name":%q,"uid":%q,"specHash":%q,"conductorGroup":%q,"nodeUUID":"%08x-0000-4000-8000-%012x","op":"inspect"}`,
					long(63, word), long(253, word), long(63, word), long(127, word), long(255, word), uint32(n), n)
			}
			request := fmt.Sprintf("POST /v1/isready HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
			if _, err := io.WriteString(conn, request); err != nil {
				return
			}
			resp, err := http.ReadResponse(in, nil)
			if err != nil {
				return
			}
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
		}
	})
}

// bodies begins requests whose bodies do not come whole.
func (a *attackers) bodies(address, uuid string, n int) {
	gated := "/v1/nodes/" + uuid + "/states/provision"
	part := strings.Repeat(" ", 60<<10)
	heads := []string{
		"PUT " + gated + " HTTP/1.1\r\nTransfer-Encoding: chunked\r\n",
		"PUT " + gated + " HTTP/1.1\r\nContent-Length: 65000\r\n",
		"POST /v1/nodes HTTP/1.1\r\nTransfer-Encoding: chunked\r\n",
		"PATCH /v1/nodes/" + uuid + " HTTP/1.1\r\nContent-Length: 65000\r\n",
		"PUT " + gated + " HTTP/1.1\r\nX-Long: " + part[:14<<10] + "x\r\nTransfer-Encoding: chunked\r\n",
	}
	a.each(n, address, func(conn net.Conn, i int) {
		head := heads[i%len(heads)]
		text := head + "Host: localhost\r\nContent-Type: application/json\r\n\r\n"
		if strings.Contains(head, "chunked") {
			text += "10000\r\n"
		}
		a.bodiesBegun.Add(1)
		if _, err := io.WriteString(conn, text+part); err != nil {
			return
		}
		_, _ = io.Copy(io.Discard, conn) // until it is cut
	})
}

// idle says nothing, or nothing any more, on n connections to each address.
func (a *attackers) idle(n int, addresses ...string) {
	for _, address := range addresses {
		a.each(n, address, func(conn net.Conn, i int) {
			a.connected.Add(1)
			if i%2 == 0 {
				_, _ = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
			}
			_, _ = io.Copy(io.Discard, conn)
		})
	}
}
