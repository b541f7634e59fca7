package httpserve

import (
	"io"
	"net/http"
	"os"
	"syscall"
	"testing"
)

// Whatever lies in a certificate's place, connections go on with the one before, and with
// the new one as soon as it is there.
func TestWhatIsNoFileHangsNoConnection(t *testing.T) {
	dir := t.TempDir()
	cert, key := certify(t, dir, "api", 1)
	ca, _ := certify(t, dir, "ca", 9)
	files := certificates(cert, key, "", nil)
	url := served(t, files, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "ok")
	}))
	fresh := caller(false)
	want := func(n int64) {
		t.Helper()
		if got, err := serial(t.Context(), fresh, url); err != nil || got != n {
			t.Errorf("serial %d, %v; want %d", got, err, n)
		}
	}
	put := func(name string, odd func() error) {
		t.Helper()
		if err := os.RemoveAll(name); err != nil {
			t.Fatal(err)
		}
		if err := odd(); err != nil {
			t.Fatal(err)
		}
	}
	want(1)
	n := int64(1)
	for _, name := range []string{key, cert} {
		for _, odd := range []func() error{
			func() error { return syscall.Mkfifo(name, 0o600) },
			func() error { return os.Mkdir(name, 0o700) },
			func() error { return os.Symlink("/dev/zero", name) },
			func() error { // without end, as far as anybody would read
				f, err := os.Create(name)
				if err != nil {
					return err
				}
				if err := f.Truncate(1 << 40); err != nil {
					t.Log(err)
				}
				return f.Close()
			},
		} {
			put(name, odd)
			want(n)
			want(n)
			if err := os.RemoveAll(name); err != nil {
				t.Fatal(err)
			}
			n++
			certify(t, dir, "api", n)
			want(n)
		}
	}
	put(ca, func() error { return syscall.Mkfifo(ca, 0o600) })
	if _, err := certificates(cert, key, ca, nil).Open(); err == nil {
		t.Error("a FIFO is taken for the clients' CA")
	}
}
