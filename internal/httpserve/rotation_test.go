package httpserve

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// served runs a server with the certificate in files until the end of the test.
func served(t *testing.T, files Certificates, h http.Handler) (url string) {
	t.Helper()
	inUse, err := files.Open()
	if err != nil {
		t.Fatal(err)
	}
	conf := inUse.Config()
	var open net.ListenConfig
	listen, err := open.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- Serve(ctx, 5*time.Second, Server{
			Name: "test", Listen: listen,
			HTTP: &http.Server{Handler: h, TLSConfig: conf, ReadHeaderTimeout: 5 * time.Second},
		})
	}()
	t.Cleanup(func() {
		end()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return "https://" + listen.Addr().String()
}

// caller asks on one connection after the other, or on one all the time.
func caller(keep bool) *http.Client {
	return &http.Client{Transport: &http.Transport{
		DisableKeepAlives: !keep,
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12}, // the serial number is what is looked at
	}}
}

// serial asks once and returns the serial number of the certificate that answered.
func serial(ctx context.Context, c *http.Client, url string) (int64, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, err
	}
	resp, err := c.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	switch {
	case err != nil:
		return 0, err
	case resp.StatusCode != http.StatusOK || string(body) != "ok":
		return 0, fmt.Errorf("%d %q", resp.StatusCode, body)
	case resp.ProtoMajor != 1:
		return 0, errors.New(resp.Proto)
	}
	return resp.TLS.PeerCertificates[0].SerialNumber.Int64(), nil
}

// The files are written in place, so that connections come while they are half there,
// and while the certificate is new and its key old.
func TestNoRequestIsLostWhileCertificatesChange(t *testing.T) {
	dir := t.TempDir()
	cert, key := certify(t, dir, "api", 1)
	url := served(t, certificates(cert, key, "", nil), http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "ok")
	}))
	const rounds, callers = 8, 3
	var newest, answered atomic.Int64
	newest.Store(1)
	ctx, stop := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for i := range callers {
		all.Go(func() {
			c := caller(i == 0)
			defer c.CloseIdleConnections()
			for ctx.Err() == nil {
				got, err := serial(t.Context(), c, url)
				if err != nil || got > newest.Load()+1 {
					t.Errorf("serial %d, %v", got, err)
					return
				}
				answered.Add(1)
			}
		})
	}
	fresh := caller(false)
	for n := int64(2); n < 2+rounds; n++ {
		before := answered.Load()
		certify(t, dir, "api", n)
		newest.Store(n)
		if got, err := serial(t.Context(), fresh, url); err != nil || got != n {
			t.Errorf("serial %d, %v; want %d", got, err, n)
		}
		for answered.Load() < before+callers && !t.Failed() {
			if _, err := serial(t.Context(), fresh, url); err != nil {
				t.Error(err)
			}
		}
	}
	if err := os.Remove(key); err != nil {
		t.Fatal(err)
	}
	if got, err := serial(t.Context(), fresh, url); err != nil || got != 1+rounds {
		t.Errorf("without a key: serial %d, %v", got, err)
	}
	stop()
	all.Wait()
}
