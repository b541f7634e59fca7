package realironic

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"syscall"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/child"
)

const (
	requestTimeout = 30 * time.Second
	maxAnswer      = 64 << 20
)

func newHTTPClient(caFile string) (*http.Client, error) {
	transport := &http.Transport{MaxIdleConnsPerHost: 32, IdleConnTimeout: 30 * time.Second}
	if caFile != "" {
		pem, err := os.ReadFile(caFile)
		if err != nil {
			return nil, fmt.Errorf("read CA: %w", err)
		}
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("CA file %s: no certificate in it", caFile)
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	}
	return &http.Client{Transport: transport, Timeout: requestTimeout}, nil
}

// Client returns the HTTP client that trusts this Ironic's certificate. It
// sends no credentials by itself.
func (i *Ironic) Client() *http.Client { return i.client }

// waitReady waits until the API shows a driver, which it does only while a
// conductor lives, and none of the processes has ended. A starting conductor
// shows its drivers, takes them back, shows them again, and hears SIGTERM last:
// one that is stopped before dies and stays on the list.
func (i *Ironic) waitReady(ctx context.Context, watched ...*child.Process) error {
	return i.wait(ctx, watched, func(drivers []string) error {
		if catches, err := i.conductor.Catches(syscall.SIGTERM); err != nil || !catches {
			return cmp.Or(err, errors.New("the conductor has no handler for SIGTERM yet"))
		}
		if !slices.Contains(drivers, "fake-hardware") {
			return fmt.Errorf("drivers are %q, fake-hardware is not among them", drivers)
		}
		return nil
	})
}

// waitAnswer waits until the API answers at all.
func (i *Ironic) waitAnswer(ctx context.Context, watched ...*child.Process) error {
	return i.wait(ctx, watched, func([]string) error { return nil })
}

func (i *Ironic) wait(ctx context.Context, watched []*child.Process, enough func([]string) error) error {
	ctx, cancel := context.WithTimeout(ctx, i.ready)
	defer cancel()
	return child.WaitReady(ctx, func() error {
		drivers, err := i.drivers(ctx)
		if err != nil {
			return err
		}
		return enough(drivers)
	}, watched...)
}

func (i *Ironic) drivers(ctx context.Context) ([]string, error) {
	var answer struct {
		Drivers []struct {
			Name string `json:"name"`
		} `json:"drivers"`
	}
	if err := i.call(ctx, http.MethodGet, "/v1/drivers", nil, &answer); err != nil {
		return nil, err
	}
	names := make([]string, 0, len(answer.Drivers))
	for _, d := range answer.Drivers {
		names = append(names, d.Name)
	}
	return names, nil
}

// call asks the API for something that must succeed.
func (i *Ironic) call(ctx context.Context, method, path string, body io.Reader, into any) error {
	req, err := http.NewRequestWithContext(ctx, method, i.URL+path, body)
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	req.Header.Set("X-OpenStack-Ironic-API-Version", "latest")
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if i.User != "" {
		req.SetBasicAuth(i.User, i.Password)
	}
	resp, err := i.client.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	if resp.StatusCode >= 300 {
		return fmt.Errorf("%s %s: %s: %s", method, path, resp.Status, child.Tail(string(b)))
	}
	if into == nil {
		return nil
	}
	if err := json.Unmarshal(b, into); err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	return nil
}
