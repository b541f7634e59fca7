//go:build linux

package attack

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// tap stands between the product and Ironic and keeps what the product writes, to the byte.
type tap struct {
	net.Listener
	to string

	mu   sync.Mutex
	all  []*bytes.Buffer // of each connection
	wait sync.WaitGroup
}

func newTap(t *testing.T, ironic string) *tap {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &tap{Listener: l, to: hostOf(t, ironic)}
	p.wait.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			p.wait.Go(func() { p.pass(conn) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		p.wait.Wait() // the product has ended by then
	})
	return p
}

func (p *tap) pass(from net.Conn) {
	defer func() { _ = from.Close() }()
	to, err := net.Dial("tcp", p.to)
	if err != nil {
		return
	}
	defer func() { _ = to.Close() }()
	p.mu.Lock()
	text := &bytes.Buffer{}
	p.all = append(p.all, text)
	p.mu.Unlock()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.Copy(from, to)
		_ = from.Close()
	}()
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		p.mu.Lock()
		text.Write(buffer[:n])
		p.mu.Unlock()
		if _, bad := to.Write(buffer[:n]); bad != nil || err != nil {
			break
		}
	}
	_ = to.Close()
	<-done
}

// requests reads all that was written as the strictest reader would, and returns the first
// lines; faults are what any two readers could take for different things.
func (p *tap) requests() (lines, faults []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, text := range p.all {
		in := bufio.NewReader(bytes.NewReader(text.Bytes()))
		for {
			if _, err := in.Peek(1); err != nil {
				break
			}
			head, fault := readHead(in)
			if fault == "" {
				fault = skipBody(in, head)
			}
			if len(head) > 0 {
				lines = append(lines, head[0])
			}
			if fault != "" {
				faults = append(faults, fmt.Sprintf("%s: %q", fault, head))
				break
			}
		}
	}
	return lines, faults
}

// readHead reads the lines of a head.
func readHead(in *bufio.Reader) (lines []string, fault string) {
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return lines, "" // the connection broke
		}
		bare, ok := strings.CutSuffix(line, "\r\n")
		if !ok || strings.ContainsAny(bare, "\r\x00") {
			return lines, fmt.Sprintf("bare CR, LF or NUL in %q", line)
		}
		if bare == "" {
			return lines, ""
		}
		lines = append(lines, bare)
		if name, _, colon := strings.Cut(bare, ":"); len(lines) > 1 && (!colon || strings.ContainsAny(name, " \t_") || name == "") {
			return lines, fmt.Sprintf("header %q", bare)
		}
	}
}

// skipBody reads over the body that a head tells.
func skipBody(in *bufio.Reader, head []string) (fault string) {
	var lengths, codings []string
	for _, line := range head[min(1, len(head)):] {
		name, value, _ := strings.Cut(line, ":")
		switch strings.ToLower(name) {
		case "content-length":
			lengths = append(lengths, strings.TrimSpace(value))
		case "transfer-encoding":
			codings = append(codings, strings.TrimSpace(value))
		case "x-http-method-override", "x-http-method", "x-method-override", "upgrade", "connection", "trailer", "te":
			if !strings.EqualFold(name, "te") && !strings.HasPrefix(strings.ToLower(name), "x-") {
				fault = "header " + line
			}
		}
	}
	switch {
	case fault != "":
		return fault
	case len(lengths)+len(codings) > 1:
		return "two lengths"
	case len(codings) == 1 && codings[0] != "chunked":
		return "coding " + codings[0]
	case len(codings) == 1:
		for {
			line, err := in.ReadString('\n')
			if err != nil {
				return ""
			}
			n, err := strconv.ParseInt(strings.TrimSuffix(line, "\r\n"), 16, 32)
			if err != nil {
				return fmt.Sprintf("chunk %q", line)
			}
			if _, err := in.Discard(int(n) + 2); err != nil || n == 0 {
				return ""
			}
		}
	case len(lengths) == 1:
		n, err := strconv.ParseUint(lengths[0], 10, 31)
		if err != nil {
			return "length " + lengths[0]
		}
		_, _ = in.Discard(int(n))
	}
	return ""
}

// Every shape that two readers may take for different requests, to a gateway whose one slot is
// taken: no host begins to work, and what goes on to Ironic can be read in one way only.
func TestShapesOfTwoMeanings(t *testing.T) {
	needsFaults(t)
	_, base := newIronic(t, "--hang", "1", "--limit", "1")
	between := newTap(t, base)
	s := newSite(t, siteOptions{ironic: base, endpoint: "http://" + between.Addr().String(), idle: true, env: []string{
		"MAX_CONCURRENT_PROVISIONING_HOSTS=1", "IRONIC_THROTTLE_LEASE_TTL=60s",
	}})
	f := newFleet(t, s.at.API, s.at.Gateway, base, 3)
	deadline := time.Now().Add(goesOn)
	for !f.through(t.Context(), f.hosts[0], "active") {
		if time.Now().After(deadline) {
			t.Fatalf("no slot for the first host: %s", f)
		}
		s.wait(100 * time.Millisecond)
	}
	all := shapes(f.hosts[1].UUID, f.hosts[2].Name)
	seen := map[string]int{}
	var mu sync.Mutex
	// Side by side: a host that is among the next waits a moment for its answer.
	const atOnce = 24
	for some := range slices.Chunk(all, atOnce) {
		var batch sync.WaitGroup
		for _, shape := range some {
			batch.Go(func() {
				for _, at := range []string{s.at.Gateway, s.at.API} {
					status := speak(t, hostOf(t, at), shape.text)
					mu.Lock()
					seen[status]++
					mu.Unlock()
				}
			})
		}
		batch.Wait()
		if truth := truthOf(t, base); truth.Started > 1 {
			t.Fatalf("%d hosts began to work: one of %+.2000v", truth.Started, some)
		}
	}
	s.wait(100 * time.Millisecond)
	lines, faults := between.requests()
	for _, fault := range faults {
		t.Error("to Ironic: ", fault)
	}
	puts := 0
	for _, line := range lines {
		if strings.HasPrefix(line, "PUT") && strings.Contains(line, "provision") {
			puts++
		}
	}
	if puts != 1 {
		t.Errorf("%d PUTs of states/provision came to Ironic, want that of the first host alone", puts)
	}
	if _, err := get(t, s.at.Health+"/healthz"); err != nil || !s.Running() {
		t.Errorf("it does not live any more: %v\n%s", err, s.log.Tail())
	}
	if n := s.log.Count("panic"); n > 0 {
		t.Errorf("%d panics: %s", n, s.log.Tail())
	}
	table.add(t, 2*len(all), "requests of two meanings, to gateway and API, while the one slot is taken",
		fmt.Sprintf("%d requests to Ironic, all of one meaning, 1 work; answers %v", len(lines), seen))
}

// speak writes text and returns the status of the first answer.
func speak(t *testing.T, host, text string) string {
	t.Helper()
	conn, err := net.Dial("tcp", host)
	if err != nil {
		t.Error(err)
		return "none"
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(2 * time.Second))
	go func() { _, _ = io.WriteString(conn, strings.ReplaceAll(text, "$HOST", host)) }()
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return "none"
	}
	_, _ = io.Copy(io.Discard, conn) // what follows it
	_ = resp.Body.Close()
	return strconv.Itoa(resp.StatusCode)
}
