package leader

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode"

	coordinationv1 "k8s.io/api/coordination/v1"
	kubejson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/rest"
)

// told is an API server that says the same of the Lease each time, until somebody writes one that it takes.
type told struct {
	code int
	text []byte

	mu     sync.Mutex
	writes []coordinationv1.LeaseSpec
	first  time.Time // when the first was written
}

func (s *told) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.Method != http.MethodGet {
		text, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		var lease coordinationv1.Lease
		if err := json.Unmarshal(text, &lease); err != nil {
			return nil, err
		}
		if len(s.writes) == 0 {
			s.first = time.Now()
		}
		s.writes = append(s.writes, lease.Spec)
		s.code, s.text = http.StatusOK, text
	}
	return &http.Response{
		StatusCode: s.code, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(s.text)), Request: r,
	}, nil
}

// FuzzLease: whatever stands in our Lease, it is taken only when nobody has it or its time is over, written as the API server
// demands, and told in short lines; and who led before is a pod or nobody.
func FuzzLease(f *testing.F) {
	const times = `"acquireTime":"2026-11-24T12:00:00.000000Z","renewTime":"2026-11-24T12:00:00.000000Z"`
	for _, text := range []string{
		`{"kind":"Lease","apiVersion":"coordination.k8s.io/v1","metadata":{"name":"ironic-throttle","resourceVersion":"7"},"spec":{"holderIdentity":"b_1","leaseDurationSeconds":15,"leaseTransitions":3,` + times + `}}`,
		`{"metadata":{"name":"ironic-throttle"},"spec":{"holderIdentity":"a","leaseDurationSeconds":1,"leaseTransitions":-1}}`, `{"metadata":{"name":"ironic-throttle"},"spec":{"leaseTransitions":2147483647}}`,
		`{"metadata":{"name":"ironic-throttle"},"spec":{"holderIdentity":"../b?x=1_0","leaseDurationSeconds":2147483647}}`, `{"metadata":{"name":"ironic-throttle"},"spec":{"holderIdentity":"a\nb\u001b[31m_0","leaseDurationSeconds":3}}`,
		`{"metadata":{"name":"ironic-throttle"},"spec":{"holderIdentity":"` + strings.Repeat("b", 1000) + `_0","leaseDurationSeconds":3}}`, `{"metadata":{"name":"ironic-throttle"},"spec":{"holderIdentity":"c","preferredHolder":"b","strategy":"x"}}`,
		`{"spec":null}`, `{"metadata":{"name":"ironic-throttle"},"spec":{"renewTime":"soon"}}`, `null`, `[]`, ``, "{\"spec\":\xff}", `{"kind":"Pod","apiVersion":"v1"}`,
	} {
		f.Add([]byte(text), uint16(http.StatusOK))
	}
	f.Add([]byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","message":"a\nb","reason":"NotFound","code":404}`), uint16(http.StatusNotFound))
	f.Add([]byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","message":"`+strings.Repeat("b", 9999)+`","code":403}`), uint16(http.StatusForbidden))
	f.Fuzz(func(t *testing.T, text []byte, code uint16) {
		synctest.Test(t, func(t *testing.T) {
			begun, code := time.Now(), 200+(int(code)+200)%400
			s := &told{code: code, text: text}
			var log bytes.Buffer
			e, err := New(Options{
				Config:    &rest.Config{Host: "http://api", Transport: s, ContentConfig: rest.ContentConfig{ContentType: "application/json"}},
				Namespace: "metal3", Name: "ironic-throttle", Identity: "a",
				Duration: duration, RenewDeadline: deadline, RetryPeriod: retry, Log: slog.New(slog.NewTextHandler(&log, nil)),
			})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			gone := make(chan error)
			go func() {
				gone <- e.Run(ctx, func(ctx context.Context) error {
					line(t, e.Former(), 300)
					if pod := podOf(e.Former()); pod != "" && len(validation.IsDNS1123Subdomain(pod)) > 0 {
						t.Errorf("%q led before", pod)
					}
					<-ctx.Done()
					return nil
				})
			}()
			<-time.After(duration / 2)
			line(t, e.Status().Holder, 300)
			line(t, e.Status().Standby(), 1500)
			<-time.After(duration)
			cancel()
			if err := <-gone; err != nil && !errors.Is(err, ErrLost) {
				t.Error(err)
			}
			if log.Len() > 10_000 {
				t.Errorf("%d bytes of log", log.Len())
			}
			s.check(t, begun, text, code)
		})
	})
}

// check looks at what was written, and when.
func (s *told) check(t *testing.T, begun time.Time, text []byte, code int) {
	t.Helper()
	for _, w := range s.writes {
		if w.LeaseTransitions == nil || *w.LeaseTransitions < 0 || w.LeaseDurationSeconds == nil || *w.LeaseDurationSeconds <= 0 {
			t.Errorf("no API server takes %+v", w)
		}
	}
	var was coordinationv1.Lease
	if len(s.writes) == 0 || code == http.StatusNotFound || kubejson.Unmarshal(text, &was) != nil {
		return
	}
	if h, d := was.Spec.HolderIdentity, was.Spec.LeaseDurationSeconds; h != nil && *h != "" && *h != "a" && d != nil && s.first.Sub(begun) < time.Duration(*d)*time.Second {
		t.Errorf("taken from %q after %v", *h, s.first.Sub(begun))
	}
}

func line(t *testing.T, text string, most int) {
	t.Helper()
	if len(text) > most || strings.ContainsFunc(text, func(c rune) bool { return !unicode.IsPrint(c) }) {
		t.Errorf("%d bytes: %.400q", len(text), text)
	}
}
