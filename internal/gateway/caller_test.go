package gateway_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// reply is what a client got.
type reply struct {
	*stage
	*httptest.ResponseRecorder
}

func (s *stage) do(r *http.Request) reply {
	s.Helper()
	w := httptest.NewRecorder()
	s.gate.ServeHTTP(w, r)
	return reply{s, w}
}

// direct sends a request to Ironic itself.
func (s *stage) direct(r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	s.ironic.ServeHTTP(w, r)
	return w
}

func newRequest(method, path, body string) *http.Request {
	r := httptest.NewRequest(method, "http://gateway:6390"+path, strings.NewReader(body))
	r.Header.Set(version, "1.81")
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	return r
}

func putRequest(ident string, target ironic.Target) *http.Request {
	return newRequest(http.MethodPut, "/v1/nodes/"+ident+"/states/provision", `{"target": "`+string(target)+`"}`)
}

// put asks for work on the nth node.
func (s *stage) put(n int, target ironic.Target) reply {
	s.Helper()
	return s.do(putRequest(s.uuids[n], target))
}

func (r reply) want(status int) reply {
	r.Helper()
	if r.Code != status {
		r.Errorf("status %d, want %d: %s", r.Code, status, r.Body)
	}
	return r
}

// fault is the text of an error in Ironic's form.
func (r reply) fault() (code, text string) {
	r.Helper()
	var outer struct {
		Text string `json:"error_message"`
	}
	var inner struct{ Faultcode, Faultstring string }
	if json.Unmarshal(r.Body.Bytes(), &outer) != nil || json.Unmarshal([]byte(outer.Text), &inner) != nil {
		r.Errorf("not Ironic's form: %s", r.Body)
	}
	return inner.Faultcode, inner.Faultstring
}

// refused wants the decision's no.
func (r reply) refused(why api.Reason) {
	r.Helper()
	r.want(http.StatusConflict)
	if got := r.Header().Get(reasonHeader); got != string(why) {
		r.Errorf("reason %q, want %q: %s", got, why, r.Body)
	}
}

// caller is a client's connection. Nothing on it takes longer than callerPatience.
type caller struct {
	net.Conn
	t    testing.TB
	from *bufio.Reader
}

const callerPatience = 10 * time.Minute

// call opens a connection and writes text.
func (s *stage) call(text string) *caller {
	s.Helper()
	conn, err := s.front.dial(s.Context(), "", "")
	if err != nil {
		s.Fatal(err)
	}
	c := &caller{conn, s, bufio.NewReader(conn)}
	s.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(callerPatience))
	c.write(text)
	return c
}

func (c *caller) write(text string) {
	c.t.Helper()
	if _, err := io.WriteString(c.Conn, text); err != nil {
		c.t.Fatalf("%.100q: %v", text, err)
	}
}

// closeWrite says that nothing more comes.
func (c *caller) closeWrite() { _ = c.Conn.(*plug).CloseWrite() }

// answer reads an answer to method.
func (c *caller) answer(method string) (*http.Response, string, error) {
	resp, err := http.ReadResponse(c.from, &http.Request{Method: method})
	if err != nil {
		return nil, "", err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	return resp, string(body), err
}

// want reads an answer and wants its status, after so long a time.
func (c *caller) want(status int, within time.Duration) *http.Response {
	c.t.Helper()
	begin := time.Now()
	resp, body, err := c.answer(http.MethodPut)
	took := time.Since(begin)
	switch {
	case err != nil:
		c.t.Errorf("after %v: %v, want status %d", took, err, status)
		return &http.Response{Header: http.Header{}}
	case resp.StatusCode != status:
		c.t.Errorf("after %v: %s, want %d: %s", took, resp.Status, status, body)
	case took > within:
		c.t.Errorf("answered after %v, want within %v", took, within)
	}
	return resp
}

// ask is a whole exchange on a connection of its own.
func (s *stage) ask(text string, status int, within time.Duration) *http.Response {
	s.Helper()
	c := s.call(text)
	defer func() { _ = c.Close() }()
	return c.want(status, within)
}

// requestText is a request with a body, or only its begin where length says so.
func requestText(method, path string, length int, body string, fields ...string) string {
	head := fmt.Sprintf("%s %s HTTP/1.1\r\nHost: h\r\n%s: 1.81\r\n", method, path, version)
	for _, f := range fields {
		if f != "" {
			head += f + "\r\n"
		}
	}
	if length >= 0 {
		head += fmt.Sprintf("Content-Type: application/json\r\nContent-Length: %d\r\n", length)
	}
	return head + "\r\n" + body
}

// putText is what BMO sends.
func (s *stage) putText(n int, target ironic.Target, fields ...string) string {
	body := `{"target": "` + string(target) + `"}`
	return requestText(http.MethodPut, s.provision(n), len(body), body, fields...)
}

func (s *stage) provision(n int) string { return "/v1/nodes/" + s.uuids[n] + "/states/provision" }

func getText(path string, fields ...string) string {
	return requestText(http.MethodGet, path, -1, "", fields...)
}

// cutWith reads a request whole, writes text for an answer and closes the connection.
func cutWith(w http.ResponseWriter, r *http.Request, text string) {
	_, _ = io.Copy(io.Discard, r.Body)
	conn, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		panic(err)
	}
	_, _ = io.WriteString(conn, text)
	_ = conn.Close()
}
