//go:build e2e

package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// drive is the size of a large config drive, and driveMemory what the process may
// have in memory while many of them pass.
const (
	drive       = 64 << 20
	driveMemory = 96 << 20
)

// sink is as much of an Ironic as large bodies need: it has every node, and drops
// what it is sent.
type sink struct {
	taken, chunked, wrong atomic.Int64
}

func (s *sink) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("X-OpenStack-Ironic-API-Minimum-Version", "1.1")
	h.Set("X-OpenStack-Ironic-API-Maximum-Version", "1.82")
	h.Set("X-OpenStack-Ironic-API-Version", "1.61")
	uuid, one := strings.CutPrefix(r.URL.Path, "/v1/nodes/")
	switch {
	case r.Method == http.MethodPut:
		n, err := io.Copy(io.Discard, r.Body)
		switch {
		case err != nil || n < drive || n != r.ContentLength && r.ContentLength >= 0:
			s.wrong.Add(1)
		case r.ContentLength < 0:
			s.chunked.Add(1)
		default:
			s.taken.Add(1)
		}
		w.WriteHeader(http.StatusAccepted)
	case one:
		_ = json.NewEncoder(w).Encode(map[string]any{"uuid": uuid, "name": "metal3~" + uuid[24:], "provision_state": "available"})
	case r.URL.Path == "/v1/nodes":
		_, _ = io.WriteString(w, `{"nodes": []}`)
	default:
		_, _ = io.WriteString(w, `{"version": {"min_version": "1.1", "version": "1.82"}}`)
	}
}

// deploy sends a PUT with a large config drive in front of its target, and again
// when it is told to come back, as BMO does.
func deploy(t *testing.T, client *http.Client, gateway string, n int, chunked bool) error {
	url := fmt.Sprintf("%s/v1/nodes/00000000-0000-4000-8000-%012d/states/provision", gateway, n)
	head, tail := `{"configdrive": "`, `", "target": "active"}`
	for {
		body := io.MultiReader(strings.NewReader(head), io.LimitReader(letters{}, drive), strings.NewReader(tail))
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPut, url, body)
		if err != nil {
			return err
		}
		r.Header.Set("Content-Type", "application/json")
		if !chunked {
			r.ContentLength = int64(len(head) + drive + len(tail))
		}
		if done, err := try(client, r); done || err != nil {
			return err
		}
		select {
		case <-t.Context().Done():
			return t.Context().Err()
		case <-time.After(time.Second):
		}
	}
}

// try sends r and reports whether it was taken. One that has to wait for too long is
// told to come back, or on a busy machine cut off.
func try(client *http.Client, r *http.Request) (done bool, err error) {
	resp, err := client.Do(r)
	if err != nil {
		return false, r.Context().Err()
	}
	text, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	switch {
	case err != nil:
		return false, r.Context().Err()
	case resp.StatusCode == http.StatusAccepted:
		return true, nil
	case resp.StatusCode != http.StatusConflict:
		return false, fmt.Errorf("%s: %s", resp.Status, text)
	}
	return false, nil
}

// letters never end.
type letters struct{}

func (letters) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'Q'
	}
	return len(p), nil
}

// TestLargeConfigDrives sends 200 config drives of 64 MiB at once, each before
// its target and every fourth in chunks. All pass, with a Content-Length, and the
// gateway's memory stays small.
func TestLargeConfigDrives(t *testing.T) {
	const drives = 200
	upstream := &sink{}
	server := httptest.NewServer(upstream)
	defer server.Close()
	gateway := benchedGateway(t, server.URL, "MAX_CONCURRENT_PROVISIONING_HOSTS=1000",
		"IRONIC_THROTTLE_LINGER=1s", "IRONIC_THROTTLE_POLL_INTERVAL=1s",
		"TMPDIR="+t.TempDir())
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	if err := deploy(t, client, "http://"+gateway.host, drives, false); err != nil {
		t.Fatal(err)
	}
	var sent sync.WaitGroup
	errs := make([]error, drives)
	for n := range drives {
		sent.Go(func() { errs[n] = deploy(t, client, "http://"+gateway.host, n, n%4 == 0) })
	}
	done := make(chan struct{})
	go func() {
		sent.Wait()
		close(done)
	}()
	var resident float64
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for running := true; running; {
		resident = max(resident, gateway.scrape(t, client)["process_resident_memory_bytes"])
		select {
		case <-tick.C:
		case <-done:
			running = false
		}
	}
	if err := errors.Join(errs...); err != nil {
		t.Error(err)
	}
	if got := upstream.taken.Load(); got != drives+1 || upstream.chunked.Load() != 0 || upstream.wrong.Load() != 0 {
		t.Errorf("Ironic took %d whole bodies, %d in chunks, %d wrong; want %d, 0, 0",
			got, upstream.chunked.Load(), upstream.wrong.Load(), drives+1)
	}
	if resident == 0 || resident > driveMemory {
		t.Errorf("%.0f MiB resident, want at most %d", resident/(1<<20), driveMemory>>20)
	}
	t.Logf("%.0f MiB resident at most", resident/(1<<20))
}
